import type { Clock } from "../../../util/clock.js";
import { Access } from "./access.js";
import { DiskUse } from "./disk-use.js";
import { FsError } from "./fs-error.js";
import { type FileSystemSpace, HostFiles, type HostPlace, spaceAt } from "./host-files.js";
import { type FileOwner, HostOwners } from "./host-owners.js";
import { Layer } from "./layer.js";
import type { mountsText } from "./mount-table.js";
import {
  copyFor,
  type DirectoryNode,
  directory,
  type FileNode,
  file,
  type HostMount,
  type SymlinkNode,
  symlink,
} from "./nodes.js";
import { Overlay } from "./overlay.js";
import { type Credentials, READ, WRITE } from "./permission.js";
import { type FileStat, sizeOnHost, statOf } from "./stat.js";
import { isDirectory, isSealed, type Place, pathOf, placeIn, type Step, tryWalk, type Walk, walk } from "./walk.js";

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
  /** shared by the containers of a runtime; default: its own */
  readonly owners?: HostOwners;
}

/** Mirrors wrappedVolumeSpec of pkg/volume/{secret,projected,downwardapi}: the medium is Memory. A token's volume is projected. */
const MEMORY_BACKED = /\/volumes\/kubernetes\.io~(secret|projected|downward-api)\//;

export interface WriteOptions {
  readonly truncate?: boolean;
  /** default: append */
  readonly offset?: number;
  /** permission bits of a new file */
  readonly mode?: number;
  /** the file was opened before, so its permissions do not matter any more */
  readonly isOpen?: boolean;
}

/**
 * A container's file system: the image's tree, copied on write, and the mounts. Paths are absolute paths of the
 * container. All calls are synchronous, because they touch only memory or small files of the kubelet. Calls of the
 * container's user are checked as by the kernel: see `Credentials`.
 */
export class ContainerFs {
  readonly host: HostFiles;
  readonly clock: Clock;
  readonly #layer: Layer;
  readonly #tree: Overlay;
  readonly #mounts: readonly HostMount[];
  /** files of the runtime, which mounts them */
  readonly #provided: HostMount[] = [];
  #access: Access;

  constructor(options: ContainerFsOptions) {
    this.clock = options.clock;
    this.host = new HostFiles(new DiskUse(options.mounts, options.clock), options.owners ?? new HostOwners());
    this.#access = new Access(this.host, undefined);
    this.#layer = new Layer(options.clock);
    this.#tree = new Overlay(options.image);
    this.#mounts = options.mounts;
    // Nested mounts come after their parents. A missing mount point is created, even under a read-only root.
    for (const mount of [...options.mounts].sort((a, b) => a.containerPath.length - b.containerPath.length)) {
      this.#mount(mount);
    }
    for (const path of options.maskedPaths ?? []) this.#tree.mask(path, this.#access, this.clock.now());
    this.#tree.protect(options.readonlyPaths ?? []);
    this.#tree.isReadonly = options.isReadonly;
  }

  /** From now on all calls are those of this user. Before, they are the runtime's. */
  become(who: Credentials): void {
    this.#access = new Access(this.host, who);
  }

  /** the tree as it is now, for the processes of other containers: /proc/PID/root */
  get root(): DirectoryNode {
    return this.#tree.root;
  }

