import type { NodeObject } from "../../../../staging/apimachinery/api/node.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { SharedDeps } from "../../support/shared-deps.js";

/** The stable label decides; the beta label is set to its value. Mirrors labelReconcileInfo. */
const FOLLOWERS = [
  { primary: "kubernetes.io/os", secondary: "beta.kubernetes.io/os" },
  { primary: "kubernetes.io/arch", secondary: "beta.kubernetes.io/arch" },
] as const;

/** The labels to set; empty if nothing needs a change. Pure. */
function labelsToUpdate(node: NodeObject): Readonly<Record<string, string>> {
  const labels = node.metadata.labels ?? {};
  const update: Record<string, string> = {};
  for (const { primary, secondary } of FOLLOWERS) {
    const value = labels[primary];
    if (value !== undefined && labels[secondary] !== value) update[secondary] = value;
  }
  return update;
}

/** Mirrors reconcileNodeLabels in pkg/controller/nodelifecycle/node_lifecycle_controller.go. */
export async function reconcileLabels({ client }: Pick<SharedDeps, "client">, node: NodeObject): Promise<void> {
  if (Object.keys(labelsToUpdate(node)).length === 0) return;
  await client.modify<NodeObject>("nodes", undefined, nameOf(node), (current) => {
    const update = labelsToUpdate(current);
    if (Object.keys(update).length === 0) return current;
    return { ...current, metadata: { ...current.metadata, labels: { ...current.metadata.labels, ...update } } };
  });
}
