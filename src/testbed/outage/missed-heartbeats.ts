import type { KubeList } from "../../staging/apimachinery/api/meta.js";
import { type NodeObject, nodeCondition, taintText } from "../../staging/apimachinery/api/node.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { collectionPath, NODES } from "../../staging/client-go/rest/paths.js";
import type { TraceEvent } from "../../trace/events.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import { isSet } from "../../util/records.js";
import { durationText } from "../../util/release/fact.js";
import { constantsFor, factFor } from "../../util/release/facts.js";
import { counted } from "../../util/text/counted.js";
import type { ProgressReporter } from "../context.js";
import { type NodeObserver, type PodObject, taintsOf, tolerationSeconds } from "./node-observer.js";
import { patience } from "./patience.js";

export interface MissedHeartbeatsDeps {
  readonly context: ProgressReporter;
  readonly clock: Clock;
  readonly trace: Trace;
  /** the administrator's */
  readonly client: KubeClient;
  readonly observer: NodeObserver;
}

export interface MissedHeartbeatsOptions {
  readonly nodeName: string;
  readonly kubeVersion: string;
  /** Unix ms of the last heartbeat: the countdown begins here */
  readonly silentSinceMs: number;
  /** the version of the Lease that the last renewal wrote */
  readonly lastRenewal: string | undefined;
  /** true: the controllers run in another process, so this function reports their decisions */
  readonly explain: boolean;
}

export interface MissedHeartbeatsResult {
  readonly unknownAfterSeconds: number;
  readonly taints: readonly string[];
  readonly pods: readonly { readonly pod: string; readonly evictedAfterSeconds: number | undefined }[];
}

const FILE = "pkg/controller/nodelifecycle/node_lifecycle_controller.go";
const TAINT_MANAGER = "pkg/controller/nodelifecycle/scheduler/taint_manager.go";
const SECOND = 1_000;
/** Evictions later than this are announced, but not awaited. */
const EVICTION_PATIENCE_MS = 60_000;

/**
 * Watches how the cluster reacts to a silent node: the countdown, Unknown, the taints, the eviction timers. Everything
 * here is seen through the API.
 */
export async function watchMissedHeartbeats(
  deps: MissedHeartbeatsDeps,
  options: MissedHeartbeatsOptions,
  signal: AbortSignal,
): Promise<MissedHeartbeatsResult> {
  const { trace } = deps;
  const { nodeName, kubeVersion, lastRenewal } = options;
  const { id } = trace.emit(
    {
      kind: "decision",
      what: `${nodeName} falls silent: no more renewals, no more status`,
      why: "the kubelet is silent; now the node lifecycle controller decides, by the clock",
      constants: constantsFor(kubeVersion, "nodeMonitorGracePeriod", "nodeMonitorPeriod"),
      upstream: { file: FILE, func: "monitorNodeHealth" },
    },
    { actor: "kubelet", instance: nodeName, ...defined({ causedBy: lastRenewal }) },
  );
  // Controllers of this process know the renewal, and not why none follows.
  if (lastRenewal !== undefined) trace.silences(lastRenewal, id);
  return trace.because({ causedBy: id }, () => watchReaction(deps, options, signal));
}

async function watchReaction(
  deps: MissedHeartbeatsDeps,
  options: MissedHeartbeatsOptions,
  signal: AbortSignal,
): Promise<MissedHeartbeatsResult> {
  const { observer, clock, trace } = deps;
  const { kubeVersion, silentSinceMs } = options;
  const graceMs = factFor("nodeMonitorGracePeriod", kubeVersion);
  const monitorMs = factFor("nodeMonitorPeriod", kubeVersion);
  const limitMs = graceMs + 12 * monitorMs;
  await countdown(deps, options, graceMs, limitMs, signal);
  const unknownAfterSeconds = Math.round((clock.now() - silentSinceMs) / SECOND);
  const unknown = options.explain ? explainUnknown(trace, options, unknownAfterSeconds) : undefined;
  const pods = await trace.because({ causedBy: unknown?.id }, async () => {
    const tainted = await waitForNoExecute(deps, options, 3 * monitorMs, signal);
    if (tainted === undefined) return [];
    return await trace.because({ causedBy: tainted.fact?.id }, () => watchEvictions(deps, options, signal));
  });
  return { unknownAfterSeconds, taints: taintsOf(observer.view.node).map(taintText), pods };
}

