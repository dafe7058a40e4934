import type { RemoteImageService } from "../cri/remote/remote-image.js";
import type { GetDirFsInfo } from "../kubelet/cadvisor/fs-info.js";

/** ext4's default: an inode for each 16 KiB. */
const BYTES_PER_INODE = 16_384;

/**
 * The one disk of a simulated machine. Its capacity is what the node reports; what the runtime uses for images and containers
 * is not available.
 */
export function simulatedDisk(
  imageService: Pick<RemoteImageService, "imageFsInfo">,
  capacityBytes: number,
): GetDirFsInfo {
  return async (_path, signal) => {
    const result = await imageService.imageFsInfo(signal);
    if (result.outcome !== "ok") throw new Error(result.text);
    const { imageFilesystems, containerFilesystems } = result.value;
    const all = [...imageFilesystems, ...containerFilesystems];
    const usedBytes = all.reduce((sum, one) => sum + Number(one.usedBytes?.value ?? 0n), 0);
    const inodesUsed = all.reduce((sum, one) => sum + Number(one.inodesUsed?.value ?? 0n), 0);
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
