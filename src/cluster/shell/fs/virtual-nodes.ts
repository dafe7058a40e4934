import { type DirectoryNode, type FsNode, file, symlink } from "./nodes.js";

/** The owner of nodes that no container can change. */
const KERNEL = {};
/** Of all of them: each lookup makes a new node. */
const INODE = 1;

/** The entries of a folder that are made when they are looked up. */
class LazyChildren extends Map<string, FsNode> {
  constructor(
    readonly names: () => Iterable<string>,
    readonly make: (name: string) => FsNode | undefined,
  ) {
    super();
  }

  override get(name: string): FsNode | undefined {
    return this.make(name);
  }

  override has(name: string): boolean {
    return this.make(name) !== undefined;
  }

  override *keys(): MapIterator<string> {
    yield* this.names();
  }
}

/** A read-only folder whose entries are made when they are looked up. @param nowMs its modification time */
export function virtualFolder(
  nowMs: number,
  names: () => Iterable<string>,
  make: (name: string) => FsNode | undefined,
): DirectoryNode {
  const children = new LazyChildren(names, make);
  return { type: "directory", owner: KERNEL, mode: 0o555, mtimeMs: nowMs, children, isVirtual: true, inode: INODE };
}

/** A read-only folder with fixed entries. */
export function fixedFolder(nowMs: number, entries: Readonly<Record<string, () => FsNode>>): DirectoryNode {
  const names = Object.keys(entries);
  return virtualFolder(
    nowMs,
    () => names,
    (name) => (Object.hasOwn(entries, name) ? entries[name]?.() : undefined),
  );
}

export function virtualFile(nowMs: number, text: string): FsNode {
  return { ...file(KERNEL, nowMs, Buffer.from(text), { mode: 0o444 }), inode: INODE };
}

export function virtualLink(nowMs: number, target: string): FsNode {
  return { ...symlink(KERNEL, nowMs, target), inode: INODE };
}
