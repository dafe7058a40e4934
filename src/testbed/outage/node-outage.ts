import { type NodeObject, nodeCondition } from "../../staging/apimachinery/api/node.js";
import { isSuccess, refusal } from "../../staging/client-go/rest/answers.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { identityInWords } from "../../staging/client-go/rest/identity.js";
import { NODES, objectPath } from "../../staging/client-go/rest/paths.js";
import { versionOf } from "../../trace/scope.js";
import { LabError } from "../../util/errors.js";
import type { JoinSession, PreparedNode } from "../node/join.js";
import type { Target } from "../target/target.js";
import { startEvictionFixture } from "./eviction-fixture.js";
import { type MissedHeartbeatsResult, watchMissedHeartbeats } from "./missed-heartbeats.js";
import type { NodeObserver } from "./node-observer.js";
import { type ResumeHeartbeatsResult, resumeHeartbeats } from "./resume-heartbeats.js";

/** When the node stops its heartbeats: after a number of renewals, or after a time. */
export type StopAfter = { readonly renewals: number } | { readonly ms: number };

export interface OutageSession extends JoinSession {
  readonly target: Target;
  /** the administrator's */
  readonly client: KubeClient;
  readonly observer: NodeObserver;
  readonly node: PreparedNode;
}

export interface OutageOptions {
  /** undefined: the node is already NotReady, except in a new embedded cluster */
  readonly stopAfter?: StopAfter | undefined;
  readonly revive?: boolean | undefined;
}

export interface OutageResult {
  readonly lapse: MissedHeartbeatsResult | null;
  readonly revival: ResumeHeartbeatsResult | null;
}

/**
 * Stops a node's heartbeats, reports how the cluster reacts, and, with `revive`, starts them again.
 * @throws LabError as `watchMissedHeartbeats` and `resumeHeartbeats`
 */
export async function runOutage(
  session: OutageSession,
  options: OutageOptions,
  signal: AbortSignal,
): Promise<OutageResult> {
  const { observer, node, clock, trace, target, client, plan, kubeVersion, context } = session;
  const { nodeName } = plan;
  const isFresh = target.kind === "embedded";
  // A new cluster has no dead node to revive, so this node dies first.
  const stopAfter = options.stopAfter ?? (isFresh ? { renewals: 1 } : undefined);
  const ending = new AbortController();
  let neighbour: Promise<void> = Promise.resolve();
  let lapse: MissedHeartbeatsResult | null = null;
  try {
    if (stopAfter !== undefined) {
      await node.agent.start(signal);
      if (isFresh) {
        const deps = { target, client, clock, trace, random: context.random };
        const until = AbortSignal.any([signal, ending.signal]);
        ({ neighbour } = await startEvictionFixture(deps, node.agent, { nodeName, kubeVersion }, until));
      }
      using _line = context.progress(heartbeatText(nodeName, stopAfter));
      await keepFor(session, stopAfter, signal);
      _line.stop();
      const silentSinceMs = node.agent.lastHeartbeatMs ?? clock.now();
      const lastRenewal = versionOf(node.agent.lease.latest);
      const since = { silentSinceMs, lastRenewal };
      lapse = await watchMissedHeartbeats(session, { nodeName, kubeVersion, ...since, explain: !isFresh }, signal);
    } else await observer.until((view) => view.node !== undefined, signal);
    if (options.revive !== true) return { lapse, revival: null };
    using _line = context.progress(`bringing ${nodeName} back`);
    const deps = { agent: node.agent, observer, clock, trace };
    return { lapse, revival: await resumeHeartbeats(deps, { nodeName, kubeVersion }, signal) };
  } finally {
    ending.abort();
    await neighbour;
  }
}

function heartbeatText(nodeName: string, stopAfter: StopAfter): string {
  if ("ms" in stopAfter) return `${nodeName} sends heartbeats; it stops after ${Math.round(stopAfter.ms / 1000)} s`;
  const { renewals } = stopAfter;
  return `${nodeName} sends heartbeats; it stops after ${renewals} ${renewals === 1 ? "renewal" : "renewals"}`;
}

/**
 * Whether a node needs no revival. Checked before it joins, because a join creates a certificate and files.
 * @throws LabError REFUSED when there is no such Node
 */
export async function isReady(
  { client, trace }: Pick<OutageSession, "client" | "trace">,
  nodeName: string,
  signal: AbortSignal,
): Promise<boolean> {
  const path = objectPath(NODES, nodeName);
  const answer = await client.request<NodeObject>({ method: "GET", path, signal });
  if (answer.status === 404) {
    const hint = `Only a registered node can be revived: kubelab bootstrap --node ${nodeName}`;
    throw new LabError("REFUSED", `there is no Node ${nodeName} to revive`, hint);
  }
  if (!isSuccess(answer)) throw refusal(answer, `GET ${path}`, identityInWords(client.config));
  const ready = nodeCondition(answer.body, "Ready");
  const isReady = ready?.status === "True";
  const what = `${nodeName} is ${isReady ? "Ready: there is nothing to revive" : "not Ready: revive it"}`;
  const why = ready === undefined ? "it has no condition Ready" : `${ready.reason}: ${ready.message}`;
  trace.emit({ kind: "decision", what, why }, { actor: "user" });
  return isReady;
}

/** Sends heartbeats until the node should stop them. */
async function keepFor({ node, clock }: OutageSession, stopAfter: StopAfter, signal: AbortSignal): Promise<void> {
  if ("renewals" in stopAfter) {
    // The start has renewed once already.
    let left = stopAfter.renewals - 1;
    if (left === 0) return;
    await node.agent.renewLoop(signal, () => --left > 0);
    return;
  }
  const over = new AbortController();
  const limited = AbortSignal.any([signal, over.signal]);
  const loop = node.agent.renewLoop(limited).catch((error: unknown) => {
    if (!over.signal.aborted) throw error;
  });
  await Promise.race([clock.sleep(stopAfter.ms, signal), loop]);
  over.abort();
  await loop;
}