/** Reports the remaining time every second on the terminal, and every 10 s in the trace. */
async function countdown(
  deps: MissedHeartbeatsDeps,
  { nodeName, silentSinceMs }: MissedHeartbeatsOptions,
  graceMs: number,
  limitMs: number,
  signal: AbortSignal,
): Promise<void> {
  const { observer, clock, trace, context } = deps;
  const isUnknown = () => nodeCondition(observer.view.node ?? EMPTY_NODE, "Ready")?.status === "Unknown";
  using progress = context.progress(`${nodeName} is silent`);
  const seen = new AbortController();
  const limited = AbortSignal.any([signal, seen.signal]);
  const tick = async () => {
    for (let told = 0; ; ) {
      const silentMs = clock.now() - silentSinceMs;
      if (silentMs > limitMs) {
        const message = `${nodeName} has been silent for ${Math.round(silentMs / SECOND)} s and is still not Unknown`;
        throw new LabError("TIMED_OUT", message, "Does the node lifecycle controller of this cluster run?");
      }
      const left = Math.max(0, Math.ceil((graceMs - silentMs) / SECOND));
      const rest =
        left > 0 ? `${left} s of the grace period left` : "the grace period is over; Unknown at the next check";
      const text = `${nodeName} silent for ${Math.floor(silentMs / SECOND)} s: ${rest}`;
      progress.update(text);
      if (silentMs >= told * 10 * SECOND) {
        const upstream = { file: FILE, func: "monitorNodeHealth" };
        trace.emit({ kind: "note", text, upstream }, { actor: "controller" });
        told = Math.floor(silentMs / (10 * SECOND)) + 1;
      }
      await clock.sleep(SECOND, limited);
    }
  };
  try {
    const ticking = tick();
    await Promise.race([observer.until(isUnknown, limited), ticking]);
    seen.abort();
    await ticking.catch((error: unknown) => {
      // It ends with the wait; its own error has won the race above.
      if (!seen.signal.aborted) throw error;
    });
  } finally {
    seen.abort();
  }
}

const EMPTY_NODE: NodeObject = { apiVersion: "v1", kind: "Node", metadata: {} };

function explainUnknown(trace: Trace, { nodeName, kubeVersion }: MissedHeartbeatsOptions, seconds: number): TraceEvent {
  return trace.emit(
    {
      kind: "decision",
      what: `set Ready of node ${nodeName} to Unknown`,
      why: `the node has sent no renewal and no status for ${seconds} s`,
      constants: constantsFor(kubeVersion, "nodeMonitorGracePeriod", "nodeMonitorPeriod"),
      upstream: { file: FILE, func: "tryUpdateNodeHealth" },
    },
    { actor: "controller" },
  );
}

