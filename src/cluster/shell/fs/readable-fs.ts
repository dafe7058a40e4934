import type { Clock } from "../../../util/clock.js";
import { bytesIn } from "../../../util/os/memory-folder.js";
import { Access } from "./access.js";
import { DiskUse } from "./disk-use.js";
import { FsError } from "./fs-error.js";
import { type FileSystemSpace, HostFiles, type NodeDisk, spaceAt } from "./host-files.js";
import { HostOwners } from "./host-owners.js";
import { Layer, SHM_BYTES } from "./layer.js";
import type { mountsText } from "./mount-table.js";
import type { DirectoryNode, FileNode, HostMount } from "./nodes.js";
import { Overlay } from "./overlay.js";
import { type Credentials, READ } from "./permission.js";
import { type FileStat, sizeOnHost, statOf } from "./stat.js";
import { isDirectory, isSealed, type Place, pathOf, type Step, tryWalk, walk } from "./walk.js";

export interface ContainerFsOptions {
  /** the image's tree, shared with other containers and never changed */
  readonly image: DirectoryNode;
  readonly mounts: readonly HostMount[];
  readonly clock: Clock;
  readonly isReadonly: boolean;
  /** the node's; default: one that can be written to */
  readonly disk?: NodeDisk;
  /** hidden: a folder is empty, and a file too */
  readonly maskedPaths?: readonly string[];
  /** nothing below them can be changed */
  readonly readonlyPaths?: readonly string[];
  /** shared by the containers of a runtime; default: its own */
  readonly owners?: HostOwners;
  /** the size of each tmpfs that the kubelet mounts; default: the machine's space */
  readonly tmpfsBytes?: number;
}

/** Mirrors wrappedVolumeSpec of pkg/volume/{secret,projected,downwardapi}: the medium is Memory. A token's volume is projected. */
const MEMORY_BACKED = /\/volumes\/kubernetes\.io~(secret|projected|downward-api)\//;

/** Of file systems that do not count them. */
const NO_INODES = { totalInodes: 0, freeInodes: 0 };

/** The reading half of a container's file system: looking up paths, and the content and attributes of what is there. */
export class ReadableFs {
  readonly host: HostFiles;
  readonly clock: Clock;
  protected readonly layer: Layer;
  protected readonly tree: Overlay;
  protected readonly mounts: readonly HostMount[];
  readonly #tmpfsBytes: number | undefined;
  /** files of the runtime, which mounts them */
  protected readonly provided: HostMount[];
  protected access: Access;

  /** @param other shares its files */
  constructor(options: ContainerFsOptions, other?: ReadableFs) {
    this.clock = options.clock;
    const newHost = () =>
      new HostFiles(new DiskUse(options.mounts, options.clock), options.owners ?? new HostOwners(), options.disk);
    this.host = other?.host ?? newHost();
    this.access = new Access(this.host, undefined);
    this.layer = other?.layer ?? new Layer(options.clock);
    this.tree = other?.tree ?? new Overlay(options.image, options.disk);
    this.mounts = options.mounts;
    this.#tmpfsBytes = options.tmpfsBytes;
    this.provided = other?.provided ?? [];
  }

  /** From now on all calls are those of this user. Before, they are the runtime's. */
  become(who: Credentials): void {
    this.access = new Access(this.host, who, this.access.root);
  }

  /** the tree as it is now, for the processes of other containers: /proc/PID/root */
  get root(): DirectoryNode {
    return this.tree.root;
  }

  /** Puts a tree of the kernel into the root folder, unless something is mounted there. */
  attach(name: string, tree: DirectoryNode): void {
    if (this.tree.root.children.get(name)?.type !== "mount") this.tree.put(`/${name}`, this.access, tree);
  }

  /** The node's root folder and those of its folders that the kernel or its image has, where they are mounted. */
  attachNode(root: string, trees: ReadonlyMap<string, DirectoryNode>): void {
    for (const mount of this.mounts) {
      if (mount.hostPath === root) mount.trees = trees;
      const tree = mount.hostPath.startsWith(`${root}/`) ? trees.get(mount.hostPath.slice(root.length + 1)) : undefined;
      if (tree !== undefined) this.tree.put(mount.containerPath, this.access, tree);
    }
  }

  /** The content of /proc/PID/mounts or /proc/PID/mountinfo. */
  mountTable(format: typeof mountsText): string {
    return format(this.tree.isReadonly, [...this.provided, ...this.mounts], ({ containerPath }) =>
      this.isTmpfs(containerPath) ? this.space(containerPath).totalBytes : undefined,
    );
  }

