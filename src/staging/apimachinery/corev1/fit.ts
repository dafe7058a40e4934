import type { Resource } from "./pod-requests.js";

/** Checked for every pod, even if it does not request them. */
const ALWAYS = ["cpu", "memory", "ephemeral-storage"];

/** Amounts: cpu in thousandths, everything else in whole units. Mirrors InsufficientResource. */
export interface InsufficientResource {
  readonly resource: string;
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

interface NodeResources {
  readonly allocatable: Resource;
  readonly requested: Resource;
  readonly podCount: number;
}

/**
 * The resources that a node lacks for a pod with these requests. Pure.
 * Mirrors fitsRequest in pkg/scheduler/framework/plugins/noderesources/fit.go.
 */
export function insufficientResources(requests: Resource, node: NodeResources): readonly InsufficientResource[] {
  const { allocatable, requested: inUse, podCount } = node;
  const lacking: InsufficientResource[] = [];
  const maxPods = allocatable.get("pods") ?? 0;
  if (podCount + 1 > maxPods) lacking.push({ resource: "pods", requested: 1, used: podCount, capacity: maxPods });
  if (!asksForAnything(requests)) return lacking;
  const compare = (resource: string) => {
    const requested = requests.get(resource) ?? 0;
    const capacity = allocatable.get(resource) ?? 0;
    const used = inUse.get(resource) ?? 0;
    if (requested > capacity - used) lacking.push({ resource, requested, used, capacity });
  };
  for (const resource of ALWAYS) compare(resource);
  for (const resource of requests.keys()) if (!ALWAYS.includes(resource)) compare(resource);
  return lacking;
}

function asksForAnything(requests: Resource): boolean {
  for (const amount of requests.values()) if (amount > 0) return true;
  return false;
}