/** @returns the fact that explains the taint, if one does; undefined if the taint never comes: the controller evicts no pods while no node of the zone is healthy */
async function waitForNoExecute(
  deps: MissedHeartbeatsDeps,
  { nodeName, kubeVersion, explain }: MissedHeartbeatsOptions,
  leastMs: number,
  signal: AbortSignal,
): Promise<{ readonly fact?: TraceEvent } | undefined> {
  const { observer, clock, trace, client } = deps;
  const patienceMs = patience(clock, leastMs);
  const isThere = () => taintsOf(observer.view.node).some(({ effect }) => effect === "NoExecute");
  const done = new AbortController();
  const limited = AbortSignal.any([signal, done.signal]);
  const late = clock.sleep(patienceMs, limited).catch(() => {});
  const seen = observer.until(isThere, limited).catch(() => {});
  await Promise.race([seen, late]);
  done.abort();
  await Promise.all([seen, late]);
  signal.throwIfAborted();
  if (isThere()) {
    if (!explain) return {};
    const what = `taint node ${nodeName} NoExecute: its pods' toleration times run from now`;
    const why = "a queue of its own, checked every 100 ms and limited in rate, does this after the conditions";
    const constants = constantsFor(kubeVersion, "nodeEvictionRate", "nodeEvictionPeriod");
    const upstream = { file: FILE, func: "doNoExecuteTaintingPass" };
    return { fact: trace.emit({ kind: "decision", what, why, constants, upstream }, { actor: "controller" }) };
  }
  const nodes = await client.expect<KubeList<NodeObject>>({ method: "GET", path: collectionPath(NODES), signal });
  const healthy = nodes.items.filter((node) => nodeCondition(node, "Ready")?.status === "True").length;
  trace.emit(
    {
      kind: "decision",
      what: `${nodeName} gets no NoExecute taint, and nothing is evicted`,
      why:
        healthy === 0
          ? "no node is Ready: the controller takes that for its own fault, and there is nowhere to go anyway"
          : `it did not come within ${durationText(patienceMs)}, although ${healthy} of ${nodes.items.length} nodes are Ready: the rate of evictions is limited`,
      constants: constantsFor(kubeVersion, "nodeEvictionRate"),
      upstream: { file: FILE, func: "handleDisruption" },
    },
    { actor: "controller" },
  );
  return undefined;
}

async function watchEvictions(
  deps: MissedHeartbeatsDeps,
  options: MissedHeartbeatsOptions,
  signal: AbortSignal,
): Promise<MissedHeartbeatsResult["pods"]> {
  const { observer, clock, trace, context } = deps;
  const { nodeName, kubeVersion } = options;
  const taints = taintsOf(observer.view.node);
  const timers = [...observer.view.pods].map(([podKey, pod]) => timerOf(podKey, pod, taints, clock.now()));
  for (const { pod, dueMs, seconds } of options.explain ? timers : []) {
    const due = dueMs === undefined ? undefined : new Date(dueMs).toISOString().slice(11, 19);
    const why = seconds === undefined ? "it tolerates the taint forever" : `it tolerates the taint for ${seconds} s`;
    const constants = constantsFor(kubeVersion, "defaultUnreachableTolerationSeconds");
    const upstream = { file: TAINT_MANAGER, func: "processPodOnNode" };
    const { id } = trace.emit(
      {
        kind: "decision",
        what: due === undefined ? `let pod ${pod} stay` : `plan the eviction of pod ${pod} at ${due}`,
        why,
        constants,
        upstream,
      },
      { actor: "controller" },
    );
    observer.expectEviction(pod, id);
  }
  if (timers.length === 0) {
    trace.emit(
      { kind: "note", text: `No pod runs on ${nodeName}: there is nothing to evict.` },
      { actor: "controller" },
    );
  }
  const startMs = clock.now();
  const soon = timers.filter(({ dueMs }) => dueMs !== undefined && dueMs - startMs <= EVICTION_PATIENCE_MS);
  const evictedAfter = new Map<string, number>();
  using progress = context.progress(`waiting for ${counted(soon.length, "eviction")}`);
  for (const timer of soon) {
    progress.update((columns) => {
      const leftMs = Math.max(0, (timer.dueMs ?? 0) - clock.now());
      return `pod ${timer.pod} is evicted in ${Math.round(leftMs / SECOND)} s`.slice(0, columns);
    });
    await observer.until((view) => view.evicted.has(timer.pod), signal);
    evictedAfter.set(timer.pod, Math.round((clock.now() - options.silentSinceMs) / SECOND));
  }
  return timers.map(({ pod }) => ({ pod, evictedAfterSeconds: evictedAfter.get(pod) }));
}

function timerOf(pod: string, object: PodObject, taints: ReturnType<typeof taintsOf>, nowMs: number) {
  const seconds = tolerationSeconds(object, taints);
  const added = taints.find(({ effect }) => effect === "NoExecute")?.timeAdded;
  const fromMs = isSet(added) ? Date.parse(added) : nowMs;
  return { pod, seconds, dueMs: seconds === undefined ? undefined : fromMs + seconds * SECOND };
}
