import { FsError } from "./fs-error.js";
import type { HostPlace } from "./host-files.js";
import { copyFor, directory, type FileNode, file, type HostMount } from "./nodes.js";
import { WRITE } from "./permission.js";
import { type ContainerFsOptions, ReadableFs } from "./readable-fs.js";
import { isDirectory, placeIn, type Step, type Walk, walk } from "./walk.js";

export interface WriteOptions {
  readonly truncate?: boolean;
  /** default: append */
  readonly offset?: number;
  /** permission bits of a new file */
  readonly mode?: number;
  /** the file was opened before, so its permissions do not matter any more */
  readonly isOpen?: boolean;
}

/** A container's file system in which files and folders are made and written to: the layer above the image, and the mounts. */
export class WritableFs extends ReadableFs {
  constructor(
    readonly options: ContainerFsOptions,
    other?: ReadableFs,
  ) {
    super(options, other);
    if (other !== undefined) return;
    // Nested mounts come after their parents. A missing mount point is created, even under a read-only root.
    for (const mount of [...options.mounts].sort((a, b) => a.containerPath.length - b.containerPath.length)) {
      this.#mount(mount);
    }
    for (const path of options.maskedPaths ?? []) this.tree.mask(path, this.access, this.clock.now());
    this.tree.protect(options.readonlyPaths ?? []);
    this.tree.isReadonly = options.isReadonly;
  }

  /** Writes a file of the runtime into the tree: /etc/hosts and the like. */
  provide(path: string, content: string): void {
    const wasReadonly = this.tree.isReadonly;
    const hostPath = `/var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes${path.slice(path.lastIndexOf("/"))}`;
    this.provided.push({ containerPath: path, hostPath, isReadonly: wasReadonly });
    this.tree.isReadonly = false;
    try {
      this.mkdir(path.slice(0, path.lastIndexOf("/")) || "/", { recursive: true });
      this.write(path, Buffer.from(content), { truncate: true });
    } finally {
      this.tree.isReadonly = wasReadonly;
    }
  }

  #mount(mount: HostMount): void {
    const slash = mount.containerPath.lastIndexOf("/");
    if (slash === mount.containerPath.length - 1) throw new FsError("EINVAL", mount.containerPath);
    this.mkdir(mount.containerPath.slice(0, slash) || "/", { recursive: true });
    // Inside another mount the mount point exists on the machine. If not, the kubelet made a mistake that runc would
    // refuse.
    const node = { type: "mount", owner: this.tree, mode: 0o755, mtimeMs: this.clock.now(), mount } as const;
    this.tree.put(mount.containerPath, this.access, node);
  }

  write(path: string, bytes: Uint8Array, options: WriteOptions = {}): void {
    const found = walk(this.tree.root, this.access, path);
    const { steps, missing } = found;
    const last = (steps.at(-1) as Step).place;
    const mode = options.mode ?? 0o644;
    const hostPlace = missing === undefined ? last : placeIn(last, missing);
    if (hostPlace.kind === "host") {
      if (missing === undefined && isDirectory(last, this.host)) throw new FsError("EISDIR", path);
      if (options.isOpen !== true) this.#requireWrite(found, path);
      if (missing !== undefined) this.host.create(hostPlace, mode, this.access.ofNew(last, "file"));
      else if (options.truncate === true) this.host.truncate(hostPlace, mode);
      // Even for zero bytes: opening a file to append creates it, or fails.
      if (bytes.length > 0 || options.truncate !== true) this.host.write(hostPlace, bytes, options.offset, mode);
      return;
    }
    const node = this.fileToWrite(found, path, options);
    if (node.device !== undefined) {
      if (bytes.length > 0) writeDevice(node, path);
      return;
    }
    if (options.truncate === true) this.layer.resize(node, 0, path);
    this.layer.put(node, bytes, options.offset ?? node.size, path);
  }

  /** Writes to a file of the layer that was opened before and has no name any more. @param offset undefined: at its end */
  writeNode(node: FileNode, bytes: Uint8Array, offset: number | undefined, path: string): void {
    this.layer.put(node, bytes, offset ?? node.size, path);
  }

  /** A read-only file system comes first, as in the kernel's path_openat. @throws FsError EROFS, EACCES */
  #requireWrite({ steps, missing }: Walk, path: string): void {
    const { place } = steps.at(-1) as Step;
    if (place.kind === "host") this.host.requireWritable(place);
    if (missing === undefined) this.access.require(place, WRITE, path);
    else this.access.requireCreate(place, path);
  }

  protected fileToWrite(found: Walk, path: string, { mode = 0o644, isOpen = false }: WriteOptions): FileNode {
    const { steps, missing } = found;
    const folderSteps = missing === undefined ? steps.slice(0, -1) : steps;
    if (missing === undefined) {
      const { place } = steps.at(-1) as Step;
      if (place.kind !== "node" || place.node.type !== "file") throw new FsError("EISDIR", path);
      if (place.node.device === undefined && this.tree.isReadonlyAt(folderSteps)) throw new FsError("EROFS", path);
      if (!isOpen) this.#requireWrite(found, path);
      if (place.node.device !== undefined || place.node.owner === this.tree) return place.node;
    }
    const folder = this.tree.ownOrThrow(folderSteps, path);
    const name = missing ?? (steps.at(-1) as Step).name;
    const before = folder.children.get(name);
    if (before?.type !== "file") {
      if (!isOpen) this.#requireWrite(found, path);
      this.layer.addNode(path);
    }
    const node = before?.type === "file" ? copyFor(before, this.tree) : this.#newFile(found, mode);
    if (before?.type === "file") this.layer.charge(node.size, path);
    folder.children.set(name, node);
    return node;
  }

  #newFile({ steps }: Walk, mode: number): FileNode {
    const { uid, gid } = this.access.ofNew((steps.at(-1) as Step).place, "file");
    return Object.assign(file(this.tree, this.clock.now(), Buffer.alloc(0), { mode }), { uid, gid });
  }

  /** @param options.mode permission bits of the new folders */
  mkdir(path: string, options: { readonly recursive?: boolean; readonly mode?: number } = {}): void {
    const { recursive = false, mode = 0o755 } = options;
    if (recursive) {
      this.#mkdirs(path, mode);
      return;
    }
    const { steps, missing } = walk(this.tree.root, this.access, path);
    if (missing === undefined) throw new FsError("EEXIST", path);
    const { place } = steps.at(-1) as Step;
    const { uid, gid, bits } = this.access.ofNew(place, "directory");
    if (place.kind === "host") {
      this.requireCreate(place, path);
      this.host.mkdir(placeIn(place, missing) as HostPlace, mode | bits, { uid, gid });
      return;
    }
    const folder = this.tree.ownOrThrow(steps, path);
    this.access.requireCreate(place, path);
    this.layer.addNode(path);
    folder.children.set(missing, Object.assign(directory(this.tree, this.clock.now(), mode | bits), { uid, gid }));
  }

  protected requireCreate(folder: HostPlace, path: string): void {
    this.host.requireWritable(folder);
    this.access.requireCreate(folder, path);
  }

  #mkdirs(path: string, mode: number): void {
    const names = path.split("/").filter((name) => name !== "");
    for (let count = 1; count <= names.length; count++) {
      const part = `/${names.slice(0, count).join("/")}`;
      if (!this.exists(part)) this.mkdir(part, { mode });
      else if (this.stat(part).type !== "directory") throw new FsError("ENOTDIR", path);
    }
  }
}

function writeDevice(node: FileNode, path: string): void {
  if (node.device === "full") throw new FsError("ENOSPC", path);
}