  /** bytes written to the layer */
  get usedBytes(): number {
    return this.layer.usedBytes;
  }

  /** files, folders and links of the layer */
  get usedInodes(): number {
    return this.layer.nodeCount;
  }

  exists(path: string): boolean {
    const found = tryWalk(this.tree.root, this.access, path);
    return typeof found !== "string" && found.missing === undefined;
  }

  /** Whether the user has all `wanted` rights for a file, such as `READ | WRITE`. */
  allows(stat: FileStat, wanted: number): boolean {
    return this.access.allows(stat, wanted);
  }

  stat(path: string): FileStat {
    return statOf(this.find(path), this.host);
  }

  lstat(path: string): FileStat {
    return statOf(this.find(path, false), this.host);
  }

  realpath(path: string): string {
    const { steps, missing } = walk(this.tree.root, this.access, path);
    if (missing !== undefined) throw new FsError("ENOENT", path);
    return pathOf(steps);
  }

  readlink(path: string): string {
    const place = this.find(path, false);
    if (place.kind === "host") return this.host.readlink(place);
    if (isSealed(place)) throw new FsError("EACCES", path);
    if (place.node.type !== "symlink") throw new FsError("EINVAL", path);
    return place.node.target;
  }

  /** Names, sorted. */
  readdir(path: string): string[] {
    const place = this.find(path);
    if (!isDirectory(place, this.host)) throw new FsError("ENOTDIR", path);
    if (isSealed(place)) throw new FsError("EACCES", path);
    this.access.require(place, READ, path);
    const names = place.kind === "host" ? this.host.readdir(place) : [...(place.node as DirectoryNode).children.keys()];
    return names.sort();
  }

  /** The node at a path, to execute it; undefined for files in mounts. */
  node(path: string): FileNode | undefined {
    const place = this.find(path);
    return place.kind === "node" && place.node.type === "file" ? place.node : undefined;
  }

  readFile(path: string): Buffer {
    const place = this.find(path);
    this.access.require(place, READ, path);
    if (place.kind === "host") return this.host.read(place, 0, sizeOnHost(place, this.host, path));
    if (isSealed(place)) throw new FsError("EACCES", path);
    if (place.node.type === "directory") throw new FsError("EISDIR", path);
    const node = place.node as FileNode;
    return Buffer.from(node.bytes.subarray(0, node.size));
  }

  /** Up to `length` bytes from `offset`; empty at the end. @param isOpen see WriteOptions */
  read(path: string, offset: number, length: number, isOpen = false): Buffer {
    const place = this.find(path);
    if (!isOpen) this.access.require(place, READ, path);
    if (place.kind === "host") return this.host.read(place, offset, length);
    if (isSealed(place)) throw new FsError("EACCES", path);
    if (place.node.type === "directory") throw new FsError("EISDIR", path);
    const node = place.node as FileNode;
    return Buffer.from(node.bytes.subarray(offset, Math.min(offset + length, node.size)));
  }

  /** Whether the file is on a tmpfs: of the machine, for an `emptyDir` of medium Memory, or what the kubelet keeps in memory. */
  isTmpfs(path: string): boolean {
    const place = this.find(path);
    return place.kind === "host" && (MEMORY_BACKED.test(place.mount.hostPath) || this.host.isTmpfs(place));
  }

  /** The space of a mount; the container's own layer is on the machine's disk. Nothing for what the kernel provides. */
  space(path: string): FileSystemSpace {
    const place = this.find(path);
    if (place.kind === "host") {
      const totalBytes = MEMORY_BACKED.test(place.mount.hostPath) ? this.#tmpfsBytes : undefined;
      if (totalBytes === undefined) return this.host.space(place);
      return { totalBytes, freeBytes: Math.max(0, totalBytes - bytesIn(place.mount.hostPath)), ...NO_INODES };
    }
    if (path === "/dev" || path === "/dev/shm") {
      return {
        totalBytes: SHM_BYTES,
        freeBytes: SHM_BYTES - (path === "/dev" ? 0 : this.layer.shmBytes),
        ...NO_INODES,
      };
    }
    const isOnDisk = path === "/" || this.provided.some(({ containerPath }) => containerPath === path);
    return isOnDisk ? spaceAt("/") : { totalBytes: 0, freeBytes: 0, ...NO_INODES };
  }

  protected find(path: string, followLast = true): Place {
    const { steps, missing } = walk(this.tree.root, this.access, path, followLast);
    if (missing !== undefined) throw new FsError("ENOENT", path);
    return (steps.at(-1) as Step).place;
  }
}
