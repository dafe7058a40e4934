import type { Clock } from "../../../util/clock.js";
import { DiskUse } from "./disk-use.js";
import { FsError } from "./fs-error.js";
import { type FileOwner, HostFiles, type HostPlace } from "./host-files.js";
import { Layer } from "./layer.js";
import { copyFor, type DirectoryNode, directory, type FileNode, file, type HostMount, symlink } from "./nodes.js";
import { resolvePath } from "./paths.js";
import { type FileStat, sizeOnHost, statOf } from "./stat.js";
import { isDirectory, type Place, pathOf, placeIn, type Step, tryWalk, walk } from "./walk.js";

export interface ContainerFsOptions {
  /** the image's tree, shared with other containers and never changed */
  readonly image: DirectoryNode;
  readonly mounts: readonly HostMount[];
  readonly clock: Clock;
  readonly isReadonly: boolean;
  /** hidden: a folder is empty, and a file too */
  readonly maskedPaths?: readonly string[];
  /** nothing below them can be changed */
  readonly readonlyPaths?: readonly string[];
}

/**
 * A container's file system: the image's tree, copied on write, and the mounts. Paths are absolute paths of the
 * container. All calls are synchronous, because they touch only memory or small files of the kubelet.
 */
export class ContainerFs {
  readonly host: HostFiles;
  readonly clock: Clock;
  readonly #layer: Layer;
  #root: DirectoryNode;
  #isReadonly = false;
  #readonlyPaths: readonly string[] = [];
  readonly #mounts: readonly HostMount[];
  /** the user that new files belong to */
  user: FileOwner = { uid: 0, gid: 0 };

  constructor(options: ContainerFsOptions) {
    this.clock = options.clock;
    this.host = new HostFiles(new DiskUse(options.mounts, options.clock));
    this.#layer = new Layer(options.clock);
    this.#root = options.image;
    this.#mounts = options.mounts;
    // Nested mounts come after their parents. A missing mount point is created, even under a read-only root.
    for (const mount of [...options.mounts].sort((a, b) => a.containerPath.length - b.containerPath.length)) {
      this.#mount(mount);
    }
    for (const path of options.maskedPaths ?? []) this.#mask(path);
    this.#readonlyPaths = (options.readonlyPaths ?? []).map((path) => resolvePath("/", path));
    this.#isReadonly = options.isReadonly;
  }

  /** Mirrors maskPath in runc: a missing path is fine. */
  #mask(path: string): void {
    const found = tryWalk(this.#root, this.host, path);
    if (typeof found === "string" || found.missing !== undefined || found.steps.length === 1) return;
    const { name, place } = found.steps.at(-1) as Step;
    const hidden = isDirectory(place, this.host)
      ? directory(this, this.clock.now())
      : file(this, this.clock.now(), Buffer.alloc(0), { mode: 0o666, device: "null" });
    this.#own(found.steps.slice(0, -1))?.children.set(name, hidden);
  }

  /** Puts a tree of the kernel into the root folder, unless something is mounted there. */
  attach(name: string, tree: DirectoryNode): void {
    const root = walk(this.#root, this.host, "/");
    if (this.#root.children.get(name)?.type !== "mount") this.#own(root.steps)?.children.set(name, tree);
  }

  /** The mounts as /proc/mounts shows them. */
  mountLines(): string {
    const lines = this.#mounts.map(({ containerPath, isReadonly }) => {
      const type = this.isTmpfs(containerPath) ? "tmpfs tmpfs" : "/dev/kubelab ext4";
      const [device = "", name = ""] = type.split(" ");
      return `${device} ${containerPath} ${name} ${isReadonly ? "ro" : "rw"},relatime 0 0\n`;
    });
    const root = this.#isReadonly ? "ro" : "rw";
    return `overlay / overlay ${root},relatime 0 0\nproc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n${lines.join("")}`;
  }

  /** bytes written to the layer */
  get usedBytes(): number {
    return this.#layer.usedBytes;
  }

  /** files, folders and links of the layer */
  get usedInodes(): number {
    return this.#layer.nodeCount;
  }

