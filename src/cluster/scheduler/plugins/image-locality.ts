import { containersOf } from "../../../staging/apimachinery/api/pod.js";
import { type ClusterScorePlugin, MAX_NODE_SCORE } from "../framework.js";
import type { NodeInfo } from "../node-info.js";

const MB = 1024 * 1024;
/** Bytes: images below this do not count. */
const MIN_THRESHOLD = 23 * MB;
const MAX_CONTAINER_THRESHOLD = 1000 * MB;

/**
 * Prefers nodes that have the pod's images already. An image counts less if few nodes have it, so that not all pods go
 * to one node.
 * Mirrors pkg/scheduler/framework/plugins/imagelocality/image_locality.go (Score, calculatePriority, sumImageScores).
 */
export const IMAGE_LOCALITY: ClusterScorePlugin = {
  name: "ImageLocality",
  weight: 1,
  scoreAmong({ pod }, _feasible, all) {
    const images = containersOf(pod).map(({ image }) => normalizedImageName(image ?? ""));
    const onNodes = countNodes(images, all);
    if (onNodes.size === 0) return undefined;
    return {
      score(_pod, { imageSizes }) {
        let sum = 0;
        for (const image of images) {
          const spread = (onNodes.get(image) ?? 0) / all.length;
          sum += Math.trunc((imageSizes.get(image) ?? 0) * spread);
        }
        return priorityOf(sum, images.length);
      },
    };
  },
};

function priorityOf(sum: number, containers: number): number {
  const most = MAX_CONTAINER_THRESHOLD * containers;
  const within = Math.min(Math.max(sum, MIN_THRESHOLD), most);
  return Math.floor((MAX_NODE_SCORE * (within - MIN_THRESHOLD)) / (most - MIN_THRESHOLD));
}

/** image -> the number of nodes that have it */
function countNodes(images: readonly string[], all: readonly NodeInfo[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const image of images) {
    const having = all.filter(({ imageSizes }) => imageSizes.has(image)).length;
    if (having > 0) counts.set(image, having);
  }
  return counts;
}

/** Adds `:latest` to a name without a tag. */
function normalizedImageName(name: string): string {
  return name.lastIndexOf(":") <= name.lastIndexOf("/") ? `${name}:latest` : name;
}
