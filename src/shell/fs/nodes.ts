/** What a container's root file system is made of: a tree that containers of one image share until they write to it. */

/** Files that are not read and written as bytes. */
export type Device = "null" | "zero" | "full" | "urandom" | "tty";

interface NodeBase {
  /** whoever may change the node in place; all others copy it first */
  readonly owner: object;
  /** permission bits */
  mode: number;
  /** Unix ms */
  mtimeMs: number;
}

export interface FileNode extends NodeBase {
  readonly type: "file";
  /** its first `size` bytes are the content */
  bytes: Buffer;
  size: number;
  /** the program of ours that executing it runs */
  readonly program?: string;
  readonly device?: Device;
}

export interface DirectoryNode extends NodeBase {
  readonly type: "directory";
  readonly children: Map<string, FsNode>;
}

export interface SymlinkNode extends NodeBase {
  readonly type: "symlink";
  readonly target: string;
}

/** Where a folder or file of the machine is mounted. */
export interface MountNode extends NodeBase {
  readonly type: "mount";
  readonly mount: HostMount;
}

export type FsNode = FileNode | DirectoryNode | SymlinkNode | MountNode;

/** A folder or file of the machine that the kubelet has given to a container. */
export interface HostMount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly isReadonly: boolean;
}

/** An empty folder of this owner. @param mtimeMs Unix ms */
export function directory(owner: object, mtimeMs: number, mode = 0o755): DirectoryNode {
  return { type: "directory", owner, mode, mtimeMs, children: new Map() };
}

/** A file of this owner. @param mtimeMs Unix ms @param options.program what runs when it is executed */
export function file(
  owner: object,
  mtimeMs: number,
  content: Buffer,
  options: { readonly mode?: number; readonly program?: string; readonly device?: Device } = {},
): FileNode {
  const { mode = 0o644, program, device } = options;
  return {
    type: "file",
    owner,
    mode,
    mtimeMs,
    bytes: content,
    size: content.length,
    ...(program === undefined ? {} : { program }),
    ...(device === undefined ? {} : { device }),
  };
}

/** A symbolic link of this owner. @param mtimeMs Unix ms @param target as it was written, relative or absolute */
export function symlink(owner: object, mtimeMs: number, target: string): SymlinkNode {
  return { type: "symlink", owner, mode: 0o777, mtimeMs, target };
}

/** The same node, to be changed by another owner. A folder's children stay shared. */
export function copyFor<N extends FileNode | DirectoryNode>(node: N, owner: object): N {
  return node.type === "directory"
    ? { ...node, owner, children: new Map(node.children) }
    : { ...node, owner, bytes: Buffer.from(node.bytes.subarray(0, node.size)) };
}