  /** Writes a file of the runtime into the tree: /etc/hosts and the like. */
  provide(path: string, content: string): void {
    const wasReadonly = this.#isReadonly;
    this.#isReadonly = false;
    try {
      this.mkdir(path.slice(0, path.lastIndexOf("/")) || "/", { recursive: true });
      this.write(path, Buffer.from(content), { truncate: true });
    } finally {
      this.#isReadonly = wasReadonly;
    }
  }

  #mount(mount: HostMount): void {
    const slash = mount.containerPath.lastIndexOf("/");
    const name = mount.containerPath.slice(slash + 1);
    if (name === "") throw new FsError("EINVAL", mount.containerPath);
    this.mkdir(mount.containerPath.slice(0, slash) || "/", { recursive: true });
    const { steps } = walk(this.#root, this.host, mount.containerPath.slice(0, slash));
    const folder = this.#own(steps);
    // Inside another mount the mount point exists on the machine. If not, the kubelet made a mistake that runc would
    // refuse.
    if (folder === undefined) return;
    const mtimeMs = this.clock.now();
    folder.children.set(name, { type: "mount", owner: this, mode: 0o755, mtimeMs, mount });
  }

  exists(path: string): boolean {
    const found = tryWalk(this.#root, this.host, path);
    return typeof found !== "string" && found.missing === undefined;
  }

  stat(path: string): FileStat {
    return statOf(this.#find(path), this.host);
  }

  lstat(path: string): FileStat {
    return statOf(this.#find(path, false), this.host);
  }

  realpath(path: string): string {
    const { steps, missing } = walk(this.#root, this.host, path);
    if (missing !== undefined) throw new FsError("ENOENT", path);
    return pathOf(steps);
  }

  readlink(path: string): string {
    const place = this.#find(path, false);
    if (place.kind === "host") return this.host.readlink(place);
    if (place.node.type !== "symlink") throw new FsError("EINVAL", path);
    return place.node.target;
  }

  /** Names, sorted. */
  readdir(path: string): string[] {
    const place = this.#find(path);
    if (!isDirectory(place, this.host)) throw new FsError("ENOTDIR", path);
    const names = place.kind === "host" ? this.host.readdir(place) : [...(place.node as DirectoryNode).children.keys()];
    return names.sort();
  }

  /** The node at a path, to execute it; undefined for files in mounts. */
  node(path: string): FileNode | undefined {
    const place = this.#find(path);
    return place.kind === "node" && place.node.type === "file" ? place.node : undefined;
  }

  readFile(path: string): Buffer {
    const place = this.#find(path);
    if (place.kind === "host") return this.host.read(place, 0, sizeOnHost(place, this.host, path));
    if (place.node.type === "directory") throw new FsError("EISDIR", path);
    const node = place.node as FileNode;
    return Buffer.from(node.bytes.subarray(0, node.size));
  }

  /** Up to `length` bytes from `offset`; empty at the end. */
  read(path: string, offset: number, length: number): Buffer {
    const place = this.#find(path);
    if (place.kind === "host") return this.host.read(place, offset, length);
    if (place.node.type === "directory") throw new FsError("EISDIR", path);
    const node = place.node as FileNode;
    return Buffer.from(node.bytes.subarray(offset, Math.min(offset + length, node.size)));
  }

  /** @param options.offset default: append */
  write(
    path: string,
    bytes: Uint8Array,
    options: { readonly truncate?: boolean; readonly offset?: number; readonly mode?: number } = {},
  ): void {
    const { steps, missing } = walk(this.#root, this.host, path);
    const last = (steps.at(-1) as Step).place;
    const mode = options.mode ?? 0o644;
    const hostPlace = missing === undefined ? last : placeIn(last, missing);
    if (hostPlace.kind === "host") {
      if (missing === undefined && isDirectory(last, this.host)) throw new FsError("EISDIR", path);
      if (missing !== undefined) this.host.create(hostPlace, mode, this.user);
      else if (options.truncate === true) this.host.truncate(hostPlace, mode);
      // Even for zero bytes: opening a file to append creates it, or fails.
      if (bytes.length > 0 || options.truncate !== true) this.host.write(hostPlace, bytes, options.offset, mode);
      return;
    }
    const node = this.#fileToWrite(steps, missing, path, mode);
    if (node.device !== undefined) {
      if (bytes.length > 0) writeDevice(node, path);
      return;
    }
    if (options.truncate === true) this.#layer.resize(node, 0, path);
    this.#layer.put(node, bytes, options.offset ?? node.size, path);
  }

  #fileToWrite(steps: readonly Step[], missing: string | undefined, path: string, mode: number): FileNode {
    const folderSteps = missing === undefined ? steps.slice(0, -1) : steps;
    if (missing === undefined) {
      const { place } = steps.at(-1) as Step;
      if (place.kind !== "node" || place.node.type !== "file") throw new FsError("EISDIR", path);
      if (place.node.device !== undefined) return place.node;
      if (place.node.owner === this && !this.#isReadonly && !this.#isBelowReadonly(folderSteps)) return place.node;
    }
    const folder = this.#ownOrThrow(folderSteps, path);
    const name = missing ?? (steps.at(-1) as Step).name;
    const before = folder.children.get(name);
    if (before === undefined) this.#layer.addNode(path);
    const node =
      before?.type === "file"
        ? copyFor(before, this)
        : Object.assign(file(this, this.clock.now(), Buffer.alloc(0), { mode }), this.user);
    if (before?.type === "file") this.#layer.charge(node.size, path);
    folder.children.set(name, node);
    return node;
  }

  mkdir(path: string, options: { readonly recursive?: boolean } = {}): void {
    if (options.recursive === true) {
      this.#mkdirs(path);
      return;
    }
    const { steps, missing } = walk(this.#root, this.host, path);
    if (missing === undefined) throw new FsError("EEXIST", path);
    const { place } = steps.at(-1) as Step;
    if (place.kind === "host") {
      this.host.mkdir(placeIn(place, missing) as HostPlace, this.user);
      return;
    }
    const folder = this.#ownOrThrow(steps, path);
    this.#layer.addNode(path);
    folder.children.set(missing, Object.assign(directory(this, this.clock.now()), this.user));
  }

  #mkdirs(path: string): void {
    const names = path.split("/").filter((name) => name !== "");
    for (let count = 1; count <= names.length; count++) {
      const part = `/${names.slice(0, count).join("/")}`;
      if (!this.exists(part)) this.mkdir(part);
      else if (this.stat(part).type !== "directory") throw new FsError("ENOTDIR", path);
    }
  }

  /** Removes a name. A folder must be empty. */
  remove(path: string): void {
    const { steps, missing } = walk(this.#root, this.host, path, false);
    if (missing !== undefined) throw new FsError("ENOENT", path);
    const { place, name } = steps.at(-1) as Step;
    if (steps.length === 1 || (place.kind === "host" && place.rel === "")) throw new FsError("EBUSY", path);
    const isFolder = isDirectory(place, this.host);
    if (isFolder && this.readdir(path).length > 0) throw new FsError("ENOTEMPTY", path);
    if (place.kind === "host") {
      isFolder ? this.host.rmdir(place) : this.host.unlink(place);
      return;
    }
    this.#ownOrThrow(steps.slice(0, -1), path).children.delete(name);
    if (place.node.owner === this) this.#layer.nodeCount--;
    if (place.node.type === "file" && place.node.owner === this) this.#layer.usedBytes -= place.node.size;
  }

  symlink(target: string, path: string): void {
    const { steps, missing } = walk(this.#root, this.host, path, false);
    if (missing === undefined) throw new FsError("EEXIST", path);
    const { place } = steps.at(-1) as Step;
    if (place.kind === "host") {
      this.host.symlink(placeIn(place, missing) as HostPlace, target);
      return;
    }
    const folder = this.#ownOrThrow(steps, path);
    this.#layer.addNode(path);
    folder.children.set(missing, symlink(this, this.clock.now(), target));
  }

  /** Creates a hard link in the same file system. */
  link(existing: string, path: string): void {
    const { steps, missing } = walk(this.#root, this.host, path, false);
    if (missing === undefined) throw new FsError("EEXIST", path);
    const from = this.#find(existing);
    const { place } = steps.at(-1) as Step;
    if (from.kind === "host" && place.kind === "host" && from.mount === place.mount) {
      this.host.link(from, placeIn(place, missing) as HostPlace);
      return;
    }
    if (from.kind === "host" || place.kind === "host") throw new FsError("EXDEV", path);
    if (from.node.type === "directory") throw new FsError("EACCES", existing);
    this.#ownOrThrow(steps, path).children.set(missing, from.node);
  }

  rename(from: string, to: string): void {
    const source = walk(this.#root, this.host, from, false);
    if (source.missing !== undefined) throw new FsError("ENOENT", from);
    const { place, name } = source.steps.at(-1) as Step;
    const target = walk(this.#root, this.host, to, false);
    const folder = target.missing === undefined ? target.steps.slice(0, -1) : target.steps;
    const newName = target.missing ?? (target.steps.at(-1) as Step).name;
    const into = (folder.at(-1) as Step).place;
    if (place.kind === "host" && place.rel === "") throw new FsError("EBUSY", from);
    if (place.kind === "host" && into.kind === "host" && place.mount === into.mount) {
      this.host.rename(place, placeIn(into, newName) as HostPlace);
      return;
    }
    if (place.kind === "host" || into.kind === "host") throw new FsError("EXDEV", to);
    if (`${pathOf(target.steps)}/`.startsWith(`${pathOf(source.steps)}/`)) throw new FsError("EINVAL", to);
    this.#ownOrThrow(source.steps.slice(0, -1), from).children.delete(name);
    const owned = this.#own(walk(this.#root, this.host, pathOf(folder)).steps);
    owned?.children.set(newName, place.node);
  }

  /** Whether the file is on a tmpfs of the machine: a mounted `emptyDir` of medium Memory. */
  isTmpfs(path: string): boolean {
    const place = this.#find(path);
    return place.kind === "host" && this.host.isTmpfs(place);
  }

  chmod(path: string, mode: number): void {
    const place = this.#find(path);
    if (place.kind === "host") {
      this.host.chmod(place, mode & 0o7777);
      return;
    }
    this.#change(path, (node) => {
      node.mode = mode & 0o7777;
    });
  }

  utimes(path: string, mtimeMs: number): void {
    const place = this.#find(path);
    if (place.kind === "host") {
      this.host.utimes(place, mtimeMs);
      return;
    }
    this.#change(path, (node) => {
      node.mtimeMs = mtimeMs;
    });
  }

  #change(path: string, change: (node: FileNode | DirectoryNode) => void): void {
    const { steps, missing } = walk(this.#root, this.host, path);
    if (missing !== undefined) throw new FsError("ENOENT", path);
    const { place } = steps.at(-1) as Step;
    if (place.kind === "host") return; // its callers have changed it
    if (place.node.type === "directory") {
      change(this.#ownOrThrow(steps, path));
      return;
    }
    change(this.#fileToWrite(steps, undefined, path, 0));
  }

  #find(path: string, followLast = true): Place {
    const { steps, missing } = walk(this.#root, this.host, path, followLast);
    if (missing !== undefined) throw new FsError("ENOENT", path);
    return (steps.at(-1) as Step).place;
  }

  #ownOrThrow(steps: readonly Step[], path: string): DirectoryNode {
    if (this.#isReadonly || this.#isBelowReadonly(steps)) throw new FsError("EROFS", path);
    const folder = this.#own(steps);
    if (folder === undefined) throw new FsError("EXDEV", path);
    return folder;
  }

  #isBelowReadonly(steps: readonly Step[]): boolean {
    const isKernels = steps.some(
      ({ place }) => place.kind === "node" && place.node.type === "directory" && place.node.isVirtual,
    );
    if (isKernels || this.#readonlyPaths.length === 0) return isKernels;
    const folder = pathOf(steps);
    return this.#readonlyPaths.some((path) => folder === path || folder.startsWith(`${path}/`));
  }

  /** Copies the folders on the way into this container's layer. @returns the last one; undefined if it is in a mount */
  #own(steps: readonly Step[]): DirectoryNode | undefined {
    let folder: DirectoryNode | undefined;
    for (const { name, place } of steps) {
      if (place.kind === "host" || place.node.type !== "directory") return undefined;
      const own: DirectoryNode = place.node.owner === this ? place.node : copyFor(place.node, this);
      if (folder === undefined) this.#root = own;
      else folder.children.set(name, own);
      folder = own;
    }
    return folder;
  }
}

function writeDevice(node: FileNode, path: string): void {
  if (node.device === "full") throw new FsError("ENOSPC", path);
}