  /** Puts a tree of the kernel into the root folder, unless something is mounted there. */
  attach(name: string, tree: DirectoryNode): void {
    if (this.#tree.root.children.get(name)?.type !== "mount") this.#tree.put(`/${name}`, this.#access, tree);
  }

  /** The content of /proc/PID/mounts or /proc/PID/mountinfo. */
  mountTable(format: typeof mountsText): string {
    return format(this.#tree.isReadonly, [...this.#provided, ...this.#mounts], ({ containerPath }) =>
      this.isTmpfs(containerPath),
    );
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
    const wasReadonly = this.#tree.isReadonly;
    const hostPath = `/var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes${path.slice(path.lastIndexOf("/"))}`;
    this.#provided.push({ containerPath: path, hostPath, isReadonly: wasReadonly });
    this.#tree.isReadonly = false;
    try {
      this.mkdir(path.slice(0, path.lastIndexOf("/")) || "/", { recursive: true });
      this.write(path, Buffer.from(content), { truncate: true });
    } finally {
      this.#tree.isReadonly = wasReadonly;
    }
  }

  #mount(mount: HostMount): void {
    const slash = mount.containerPath.lastIndexOf("/");
    if (slash === mount.containerPath.length - 1) throw new FsError("EINVAL", mount.containerPath);
    this.mkdir(mount.containerPath.slice(0, slash) || "/", { recursive: true });
    // Inside another mount the mount point exists on the machine. If not, the kubelet made a mistake that runc would
    // refuse.
    const node = { type: "mount", owner: this.#tree, mode: 0o755, mtimeMs: this.clock.now(), mount } as const;
    this.#tree.put(mount.containerPath, this.#access, node);
  }

  exists(path: string): boolean {
    const found = tryWalk(this.#tree.root, this.#access, path);
    return typeof found !== "string" && found.missing === undefined;
  }

  /** Whether the user has all `wanted` rights for a file, such as `READ | WRITE`. */
  allows(stat: FileStat, wanted: number): boolean {
    return this.#access.allows(stat, wanted);
  }

  stat(path: string): FileStat {
    return statOf(this.#find(path), this.host);
  }

  lstat(path: string): FileStat {
    return statOf(this.#find(path, false), this.host);
  }

  realpath(path: string): string {
    const { steps, missing } = walk(this.#tree.root, this.#access, path);
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
    if (isSealed(place)) throw new FsError("EACCES", path);
    this.#access.require(place, READ, path);
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
    this.#access.require(place, READ, path);
    if (place.kind === "host") return this.host.read(place, 0, sizeOnHost(place, this.host, path));
    if (place.node.type === "directory") throw new FsError("EISDIR", path);
    const node = place.node as FileNode;
    return Buffer.from(node.bytes.subarray(0, node.size));
  }

  /** Up to `length` bytes from `offset`; empty at the end. @param isOpen see WriteOptions */
  read(path: string, offset: number, length: number, isOpen = false): Buffer {
    const place = this.#find(path);
    if (!isOpen) this.#access.require(place, READ, path);
    if (place.kind === "host") return this.host.read(place, offset, length);
    if (place.node.type === "directory") throw new FsError("EISDIR", path);
    const node = place.node as FileNode;
    return Buffer.from(node.bytes.subarray(offset, Math.min(offset + length, node.size)));
  }

  write(path: string, bytes: Uint8Array, options: WriteOptions = {}): void {
    const found = walk(this.#tree.root, this.#access, path);
    const { steps, missing } = found;
    const last = (steps.at(-1) as Step).place;
    const mode = options.mode ?? 0o644;
    const hostPlace = missing === undefined ? last : placeIn(last, missing);
    if (hostPlace.kind === "host") {
      if (missing === undefined && isDirectory(last, this.host)) throw new FsError("EISDIR", path);
      if (options.isOpen !== true) this.#requireWrite(found, path);
      if (missing !== undefined) this.host.create(hostPlace, mode, this.#access.ofNew(last, "file"));
      else if (options.truncate === true) this.host.truncate(hostPlace, mode);
      // Even for zero bytes: opening a file to append creates it, or fails.
      if (bytes.length > 0 || options.truncate !== true) this.host.write(hostPlace, bytes, options.offset, mode);
      return;
    }
    const node = this.#fileToWrite(found, path, options);
    if (node.device !== undefined) {
      if (bytes.length > 0) writeDevice(node, path);
      return;
    }
    if (options.truncate === true) this.#layer.resize(node, 0, path);
    this.#layer.put(node, bytes, options.offset ?? node.size, path);
  }

  /** A read-only file system comes first, as in the kernel's path_openat. @throws FsError EROFS, EACCES */
  #requireWrite({ steps, missing }: Walk, path: string): void {
    const { place } = steps.at(-1) as Step;
    if (place.kind === "host") this.host.requireWritable(place);
    if (missing === undefined) this.#access.require(place, WRITE, path);
    else this.#access.requireCreate(place, path);
  }

  #fileToWrite(found: Walk, path: string, { mode = 0o644, isOpen = false }: WriteOptions): FileNode {
    const { steps, missing } = found;
    const folderSteps = missing === undefined ? steps.slice(0, -1) : steps;
    if (missing === undefined) {
      const { place } = steps.at(-1) as Step;
      if (place.kind !== "node" || place.node.type !== "file") throw new FsError("EISDIR", path);
      if (place.node.device === undefined && this.#tree.isReadonlyAt(folderSteps)) throw new FsError("EROFS", path);
      if (!isOpen) this.#requireWrite(found, path);
      if (place.node.device !== undefined || place.node.owner === this.#tree) return place.node;
    }
    const folder = this.#tree.ownOrThrow(folderSteps, path);
    const name = missing ?? (steps.at(-1) as Step).name;
    const before = folder.children.get(name);
    if (before?.type !== "file") {
      if (!isOpen) this.#requireWrite(found, path);
      this.#layer.addNode(path);
    }
    const node = before?.type === "file" ? copyFor(before, this.#tree) : this.#newFile(found, mode);
    if (before?.type === "file") this.#layer.charge(node.size, path);
    folder.children.set(name, node);
    return node;
  }

  #newFile({ steps }: Walk, mode: number): FileNode {
    const { uid, gid } = this.#access.ofNew((steps.at(-1) as Step).place, "file");
    return Object.assign(file(this.#tree, this.clock.now(), Buffer.alloc(0), { mode }), { uid, gid });
  }

  /** @param options.mode permission bits of the new folders */
  mkdir(path: string, options: { readonly recursive?: boolean; readonly mode?: number } = {}): void {
    const { recursive = false, mode = 0o755 } = options;
    if (recursive) {
      this.#mkdirs(path, mode);
      return;
    }
    const { steps, missing } = walk(this.#tree.root, this.#access, path);
    if (missing === undefined) throw new FsError("EEXIST", path);
    const { place } = steps.at(-1) as Step;
    const { uid, gid, bits } = this.#access.ofNew(place, "directory");
    if (place.kind === "host") {
      this.#requireCreate(place, path);
      this.host.mkdir(placeIn(place, missing) as HostPlace, mode | bits, { uid, gid });
      return;
    }
    const folder = this.#tree.ownOrThrow(steps, path);
    this.#access.requireCreate(place, path);
    this.#layer.addNode(path);
    folder.children.set(missing, Object.assign(directory(this.#tree, this.clock.now(), mode | bits), { uid, gid }));
  }

  #requireCreate(folder: HostPlace, path: string): void {
    this.host.requireWritable(folder);
    this.#access.requireCreate(folder, path);
  }

  #mkdirs(path: string, mode: number): void {
    const names = path.split("/").filter((name) => name !== "");
    for (let count = 1; count <= names.length; count++) {
      const part = `/${names.slice(0, count).join("/")}`;
      if (!this.exists(part)) this.mkdir(part, { mode });
      else if (this.stat(part).type !== "directory") throw new FsError("ENOTDIR", path);
    }
  }

  /** Removes a name. A folder must be empty. */
  remove(path: string): void {
    const { steps, missing } = walk(this.#tree.root, this.#access, path, false);
    if (missing !== undefined) throw new FsError("ENOENT", path);
    const { place, name } = steps.at(-1) as Step;
    if (steps.length === 1 || (place.kind === "host" && place.rel === "")) throw new FsError("EBUSY", path);
    const isFolder = isDirectory(place, this.host);
    const folder = (steps.at(-2) as Step).place;
    if (place.kind === "host") {
      this.host.requireWritable(place);
      this.#access.requireDelete(folder, place, path);
      if (isFolder && this.host.readdir(place).length > 0) throw new FsError("ENOTEMPTY", path);
      isFolder ? this.host.rmdir(place) : this.host.unlink(place);
      return;
    }
    const owned = this.#tree.ownOrThrow(steps.slice(0, -1), path);
    this.#access.requireDelete(folder, place, path);
    if (place.node.type === "directory" && place.node.children.size > 0) throw new FsError("ENOTEMPTY", path);
    owned.children.delete(name);
    if (place.node.owner === this.#tree) this.#layer.nodeCount--;
    if (place.node.type === "file" && place.node.owner === this.#tree) this.#layer.usedBytes -= place.node.size;
  }

  symlink(target: string, path: string): void {
    const { steps, missing } = walk(this.#tree.root, this.#access, path, false);
    if (missing === undefined) throw new FsError("EEXIST", path);
    const { place } = steps.at(-1) as Step;
    const { uid, gid } = this.#access.ofNew(place, "symlink");
    if (place.kind === "host") {
      this.#requireCreate(place, path);
      this.host.symlink(placeIn(place, missing) as HostPlace, target, { uid, gid });
      return;
    }
    const folder = this.#tree.ownOrThrow(steps, path);
    this.#access.requireCreate(place, path);
    this.#layer.addNode(path);
    folder.children.set(missing, Object.assign(symlink(this.#tree, this.clock.now(), target), { uid, gid }));
  }

  /** Creates a hard link in the same file system. */
  link(existing: string, path: string): void {
    const { steps, missing } = walk(this.#tree.root, this.#access, path, false);
    if (missing === undefined) throw new FsError("EEXIST", path);
    const from = this.#find(existing);
    const { place } = steps.at(-1) as Step;
    this.#access.requireLink(from, path);
    if (from.kind === "host" && place.kind === "host" && from.mount === place.mount) {
      this.#requireCreate(place, path);
      this.host.link(from, placeIn(place, missing) as HostPlace);
      return;
    }
    if (from.kind === "host" || place.kind === "host") throw new FsError("EXDEV", path);
    if (from.node.type === "directory") throw new FsError("EACCES", existing);
    const folder = this.#tree.ownOrThrow(steps, path);
    this.#access.requireCreate(place, path);
    folder.children.set(missing, from.node);
  }

  rename(from: string, to: string): void {
    const source = walk(this.#tree.root, this.#access, from, false);
    if (source.missing !== undefined) throw new FsError("ENOENT", from);
    const { place, name } = source.steps.at(-1) as Step;
    const target = walk(this.#tree.root, this.#access, to, false);
    const folder = target.missing === undefined ? target.steps.slice(0, -1) : target.steps;
    const newName = target.missing ?? (target.steps.at(-1) as Step).name;
    const into = (folder.at(-1) as Step).place;
    if (place.kind === "host" && place.rel === "") throw new FsError("EBUSY", from);
    const isOnHost = place.kind === "host" && into.kind === "host" && place.mount === into.mount;
    if (isOnHost) {
      this.host.requireWritable(place);
      this.#requireRename(source, target, from, to);
      this.host.rename(place, placeIn(into, newName) as HostPlace);
      return;
    }
    if (place.kind === "host" || into.kind === "host") throw new FsError("EXDEV", to);
    if (`${pathOf(target.steps)}/`.startsWith(`${pathOf(source.steps)}/`)) throw new FsError("EINVAL", to);
    const before = this.#tree.ownOrThrow(source.steps.slice(0, -1), from);
    this.#requireRename(source, target, from, to);
    before.children.delete(name);
    const owned = this.#tree.own(walk(this.#tree.root, this.#access, pathOf(folder)).steps);
    owned?.children.set(newName, place.node);
  }

  #requireRename(source: Walk, target: Walk, from: string, to: string): void {
    const [parent, old] = source.steps.slice(-2) as [Step, Step];
    this.#access.requireDelete(parent.place, old.place, from);
    const last = (target.steps.at(-1) as Step).place;
    if (target.missing !== undefined) this.#access.requireCreate(last, to);
    else this.#access.requireDelete((target.steps.at(-2) as Step).place, last, to);
  }

  /** Whether the file is on a tmpfs: of the machine, for an `emptyDir` of medium Memory, or what the kubelet keeps in memory. */
  isTmpfs(path: string): boolean {
    const place = this.#find(path);
    return place.kind === "host" && (MEMORY_BACKED.test(place.mount.hostPath) || this.host.isTmpfs(place));
  }

  /** The space of a mount; the container's own layer is on the machine's disk. Nothing for what the kernel provides. */
  space(path: string): FileSystemSpace {
    const place = this.#find(path);
    if (place.kind === "host") return this.host.space(place);
    const isOnDisk = path === "/" || this.#provided.some(({ containerPath }) => containerPath === path);
    return isOnDisk ? spaceAt("/") : { totalBytes: 0, freeBytes: 0 };
  }

  chmod(path: string, mode: number): void {
    this.#change(path, true, (place) => {
      const after = this.#access.modeAfter(place, mode, path);
      return { onHost: (one) => this.host.chmod(one, after), onNode: (node) => Object.assign(node, { mode: after }) };
    });
  }

  /** @param followLast false: changes a symbolic link itself */
  chown(path: string, owner: Partial<FileOwner>, followLast = true): void {
    this.#change(path, followLast, (place) => {
      const { mode, ...after } = this.#access.ownerAfter(place, owner, path);
      return {
        onHost: (one) => this.host.give(one, after),
        onNode: (node) => Object.assign(node, after, node.type === "symlink" ? {} : { mode }),
      };
    });
  }

  utimes(path: string, mtimeMs: number): void {
    this.#change(path, true, (place) => {
      this.#access.requireTouch(place, path);
      return { onHost: (one) => this.host.utimes(one, mtimeMs), onNode: (node) => Object.assign(node, { mtimeMs }) };
    });
  }

  /** Changes attributes. @param change checks the permission and returns what to do */
  #change(
    path: string,
    followLast: boolean,
    change: (place: Place) => {
      readonly onHost: (place: HostPlace) => void;
      readonly onNode: (node: FileNode | DirectoryNode | SymlinkNode) => void;
    },
  ): void {
    const found = walk(this.#tree.root, this.#access, path, followLast);
    const { steps, missing } = found;
    if (missing !== undefined) throw new FsError("ENOENT", path);
    const { place, name } = steps.at(-1) as Step;
    if (place.kind === "host") {
      this.host.requireWritable(place);
      change(place).onHost(place);
      return;
    }
    const isFolder = place.node.type === "directory";
    if (this.#tree.isReadonlyAt(isFolder ? steps : steps.slice(0, -1))) throw new FsError("EROFS", path);
    const { onNode } = change(place);
    if (isFolder) onNode(this.#tree.ownOrThrow(steps, path));
    else if (place.node.type === "file") onNode(this.#fileToWrite(found, path, { isOpen: true }));
    else {
      const copy = { ...(place.node as SymlinkNode), owner: this.#tree };
      onNode(copy);
      this.#tree.ownOrThrow(steps.slice(0, -1), path).children.set(name, copy);
    }
  }

  #find(path: string, followLast = true): Place {
    const { steps, missing } = walk(this.#tree.root, this.#access, path, followLast);
    if (missing !== undefined) throw new FsError("ENOENT", path);
    return (steps.at(-1) as Step).place;
  }
}

function writeDevice(node: FileNode, path: string): void {
  if (node.device === "full") throw new FsError("ENOSPC", path);
}
