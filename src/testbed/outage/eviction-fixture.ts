import { NodeAgent } from "../../kubelet/app/node-agent.js";
import { rfc3339 } from "../../staging/apimachinery/time.js";
import { isSuccess, refusal } from "../../staging/client-go/rest/answers.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { collectionPath, objectPath, PODS } from "../../staging/client-go/rest/paths.js";
import type { Ctx } from "../../trace/ctx.js";
import { Trace } from "../../trace/trace.js";
import { isAbortError } from "../../util/errors.js";
import type { Target } from "../target/target.js";

export interface EvictionFixtureDeps extends Ctx {
  readonly target: Target;
  /** the administrator's */
  readonly client: KubeClient;
}

const NAMESPACED_PODS = { ...PODS, namespace: "default" };
const ATTEMPTS = 20;
const ATTEMPT_PAUSE_MS = 100;

/**
 * Adds the fixture of an eviction: a second node that stays healthy (otherwise the controller evicts no pods) and two
 * pods. One tolerates an unreachable node for 20 s, the other for the default 300 s.
 *
 * Only for a cluster that was started for this command. The neighbour sends heartbeats until `signal` aborts.
 */
export async function startEvictionFixture(
  deps: EvictionFixtureDeps,
  agent: NodeAgent,
  options: { readonly nodeName: string; readonly kubeVersion: string },
  signal: AbortSignal,
): Promise<{ readonly neighbour: Promise<void> }> {
  const { target, clock, random, trace } = deps;
  const { nodeName, kubeVersion } = options;
  const neighbourName = `${nodeName}-neighbour`;
  // Of the neighbour's facts only its condition is shown, because it is healthy throughout.
  const quiet = { clock, random, trace: new Trace(clock) };
  quiet.trace.addSink({
    level: 1,
    write: ({ id: _id, causedBy: _cause, ...event }) => {
      if (event.kind !== "state" || event.what !== "Ready") return;
      trace.emit(event, { actor: "kubelet", instance: neighbourName, level: 2 });
    },
  });
  const resources = { cpu: "4", memory: "8Gi", pods: "110" };
  const neighbour = new NodeAgent(target.admin, quiet, { nodeName: neighbourName, kubeVersion, resources });
  await neighbour.start(signal);
  const beating = Promise.all([neighbour.renewLoop(signal), neighbour.heartbeat.run(signal)])
    .then(() => {})
    .catch((error: unknown) => {
      if (!isAbortError(error) && !signal.aborted) throw error;
    })
    .finally(() => neighbour.close());
  await addPod(deps, agent, nodeName, "hasty", 20, signal);
  await addPod(deps, agent, nodeName, "patient", undefined, signal);
  const pods = `two pods without containers count as Running on ${nodeName}`;
  const text = `Fixture: node ${neighbourName} stays healthy, and ${pods}: "hasty" tolerates an unreachable node for 20 s, "patient" for the default 300 s.`;
  trace.emit({ kind: "note", text }, { actor: "user" });
  return { neighbour: beating };
}

/** Creates a pod on the node (as the administrator) and declares it running (as the node). */
async function addPod(
  { client, clock }: EvictionFixtureDeps,
  agent: NodeAgent,
  nodeName: string,
  name: string,
  seconds: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const key = "node.kubernetes.io/unreachable";
  const tolerations = [{ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: seconds }];
  const body = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    spec: {
      nodeName,
      containers: [{ name: "c", image: "busybox:1.35", command: ["sleep", "3600"] }],
      ...(seconds === undefined ? {} : { tolerations }),
    },
  };
  const path = collectionPath(NAMESPACED_PODS);
  for (let attempt = 1; ; attempt++) {
    const answer = await client.request({ method: "POST", path, body, signal });
    if (isSuccess(answer)) break;
    // A controller creates the namespace's service account shortly after the cluster starts.
    if (answer.status !== 403 || attempt === ATTEMPTS) throw refusal(answer, `POST ${path}`, "the administrator");
    await clock.sleep(ATTEMPT_PAUSE_MS, signal);
  }
  const time = rfc3339(clock.now());
  const conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map((type) => ({
    type,
    status: "True",
    lastTransitionTime: time,
  }));
  await agent.client.expect({
    method: "PATCH",
    path: objectPath(NAMESPACED_PODS, name, "status"),
    contentType: "application/strategic-merge-patch+json",
    body: { status: { phase: "Running", startTime: time, conditions } },
    signal,
  });
}
