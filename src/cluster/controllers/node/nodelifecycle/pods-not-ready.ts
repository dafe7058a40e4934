import type { NodeObject } from "../../../../staging/apimachinery/api/node.js";
import { nameOf, type PodObject } from "../../../../staging/apimachinery/api/objects.js";
import { rfc3339 } from "../../../../staging/apimachinery/time.js";
import type { EventRecorder } from "../../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../../staging/client-go/record/reference.js";
import { messageOf } from "../../../../util/errors.js";
import { asController, type SharedDeps } from "../../support/shared-deps.js";

const UPSTREAM = { file: "pkg/controller/util/node/controller_utils.go", func: "MarkPodsNotReady" };

/**
 * Sets Ready=False on the pods of a node, and records why. Their phase stays, because the state of their containers is
 * unknown. Mirrors MarkPodsNotReady.
 *
 * @returns false if a write failed
 */
export async function markPodsNotReady(
  deps: Pick<SharedDeps, "client" | "clock" | "trace">,
  recorder: EventRecorder,
  pods: readonly PodObject[],
  nodeName: NodeObject["metadata"]["name"],
): Promise<boolean> {
  const { client, clock, trace } = deps;
  let isDone = true;
  for (const pod of pods) {
    if (!isReady(pod)) continue;
    try {
      const { namespace } = pod.metadata;
      const change = (current: PodObject) => withoutReady(current, clock.now());
      const written = await client.modify<PodObject>("pods", namespace, nameOf(pod), change, "status");
      if (written === undefined) continue;
      const subject = `pod ${namespace}/${nameOf(pod)}`;
      asController(trace, {
        kind: "state",
        subject,
        what: `Ready (node ${nodeName} is not Ready)`,
        from: "True",
        to: "False",
        upstream: UPSTREAM,
      });
      recorder.event(referenceTo(written), "Warning", "NodeNotReady", "Node is not ready");
    } catch (error) {
      isDone = false;
      asController(trace, {
        kind: "error",
        message: `pod ${nameOf(pod)} was not marked: ${messageOf(error)}`,
        hint: "it is tried again",
      });
    }
  }
  return isDone;
}

function isReady(pod: PodObject): boolean {
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
  return ready !== undefined && ready.status !== "False";
}

function withoutReady(pod: PodObject, nowMs: number): PodObject {
  if (!isReady(pod)) return pod;
  const conditions = (pod.status?.conditions ?? []).map((condition) =>
    condition.type === "Ready"
      ? { ...condition, status: "False" as const, lastTransitionTime: rfc3339(nowMs) }
      : condition,
  );
  return { ...pod, status: { ...pod.status, conditions } };
}
