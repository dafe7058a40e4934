import { containersOf } from "../../../apimachinery/api/pod.js";
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
  scoreAmong({ pod }, feasible, all) {
    const images = containersOf(pod).map(({ image }) => normalizedImageName(image ?? ""));
    const sizes = new Map(feasible.map((node) => [node.name, sizesOn(node)]));
    const onNodes = countNodes(images, all);
    if (onNodes.size === 0) return undefined;
    return {
      score(_pod, { name }) {
        const own = sizes.get(name);
        let sum = 0;
        for (const image of images) {
          const spread = (onNodes.get(image) ?? 0) / all.length;
          sum += Math.trunc((own?.get(image) ?? 0) * spread);
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

function sizesOn({ node }: NodeInfo): ReadonlyMap<string, number> {
  const images = node?.status?.images ?? [];
  return new Map(
    images.flatMap(({ names, sizeBytes }) => (names ?? []).map((name) => [name, sizeBytes ?? 0] as const)),
  );
}

/** image -> the number of nodes that have it */
function countNodes(images: readonly string[], all: readonly NodeInfo[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const node of all) {
    const own = sizesOn(node);
    for (const image of new Set(images)) if (own.has(image)) counts.set(image, (counts.get(image) ?? 0) + 1);
  }
  return counts;
}

/** Adds `:latest` to a name without a tag. */
function normalizedImageName(name: string): string {
  return name.lastIndexOf(":") <= name.lastIndexOf("/") ? `${name}:latest` : name;
}
