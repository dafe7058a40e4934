import { type DiskUsage, diskUsage, sumDiskUsage } from "../../kubelet/stats/disk-usage.js";
import type { GetDirFsInfo } from "../../kubelet/stats/fs-info.js";
import { podLogsDir, podsDir } from "../../kubelet/volumes/paths.js";
import type { RemoteImageService } from "../../staging/cri/remote/remote-image.js";
import type { Clock } from "../../util/clock.js";

/** ext4's default: an inode for each 16 KiB. */
const BYTES_PER_INODE = 16_384;

/** How long a measurement of pods' files is kept: shorter than the eviction manager's interval, so that it never acts on old figures. */
const FILES_PERIOD_MS = 9_000;

export interface SimulatedDiskOptions {
  readonly capacityBytes: number;
  /** the kubelet's folder, with volumes and logs of pods */
  readonly rootDir: string;
}

/**
 * The one disk of a simulated machine. Its capacity is the node's. Images and containers of the runtime, and volumes
 * and logs of pods, take space.
 */
export function simulatedDisk(
  { imageService, clock }: { readonly imageService: Pick<RemoteImageService, "imageFsInfo">; readonly clock: Clock },
  { capacityBytes, rootDir }: SimulatedDiskOptions,
): GetDirFsInfo {
  let files: { readonly atMs: number; readonly usages: readonly DiskUsage[] } | undefined;
  const filesOfPods = async (signal: AbortSignal) => {
    const atMs = clock.now();
    if (files === undefined || atMs - files.atMs >= FILES_PERIOD_MS) {
      const folders = [podsDir(rootDir), podLogsDir(rootDir)];
      files = { atMs, usages: await Promise.all(folders.map((folder) => diskUsage(folder, signal))) };
    }
    return files.usages;
  };
  return async (_path, signal) => {
    const result = await imageService.imageFsInfo(signal);
    if (result.outcome !== "ok") throw new Error(result.text);
    const { imageFilesystems, containerFilesystems } = result.value;
    const all = [...imageFilesystems, ...containerFilesystems];
    const usages = [
      ...(await filesOfPods(signal)),
      ...all.map((one) => ({
        usedBytes: Number(one.usedBytes?.value ?? 0n),
        inodesUsed: Number(one.inodesUsed?.value ?? 0n),
      })),
    ];
    const { usedBytes, inodesUsed } = sumDiskUsage(usages);
    const inodes = Math.floor(capacityBytes / BYTES_PER_INODE);
    return {
      device: "simulated",
      capacityBytes,
      availableBytes: Math.max(0, capacityBytes - usedBytes),
      inodes,
      inodesFree: Math.max(0, inodes - inodesUsed),
    };
  };
}
