import { FsError } from "./fs-error.js";
import type { NodeDisk } from "./host-files.js";
import { copyFor, type DirectoryNode, directory, type FsNode, file } from "./nodes.js";
import { resolvePath } from "./paths.js";
import { isDirectory, type Lookup, pathOf, type Step, tryWalk, walk } from "./walk.js";

/** The folder of devices is a tmpfs of each container, so that it can be written under a read-only root. */
const DEVICE_FOLDER = "dev";

/** The image's tree, copied when a container writes to it. Mirrors Linux's fs/overlayfs (ovl_copy_up). */
export class Overlay {
  isReadonly = false;
  #readonlyPaths: readonly string[] = [];

  /** @param root the tree as it is now: at first the image's */
  constructor(
    public root: DirectoryNode,
    readonly disk?: NodeDisk,
  ) {}

  /** Nothing below these paths can be changed from now on. */
  protect(paths: readonly string[]): void {
    this.#readonlyPaths = paths.map((path) => resolvePath("/", path));
  }

  /** Puts a node at a path, whatever is there; does nothing in a mount. */
  put(path: string, lookup: Lookup, node: FsNode): void {
    const slash = path.lastIndexOf("/");
    const { steps } = walk(this.root, lookup, path.slice(0, slash));
    this.own(steps)?.children.set(path.slice(slash + 1), node);
  }

  /** Hides a folder or file. Mirrors maskPath in runc: a missing path is fine. */
  mask(path: string, lookup: Lookup, nowMs: number): void {
    const found = tryWalk(this.root, lookup, path);
    if (typeof found === "string" || found.missing !== undefined || found.steps.length === 1) return;
    const { name, place } = found.steps.at(-1) as Step;
    const hidden = isDirectory(place, lookup.host)
      ? directory(this, nowMs)
      : file(this, nowMs, Buffer.alloc(0), { mode: 0o666, device: "null" });
    this.own(found.steps.slice(0, -1))?.children.set(name, hidden);
  }

  /** Whether nothing in a folder can be changed. @param steps to the folder */
  isReadonlyAt(steps: readonly Step[]): boolean {
    if ((this.isReadonly || this.disk?.isReadonly === true) && steps[1]?.name !== DEVICE_FOLDER) return true;
    const isKernels = steps.some(
      ({ place }) => place.kind === "node" && place.node.type === "directory" && place.node.isVirtual,
    );
    if (isKernels || this.#readonlyPaths.length === 0) return isKernels;
    const folder = pathOf(steps);
    return this.#readonlyPaths.some((path) => folder === path || folder.startsWith(`${path}/`));
  }

  /** The folder, as the container's own. @throws FsError EROFS; EXDEV in a mount */
  ownOrThrow(steps: readonly Step[], path: string): DirectoryNode {
    if (this.isReadonlyAt(steps)) throw new FsError("EROFS", path);
    const folder = this.own(steps);
    if (folder === undefined) throw new FsError("EXDEV", path);
    return folder;
  }

  /** Copies the folders on the way into this container's layer. @returns the last one; undefined if it is in a mount */
  own(steps: readonly Step[]): DirectoryNode | undefined {
    let folder: DirectoryNode | undefined;
    for (const { name, place } of steps) {
      if (place.kind === "host" || place.node.type !== "directory") return undefined;
      const own: DirectoryNode = place.node.owner === this ? place.node : copyFor(place.node, this);
      if (folder === undefined) this.root = own;
      else folder.children.set(name, own);
      folder = own;
    }
    return folder;
  }
}
