import { Access } from "./access.js";
import { FsError } from "./fs-error.js";
import type { HostPlace } from "./host-files.js";
import type { FileOwner } from "./host-owners.js";
import { type DirectoryNode, type FileNode, type SymlinkNode, symlink } from "./nodes.js";
import type { Credentials } from "./permission.js";
import { isDirectory, type Place, pathOf, placeIn, type Step, type Walk, walk } from "./walk.js";
import { WritableFs } from "./writable-fs.js";

/**
 * A container's file system: the image's tree, copied on write, and the mounts. Paths are absolute paths of the
 * container. All calls are synchronous, because they touch only memory or small files of the kubelet. Calls of the
 * container's user are checked as by the kernel: see `Credentials`.
 */
export class ContainerFs extends WritableFs {
  /** The same files for the processes of another user. */
  as(who: Credentials): ContainerFs {
    const fs = new ContainerFs(this.options, this);
    fs.become(who);
    return fs;
  }

  /** The same files below another root folder, for the same user; undefined if the folder is not in a mount. @throws FsError */
  inRoot(path: string): ContainerFs | undefined {
    const place = this.find(path);
    if (place.kind !== "host") return undefined;
    const fs = new ContainerFs(this.options, this);
    fs.access = new Access(this.host, this.access.who, place);
    return fs;
  }

  /** Files in memory count as the container's. @param charge called when they grow or shrink; throws to refuse it */
  chargeMemory(charge: (bytes: number) => void): void {
    this.layer.onMemory = charge;
    this.host.use.onMemory = charge;
  }

  /** Removes a name. A folder must be empty. */
  remove(path: string): void {
    const { steps, missing } = walk(this.tree.root, this.access, path, false);
    if (missing !== undefined) throw new FsError("ENOENT", path);
    const { place, name } = steps.at(-1) as Step;
    if (steps.length === 1 || (place.kind === "host" && place.rel === "")) throw new FsError("EBUSY", path);
    const isFolder = isDirectory(place, this.host);
    const folder = (steps.at(-2) as Step).place;
    if (place.kind === "host") {
      this.host.requireWritable(place);
      this.access.requireDelete(folder, place, path);
      if (isFolder && this.host.readdir(place).length > 0) throw new FsError("ENOTEMPTY", path);
      isFolder ? this.host.rmdir(place) : this.host.unlink(place);
      return;
    }
    const owned = this.tree.ownOrThrow(steps.slice(0, -1), path);
    this.access.requireDelete(folder, place, path);
    if (place.node.type === "directory" && place.node.children.size > 0) throw new FsError("ENOTEMPTY", path);
    owned.children.delete(name);
    if (place.node.owner === this.tree) this.layer.nodeCount--;
    if (place.node.type === "file" && place.node.owner === this.tree) this.layer.charge(-place.node.size, path);
  }

  symlink(target: string, path: string): void {
    const { steps, missing } = walk(this.tree.root, this.access, path, false);
    if (missing === undefined) throw new FsError("EEXIST", path);
    const { place } = steps.at(-1) as Step;
    const { uid, gid } = this.access.ofNew(place, "symlink");
    if (place.kind === "host") {
      this.requireCreate(place, path);
      this.host.symlink(placeIn(place, missing) as HostPlace, target, { uid, gid });
      return;
    }
    const folder = this.tree.ownOrThrow(steps, path);
    this.access.requireCreate(place, path);
    this.layer.addNode(path);
    folder.children.set(missing, Object.assign(symlink(this.tree, this.clock.now(), target), { uid, gid }));
  }

  /** Creates a hard link in the same file system. */
  link(existing: string, path: string): void {
    const { steps, missing } = walk(this.tree.root, this.access, path, false);
    if (missing === undefined) throw new FsError("EEXIST", path);
    const from = this.find(existing);
    const { place } = steps.at(-1) as Step;
    this.access.requireLink(from, path);
    if (from.kind === "host" && place.kind === "host" && from.mount === place.mount) {
      this.requireCreate(place, path);
      this.host.link(from, placeIn(place, missing) as HostPlace);
      return;
    }
    if (from.kind === "host" || place.kind === "host") throw new FsError("EXDEV", path);
    if (from.node.type === "directory") throw new FsError("EACCES", existing);
    const folder = this.tree.ownOrThrow(steps, path);
    this.access.requireCreate(place, path);
    folder.children.set(missing, from.node);
  }

  rename(from: string, to: string): void {
    const source = walk(this.tree.root, this.access, from, false);
    if (source.missing !== undefined) throw new FsError("ENOENT", from);
    const { place, name } = source.steps.at(-1) as Step;
    const target = walk(this.tree.root, this.access, to, false);
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
    const before = this.tree.ownOrThrow(source.steps.slice(0, -1), from);
    this.#requireRename(source, target, from, to);
    before.children.delete(name);
    const owned = this.tree.own(walk(this.tree.root, this.access, pathOf(folder)).steps);
    owned?.children.set(newName, place.node);
  }

  #requireRename(source: Walk, target: Walk, from: string, to: string): void {
    const [parent, old] = source.steps.slice(-2) as [Step, Step];
    this.access.requireDelete(parent.place, old.place, from);
    const last = (target.steps.at(-1) as Step).place;
    if (target.missing !== undefined) this.access.requireCreate(last, to);
    else this.access.requireDelete((target.steps.at(-2) as Step).place, last, to);
  }

  chmod(path: string, mode: number): void {
    this.#change(path, true, (place) => {
      const after = this.access.modeAfter(place, mode, path);
      return { onHost: (one) => this.host.chmod(one, after), onNode: (node) => Object.assign(node, { mode: after }) };
    });
  }

  /** @param followLast false: changes a symbolic link itself */
  chown(path: string, owner: Partial<FileOwner>, followLast = true): void {
    this.#change(path, followLast, (place) => {
      const { mode, ...after } = this.access.ownerAfter(place, owner, path);
      return {
        onHost: (one) => this.host.give(one, after),
        onNode: (node) => Object.assign(node, after, node.type === "symlink" ? {} : { mode }),
      };
    });
  }

  utimes(path: string, mtimeMs: number): void {
    this.#change(path, true, (place) => {
      this.access.requireTouch(place, path);
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
    const found = walk(this.tree.root, this.access, path, followLast);
    const { steps, missing } = found;
    if (missing !== undefined) throw new FsError("ENOENT", path);
    const { place, name } = steps.at(-1) as Step;
    if (place.kind === "host") {
      this.host.requireWritable(place);
      change(place).onHost(place);
      return;
    }
    const isFolder = place.node.type === "directory";
    if (this.tree.isReadonlyAt(isFolder ? steps : steps.slice(0, -1))) throw new FsError("EROFS", path);
    const { onNode } = change(place);
    if (isFolder) onNode(this.tree.ownOrThrow(steps, path));
    else if (place.node.type === "file") onNode(this.fileToWrite(found, path, { isOpen: true }));
    else {
      const copy = { ...(place.node as SymlinkNode), owner: this.tree };
      onNode(copy);
      this.tree.ownOrThrow(steps.slice(0, -1), path).children.set(name, copy);
    }
  }
}
