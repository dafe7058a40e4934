import { FsError, type FsErrorCode } from "./fs-error.js";
import type { HostFiles, HostPlace } from "./host-files.js";
import type { DirectoryNode, FsNode, MountNode } from "./nodes.js";

/** The result of a path lookup: a node of the container's tree, or a file in a mount. */
export type Place = { readonly kind: "node"; readonly node: Exclude<FsNode, MountNode> } | HostPlace;

/** One step of a lookup, with the name of the step. */
export interface Step {
  readonly name: string;
  readonly place: Place;
}

/** A resolved path. `missing` is the last name if only its folder exists. */
export interface Walk {
  /** from the root (with an empty name) to the place, or to the folder of the missing name */
  readonly steps: readonly Step[];
  readonly missing?: string;
}

/** The rights of a path lookup. */
export interface Lookup {
  readonly host: HostFiles;
  /** whether the user can search a folder; undefined: all of them */
  readonly search: ((folder: Place) => boolean) | undefined;
  /** the root folder after chroot; default: the tree's */
  readonly root?: Place | undefined;
}

const MAX_LINKS = 40;
const MAX_NAME_BYTES = 255;
/** Linux's PATH_MAX */
const MAX_PATH_LENGTH = 4096;

/**
 * Resolves a path through the container's tree and its mounts, as the kernel does in a container: `..` and symbolic
 * links are resolved step by step and never leave the container's root.
 *
 * @throws FsError ENOENT, ENOTDIR, EACCES, ELOOP, ENAMETOOLONG
 */
export function walk(root: DirectoryNode, lookup: Lookup, path: string, followLast = true): Walk {
  const found = tryWalk(root, lookup, path, followLast);
  if (typeof found === "string") throw new FsError(found, path);
  return found;
}

/** The same without an exception, to check whether something exists, such as in a search through PATH. */
export function tryWalk(
  root: DirectoryNode,
  { host, search, root: start = { kind: "node", node: root } }: Lookup,
  path: string,
  followLast = true,
): Walk | FsErrorCode {
  if (path.length >= MAX_PATH_LENGTH) return "ENAMETOOLONG";
  const todo = path.split("/").filter((name) => name !== "" && name !== ".");
  const steps: Step[] = [{ name: "", place: start }];
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
    if (isSealed(here) || search?.(here) === false) return "EACCES";
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

/** The absolute path of a lookup's result. */
export function pathOf(steps: readonly Step[]): string {
  return steps.length === 1 ? "/" : steps.map((step) => step.name).join("/");
}

/** Whether a place is a folder; a mounted one is checked on the host. */
export function isDirectory(place: Place, host: HostFiles): boolean {
  return place.kind === "node" ? place.node.type === "directory" : host.stat(place)?.isDirectory() === true;
}

export function isSealed(place: Place): boolean {
  return place.kind === "node" && place.node.type === "directory" && place.node.isSealed === true;
}

/** The entry of a folder; a mount hides the tree's entry. */
function child(folder: Place, name: string, host: HostFiles): Place | undefined {
  if (folder.kind === "host") {
    const tree = folder.rel === "" ? folder.mount.trees?.get(name) : undefined;
    if (tree !== undefined) return { kind: "node", node: tree };
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

/** The place of a name in a folder, whether it exists or not. */
export function placeIn(folder: Place, name: string): Place {
  if (folder.kind === "node") return folder;
  return { ...folder, rel: folder.rel === "" ? name : `${folder.rel}/${name}` };
}
