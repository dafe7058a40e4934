import { stat, statfs } from "node:fs/promises";

/** A file system, as the machine measures it. Mirrors FsInfo of cAdvisor's v2 API. */
export interface FsInfo {
  /** two paths are on one file system if their devices are equal */
  readonly device: string;
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

/** Measures the file system that holds a path. Mirrors GetDirFsInfo in pkg/kubelet/cadvisor/types.go. @throws the system's error */
export type GetDirFsInfo = (path: string, signal: AbortSignal) => Promise<FsInfo>;

/** Measures a file system of this machine. */
export const getDirFsInfo: GetDirFsInfo = async (path) => {
  const [{ dev }, { bsize, blocks, bavail, files, ffree }] = await Promise.all([stat(path), statfs(path)]);
  return {
    device: String(dev),
    capacityBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    inodes: files,
    inodesFree: ffree,
  };
};
