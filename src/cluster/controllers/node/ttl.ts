import type { NodeObject } from "../../../staging/apimachinery/api/node.js";
import { nameOf } from "../../../staging/apimachinery/api/objects.js";
import { concurrently } from "../../../staging/apimachinery/wait.js";
import { forEachChange } from "../../../staging/client-go/informers/for-each-change.js";
import { WorkQueue } from "../../../staging/client-go/workqueue.js";
import type { Controller } from "../controller.js";
import { retryReporter, type SharedDeps } from "../support/shared-deps.js";

const NAME = "ttl";
const TTL_ANNOTATION = "node.alpha.kubernetes.io/ttl";

/** Sizes overlap, so that a cluster at a boundary does not flap. Mirrors ttlBoundaries. */
const BOUNDARIES = [
  { sizeMin: 0, sizeMax: 100, ttlSeconds: 0 },
  { sizeMin: 90, sizeMax: 500, ttlSeconds: 15 },
  { sizeMin: 450, sizeMax: 1000, ttlSeconds: 30 },
  { sizeMin: 900, sizeMax: 2000, ttlSeconds: 60 },
  { sizeMin: 1800, sizeMax: Number.POSITIVE_INFINITY, ttlSeconds: 300 },
] as const;

/** The row for a cluster of this size, given its current row. Pure. */
export function boundaryStep(step: number, nodeCount: number): number {
  let next = step;
  while (nodeCount > (BOUNDARIES[next]?.sizeMax ?? Number.POSITIVE_INFINITY)) next++;
  while (nodeCount < (BOUNDARIES[next]?.sizeMin ?? 0)) next--;
  return next;
}

/**
 * Sets an annotation on nodes: how long kubelets can cache secrets and config maps. The larger the cluster, the longer.
 * Mirrors pkg/controller/ttl/ttl_controller.go.
 */
export function createTtlController(deps: SharedDeps): Controller {
  return { name: NAME, run: (signal) => run(deps, signal) };
}

async function run(deps: SharedDeps, signal: AbortSignal): Promise<void> {
  const { client, clock, reflectors } = deps;
  const nodes = reflectors.of<NodeObject>("nodes");
  const queue = new WorkQueue(clock);
  let nodeCount = 0;
  let step = 0;
  const watch = async (stop: AbortSignal) => {
    await forEachChange(deps.trace, nodes.changes(stop), (item) => {
      if (item.type === "initDone") return;
      if (item.type === "deleted") nodeCount--;
      else if (item.type === "init" || item.previous === undefined) nodeCount++;
      step = boundaryStep(step, nodeCount);
      if (item.type !== "deleted") queue.add(nameOf(item.object));
    });
  };
  const annotate = async (name: string) => {
    const ttl = String(BOUNDARIES[step]?.ttlSeconds ?? 0);
    const node = nodes.byKey(name);
    if (node === undefined || node.metadata.annotations?.[TTL_ANNOTATION] === ttl) return;
    await client.modify("nodes", undefined, name, (current) => {
      if (current.metadata.annotations?.[TTL_ANNOTATION] === ttl) return current;
      const annotations = { ...current.metadata.annotations, [TTL_ANNOTATION]: ttl };
      return { ...current, metadata: { ...current.metadata, annotations } };
    });
  };
  const report = retryReporter(deps, NAME);
  await concurrently(signal, watch, (stop) => queue.run(annotate, report, stop));
}
