import type { ImageFsInfoResponse } from "../../cri/messages/image.js";
import { defined } from "../../util/defined.js";
import type { FsInfo, GetDirFsInfo } from "../cadvisor/fs-info.js";
import { toMs } from "../kuberuntime/convert.js";

export interface ImageFsStatsDeps {
  readonly runtime: { imageFsInfo(signal: AbortSignal): Promise<ImageFsInfoResponse> };
  readonly getDirFsInfo: GetDirFsInfo;
}

/** The runtime reports what it uses, the machine how large the file system is: unknown if it has no such folder. */
export interface ImageFsStats extends Partial<FsInfo> {
  readonly timeMs: number;
  readonly usedBytes: number;
  readonly inodesUsed?: number;
}

/**
 * The file system that holds the runtime's images.
 *
 * Mirrors pkg/kubelet/stats/cri_stats_provider.go (ImageFsStats, getFsInfo).
 * @throws RuntimeCallError; Error when the runtime reports no file system
 */
export async function imageFsStats(deps: ImageFsStatsDeps, signal: AbortSignal): Promise<ImageFsStats> {
  const { imageFilesystems } = await deps.runtime.imageFsInfo(signal);
  const [first] = imageFilesystems;
  if (first === undefined) throw new Error("imageFs information is unavailable");
  const { timestamp, usedBytes, inodesUsed, fsId } = first;
  const used = { usedBytes: Number(usedBytes?.value ?? 0n), inodesUsed: inodesUsed && Number(inodesUsed.value) };
  return { timeMs: toMs(timestamp), ...defined(used), ...(await measured(deps, fsId?.mountpoint, signal)) };
}

async function measured(
  { getDirFsInfo }: ImageFsStatsDeps,
  mountpoint: string | undefined,
  signal: AbortSignal,
): Promise<Partial<FsInfo>> {
  if (mountpoint === undefined) return {};
  try {
    return await getDirFsInfo(mountpoint, signal);
  } catch {
    // The runtime may run on another machine; image collection reports that it knows no capacity.
    signal.throwIfAborted();
    return {};
  }
}
