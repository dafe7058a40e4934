import { FsError } from "./fs-error.js";
import { copyFor, type DirectoryNode } from "./nodes.js";
import { resolvePath } from "./paths.js";
import { pathOf, type Step } from "./walk.js";

/** The folder of devices is a tmpfs of each container, so that it can be written under a read-only root. */
const DEVICE_FOLDER = "dev";

/** The image's tree, copied when a container writes to it. Mirrors Linux's fs/overlayfs (ovl_copy_up). */
export class Overlay {
  isReadonly = false;
  #readonlyPaths: readonly string[] = [];

  /** @param root the tree as it is now: at first the image's */
  constructor(public root: DirectoryNode) {}

  /** Nothing below these paths can be changed from now on. */
  protect(paths: readonly string[]): void {
    this.#readonlyPaths = paths.map((path) => resolvePath("/", path));
  }

  /** Whether nothing in a folder can be changed. @param steps to the folder */
  isReadonlyAt(steps: readonly Step[]): boolean {
    if (this.isReadonly && steps[1]?.name !== DEVICE_FOLDER) return true;
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
