/**
 * The nodes of a container's root file system: a tree that the containers of one image share until they write to it.
 */

/** Files with special contents. */
export type Device = "null" | "zero" | "full" | "urandom" | "tty";

interface NodeBase {
  /** the owner can change the node in place; all others copy it first */
  readonly owner: object;
  /** permission bits */
  mode: number;
  /** Unix ms */
  mtimeMs: number;
  /** default: root */
  uid?: number;
  gid?: number;
  /** given when it is first shown; copies of the node keep it */
  inode?: number;
}

export interface FileNode extends NodeBase {
  readonly type: "file";
  /** its first `size` bytes are the content */
  bytes: Buffer;
  size: number;
  /** the program of ours that runs when the file is executed */
  readonly program?: string;
  readonly device?: Device;
}

export interface DirectoryNode extends NodeBase {
  readonly type: "directory";
  readonly children: Map<string, FsNode>;
  /** made by the kernel: no process can change it */
  readonly isVirtual?: true;
  /** no process of this container may look into it, not even root */
  readonly isSealed?: true;
}

export interface SymlinkNode extends NodeBase {
  readonly type: "symlink";
  readonly target: string;
}

/** A mount point of a folder or file of the machine. */
export interface MountNode extends NodeBase {
  readonly type: "mount";
  readonly mount: HostMount;
}

export type FsNode = FileNode | DirectoryNode | SymlinkNode | MountNode;

/** A folder or file of the machine that the kubelet mounts into a container. */
export interface HostMount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly isReadonly: boolean;
  /** of the node's root: folders that the kernel or the node's image has, in place of its own */
  trees?: ReadonlyMap<string, DirectoryNode>;
  /** the pod's fsGroup, for files of a kubelet that could not give them to it */
  readonly group?: number;
  /** the container's user, for files of a kubelet that could not give them to it and marked them with the setuid bit */
  readonly user?: number;
}

/** The root folder's, as of ext4. */
const FIRST_INODE = 2;
let lastInode = FIRST_INODE - 1;

export function inodeOf(node: FsNode): number {
  node.inode ??= ++lastInode;
  return node.inode;
}

/** An empty folder. @param mtimeMs Unix ms */
export function directory(owner: object, mtimeMs: number, mode = 0o755): DirectoryNode {
  return { type: "directory", owner, mode, mtimeMs, children: new Map() };
}

/** A file. @param mtimeMs Unix ms @param options.program the program that runs when the file is executed */
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

/** A symbolic link. @param mtimeMs Unix ms @param target as written, relative or absolute */
export function symlink(owner: object, mtimeMs: number, target: string): SymlinkNode {
  return { type: "symlink", owner, mode: 0o777, mtimeMs, target };
}

/** A copy of the node for another owner. The children of a folder stay shared. */
export function copyFor<N extends FileNode | DirectoryNode>(node: N, owner: object): N {
  return node.type === "directory"
    ? { ...node, owner, children: new Map(node.children) }
    : { ...node, owner, bytes: Buffer.from(node.bytes.subarray(0, node.size)) };
}
