import { FsError, type FsErrorCode } from "./fs-error.js";
import type { HostFiles, HostPlace } from "./host-files.js";
import type { DirectoryNode, FsNode, MountNode } from "./nodes.js";

/** Where a path leads: a node of the container's own tree, or something in a mount. */
export type Place = { readonly kind: "node"; readonly node: Exclude<FsNode, MountNode> } | HostPlace;

/** One step of the way, with the name under which it was reached. */
export interface Step {
  readonly name: string;
  readonly place: Place;
}

/** The way to a path. `missing`: the last name, when only its folder is there. */
export interface Walk {
  /** from the root (which has an empty name) to the place, or to the folder of what is missing */
  readonly steps: readonly Step[];
  readonly missing?: string;
}

const MAX_LINKS = 40;
const MAX_NAME_BYTES = 255;

/**
 * Follows a path through the container's tree and its mounts, as the kernel does inside a container: `..` and symbolic
 * links are taken step by step, and neither leads above the container's root.
 *
 * @throws FsError ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG
 */
export function walk(root: DirectoryNode, host: HostFiles, path: string, followLast = true): Walk {
  const found = tryWalk(root, host, path, followLast);
  if (typeof found === "string") throw new FsError(found, path);
  return found;
}

/** The same without an exception, for who only asks whether something is there: a search through PATH. */
export function tryWalk(root: DirectoryNode, host: HostFiles, path: string, followLast = true): Walk | FsErrorCode {
  const todo = path.split("/").filter((name) => name !== "" && name !== ".");
  const steps: Step[] = [{ name: "", place: { kind: "node", node: root } }];
  let links = 0;
  while (todo.length > 0) {
    const name = todo.shift() as string;
    if (name === "..") {
      if (steps.length > 1) steps.pop();
      continue;
    }
    if (Buffer.byteLength(name) > MAX_NAME_BYTES) return "ENAMETOOLONG";
    const here = (steps.at(-1) as Step).place;
    if (!isDirectory(here, host)) return "ENOTDIR";
    const place = child(here, name, host);
    const isLast = todo.length === 0;
    if (place === undefined) {
      if (isLast) return { steps, missing: name };
      return "ENOENT";
    }
    const target = isLast && !followLast ? undefined : linkTarget(place, host);
    if (target === undefined) {
      steps.push({ name, place });
      continue;
    }
    links++;
    if (links > MAX_LINKS) return "ELOOP";
    if (target.startsWith("/")) steps.length = 1;
    todo.unshift(...target.split("/").filter((part) => part !== "" && part !== "."));
  }
  return { steps };
}

/** The absolute path of what a walk came to. */
export function pathOf(steps: readonly Step[]): string {
  return steps.length === 1 ? "/" : steps.map((step) => step.name).join("/");
}

/** Whether a place is a folder; of a mounted one the host is asked. */
export function isDirectory(place: Place, host: HostFiles): boolean {
  return place.kind === "node" ? place.node.type === "directory" : host.stat(place)?.isDirectory() === true;
}

/** What a folder has under a name; a mount covers what the tree has there. */
function child(folder: Place, name: string, host: HostFiles): Place | undefined {
  if (folder.kind === "host") {
    const place: HostPlace = { ...folder, rel: folder.rel === "" ? name : `${folder.rel}/${name}` };
    return host.stat(place) === undefined ? undefined : place;
  }
  if (folder.node.type !== "directory") return undefined;
  const node = folder.node.children.get(name);
  if (node === undefined) return undefined;
  return node.type === "mount" ? { kind: "host", mount: node.mount, rel: "" } : { kind: "node", node };
}

function linkTarget(place: Place, host: HostFiles): string | undefined {
  if (place.kind === "node") return place.node.type === "symlink" ? place.node.target : undefined;
  return host.stat(place)?.isSymbolicLink() === true ? host.readlink(place) : undefined;
}

/** The place that a name in a folder is, or would be. */
export function placeIn(folder: Place, name: string): Place {
  if (folder.kind === "node") return folder;
  return { ...folder, rel: folder.rel === "" ? name : `${folder.rel}/${name}` };
}
