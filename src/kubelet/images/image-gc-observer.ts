import { rfc3339 } from "../../staging/apimachinery/time.js";
import { messageOf } from "../../util/errors.js";
import { KubeletObserver } from "../types/observer.js";
import type { ImageGcPolicy, ImageRecord } from "./image-gc-policy.js";

/** Words the facts about unused images. */
export class ImageGcObserver extends KubeletObserver {
  protected readonly file = "pkg/kubelet/images/image_gc_manager.go";

  notDetected(error: unknown): void {
    this.error(`Failed to monitor images: ${messageOf(error)}`, { hint: "It is tried again.", level: 2 });
  }

  frees(bytes: number, usagePercent: number, { highThresholdPercent, lowThresholdPercent }: ImageGcPolicy): void {
    const why = `disk usage on image filesystem is at ${usagePercent} %, which is over the high threshold`;
    const constants = [
      { name: "imageGCHighThresholdPercent", value: `${highThresholdPercent} %` },
      { name: "imageGCLowThresholdPercent", value: `${lowThresholdPercent} %` },
    ];
    this.decision(`free ${bytes} bytes of images`, why, "GarbageCollect", { constants });
  }

  keeps({ imageId }: ImageRecord, why: string): void {
    this.decision(`keep the unused image ${imageId}`, why, "freeSpace", { level: 3 });
  }

  removes({ imageId, sizeBytes, lastUsedMs }: ImageRecord, freed: number): void {
    const used = lastUsedMs === 0 ? "this kubelet has not seen one" : `last used ${rfc3339(lastUsedMs)}`;
    const why = `no container uses it; ${used}; ${freed} bytes are free so far`;
    this.decision(`remove image ${imageId} to free ${sizeBytes} bytes`, why, "freeSpace");
  }
}
