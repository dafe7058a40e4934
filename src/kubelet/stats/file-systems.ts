import type { RemoteImageService } from "../../staging/cri/remote/remote-image.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import type { ContainerStats, FsStats, PodStats } from "../apis/stats/v1alpha1.js";
import { toMs } from "../kuberuntime/convert.js";
import { RuntimeCallError } from "../kuberuntime/kube-runtime.js";
import type { FsInfo, GetDirFsInfo } from "./fs-info.js";

export interface FileSystemsDeps {
  readonly imageService: Pick<RemoteImageService, "imageFsInfo">;
  readonly getDirFsInfo: GetDirFsInfo;
  readonly clock: Clock;
}

/**
 * The node's file systems: nodefs holds the kubelet's folder, imagefs the runtime's images. The runtime reports its
 * usage, the machine the size of a file system.
 */
export class FileSystems {
  /** @param rootDir the kubelet's folder */
  constructor(
    readonly deps: FileSystemsDeps,
    readonly rootDir: string,
  ) {}

  /** Mirrors RootFsStats in pkg/kubelet/stats/provider.go. @throws the machine's error */
  async rootFsStats(signal: AbortSignal): Promise<FsStats> {
    const { clock, getDirFsInfo } = this.deps;
    const info = await getDirFsInfo(this.rootDir, signal);
    const { capacityBytes, availableBytes, inodes, inodesFree } = info;
    return {
      timeMs: clock.now(),
      usedBytes: capacityBytes - availableBytes,
      inodesUsed: inodes - inodesFree,
      ...sizes(info),
    };
  }

  /**
   * Only the runtime's part if this machine does not have the runtime's folder.
   * Mirrors ImageFsStats and getFsInfo in pkg/kubelet/stats/cri_stats_provider.go.
   * @throws RuntimeCallError; Error when the runtime reports no file system
   */
  async imageFsStats(signal: AbortSignal): Promise<FsStats> {
    const { timestamp, usedBytes, inodesUsed, fsId } = await this.#imageFs(signal);
    const used = { usedBytes: Number(usedBytes?.value ?? 0n), inodesUsed: inodesUsed && Number(inodesUsed.value) };
    const info = await this.#measured(fsId?.mountpoint, signal);
    // Some runtimes set no time.
    const timeMs = timestamp === 0n ? this.deps.clock.now() : toMs(timestamp);
    return { timeMs, ...defined(used), ...(info === undefined ? {} : sizes(info)) };
  }

  /**
   * Mirrors HasDedicatedImageFs in pkg/kubelet/stats/provider.go and ImageFsDevice in cri_stats_provider.go.
   * @throws as `rootFsStats` and `imageFsStats`; Error when the machine does not have the runtime's folder
   */
  async hasDedicatedImageFs(signal: AbortSignal): Promise<boolean> {
    const { fsId } = await this.#imageFs(signal);
    const imageFs = await this.#measured(fsId?.mountpoint, signal);
    if (imageFs === undefined) throw new Error("imagefs device is not found");
    return imageFs.device !== (await this.deps.getDirFsInfo(this.rootDir, signal)).device;
  }

  async #imageFs(signal: AbortSignal) {
    const result = await this.deps.imageService.imageFsInfo(signal);
    if (result.outcome !== "ok") throw new RuntimeCallError(result);
    const [first] = result.value.imageFilesystems;
    if (first === undefined) throw new Error("imageFs information is unavailable");
    return first;
  }

  async #measured(mountpoint: string | undefined, signal: AbortSignal): Promise<FsInfo | undefined> {
    if (mountpoint === undefined) return undefined;
    try {
      return await this.deps.getDirFsInfo(mountpoint, signal);
    } catch {
      // The runtime may run on another machine; image collection reports that it knows no capacity.
      signal.throwIfAborted();
      return undefined;
    }
  }
}

function sizes({ device: _, ...rest }: FsInfo): Omit<FsInfo, "device"> {
  return rest;
}

/**
 * Adds the size of a file system to the usage of a part of it. @param fs undefined: not measured
 * Mirrors rootFsInfoToSummary and calcEphemeralStorage in pkg/kubelet/stats/cri_stats_provider.go and helper.go.
 */
export function onFileSystem<T extends FsStats>(part: T, fs: FsStats | undefined): T {
  const { availableBytes, capacityBytes, inodes, inodesFree } = fs ?? {};
  return { ...part, ...defined({ availableBytes, capacityBytes, inodesFree, inodes }) };
}

/** The same pods, whose writable layers have the size of the images' file system. */
export function onImageFs(pods: readonly PodStats[], imageFs: FsStats): PodStats[] {
  const withLayer = (one: ContainerStats) =>
    one.rootfs === undefined ? one : { ...one, rootfs: onFileSystem(one.rootfs, imageFs) };
  return pods.map((pod) => ({ ...pod, containers: pod.containers.map(withLayer) }));
}
