import { type NodeObject, taintText } from "../../../../staging/apimachinery/api/node.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import { asController, type SharedDeps } from "../../support/shared-deps.js";
import { noScheduleChange, taintCause, withTaints } from "./taints.js";

const FILE = "pkg/controller/nodelifecycle/node_lifecycle_controller.go";

/**
 * Adds the NoSchedule taints that match a node's conditions at once, and removes the others.
 *
 * Mirrors pkg/controller/nodelifecycle/node_lifecycle_controller.go (doNoScheduleTaintingPass).
 */
export async function doNoScheduleTaintingPass(deps: SharedDeps, node: NodeObject): Promise<void> {
  const { client, clock, trace } = deps;
  const change = noScheduleChange(node);
  if (change.add.length === 0 && change.remove.length === 0) return;
  const name = nameOf(node);
  const words = [
    ...change.add.map((taint) => `add ${taintText(taint)}`),
    ...change.remove.map((taint) => `remove ${taintText(taint)}`),
  ];
  const causes = new Set([...change.add, ...change.remove].map((taint) => taintCause(node, taint)));
  const cause = asController(trace, {
    kind: "decision",
    what: `node ${name}: ${words.join(", ")}`,
    why: [...causes].join(", "),
    upstream: { file: FILE, func: "doNoScheduleTaintingPass" },
  });
  const apply = (current: NodeObject) => withTaints(current, change, clock.now());
  await trace.because(cause, () => client.modify<NodeObject>("nodes", undefined, name, apply));
}
