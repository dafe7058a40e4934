import type { Fact } from "../../trace/events.js";
import type { Scope } from "../../trace/scope.js";
import type { EmitOptions, Trace } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";
import { assertNever, messageOf } from "../../util/errors.js";
import { counted } from "../../util/text/counted.js";
import type { Container, Pod, PodRef, PodStatus } from "../container/runtime.js";
import {
  type ContainerChange,
  convertState,
  type PlegContainerState,
  type PodLifecycleEvent,
  type PodLifecycleEventType,
} from "./events.js";

/** A pod with changes in one relist. */
export interface ChangedPod extends PodRef {
  readonly changes: readonly ContainerChange[];
}

/** The result of updateCache. */
export type Inspection =
  | { readonly kind: "stored"; readonly status: PodStatus }
  /** the pod is neither in the list nor in the cache any more */
  | { readonly kind: "forgotten" }
  /** the cache holds the error; the next relist finds the changes again and sends their events */
  | { readonly kind: "failed"; readonly error: unknown }
  /** an evented cache holds a newer status: no event is sent */
  | { readonly kind: "outdated" }
  /** there is no cache */
  | { readonly kind: "skipped" };

const GENERIC = "pkg/kubelet/pleg/generic.go";
/** Changes of this many pods are reported (more at -v 3); the rest is a number. */
const MAX_PODS = 10;
const MAX_PODS_IN_FULL = 200;
/** Of one pod. A runtime can list any number of containers with one pod's labels. */
const MAX_CHANGES = 100;
/** Of one pod's status, in the line about the cache. */
const MAX_STATES = 20;
/** Shorter than crictl shows IDs, so that a row fits 80 columns. */
const ID_LENGTH = 10;

/** Counts relists and words their facts. A relist without changes is a table at -v 3. */
export class RelistObserver {
  readonly counts = { relists: 0, failedRelists: 0, inspections: 0, discarded: 0 };
  #failure: string | undefined;
  #failuresInARow = 0;
  #stepId: string | undefined;
  #podsReported = 0;
  #discarded = 0;
  /** the facts about events of this relist, which are reported after the events are sent */
  readonly #ids = new Map<PodLifecycleEvent, string>();

  constructor(
    readonly trace: Trace,
    readonly channelCapacity: number,
    readonly causeOf: (containerId: string) => string | undefined = () => undefined,
  ) {}

  /** The runtime did not list its pods. Reported once per error: a runtime that is down usually stays down for a while. */
  failed(error: unknown): void {
    this.counts.relists++;
    this.counts.failedRelists++;
    this.#failuresInARow++;
    const message = messageOf(error);
    const level = message === this.#failure ? 3 : 0;
    this.#failure = message;
    const hint = "Records and cache stay as they are; the next relist tries again.";
    this.trace.emit({ kind: "error", message: `relist failed: ${message}`, hint }, { actor: "kubelet", level });
  }

  /** @param reinspections the number of pods to inspect again, changed or not */
  compared(pods: readonly Pod[], changed: readonly ChangedPod[], reinspections: number): void {
    this.counts.relists++;
    this.#podsReported = 0;
    this.#discarded = 0;
    this.#stepId = undefined;
    this.#ids.clear();
    if (this.#failuresInARow > 0) {
      const failed = `${counted(this.#failuresInARow, "relist")} that failed`;
      this.#emit({
        kind: "note",
        text: `The runtime lists its pods again after ${failed}; changes since then follow.`,
      });
      this.#failuresInARow = 0;
      this.#failure = undefined;
    }
    if (changed.length > 0 || reinspections > 0) this.#begin(pods, changed, reinspections);
    else if (this.trace.wants(3)) {
      const title = `Relist ${this.counts.relists}: nothing changed among ${countText(pods)}`;
      this.#emit(table(title, unchangedRows(pods.slice(0, MAX_PODS_IN_FULL))), { level: 3 });
    }
  }

  #begin(pods: readonly Pod[], changed: readonly ChangedPod[], reinspections: number): void {
    const changes = changed.reduce((sum, one) => sum + one.changes.length, 0);
    const again = reinspections === 0 ? "" : `, ${counted(reinspections, "pod")} to inspect again`;
    const title = `Relist ${this.counts.relists}: ${counted(changes, "change")} among ${countText(pods)}${again}`;
    const step = { kind: "step", title, upstream: { file: GENERIC, func: "relist" } } as const;
    this.#stepId = this.trace.emit(step, { actor: "kubelet" }).id;
    const rows = changed.slice(0, this.#maxPods).flatMap(changedRows);
    const upstream = { file: GENERIC, func: "computeEvents" };
    if (rows.length > 0) this.#emit({ ...table("changes since the last relist", rows), upstream });
  }

  /** Runs an inspection, which is part of the relist's step. */
  inspecting<T>({ namespace, name }: PodRef, inspect: () => T): T {
    return this.trace.because(defined({ causedBy: this.#stepId, pod: `${namespace}/${name}` }), inspect);
  }

  /** An event is about to be sent: the fact about it causes what it leads to. */
  keepScope({ namespace, name }: PodRef, event: PodLifecycleEvent): { readonly scope?: Scope } {
    if (!this.trace.wantsCauses) return {};
    const pod = `${namespace}/${name}`;
    if (this.#podsReported >= this.#maxPods) return this.trace.keepScope(defined({ causedBy: this.#stepId, pod }));
    const causedBy = this.trace.newId();
    this.#ids.set(event, causedBy);
    return this.trace.keepScope({ causedBy, pod });
  }

  /** A changed pod was inspected; unless that failed, its events were sent or discarded. */
  sent(pod: ChangedPod, inspection: Inspection, discarded: readonly PodLifecycleEvent[]): void {
    this.#count(inspection);
    this.#discarded += discarded.length;
    if (this.#podsReported++ >= this.#maxPods) return;
    const name = `${pod.namespace}/${pod.name}`;
    this.trace.because({ pod: name }, () => this.#sent(name, pod, inspection, discarded));
  }

  #sent(name: string, pod: ChangedPod, inspection: Inspection, discarded: readonly PodLifecycleEvent[]): void {
    this.#cached(name, inspection);
    if (inspection.kind === "failed" || inspection.kind === "outdated") return;
    const lost = new Set(discarded);
    for (const change of pod.changes.slice(0, MAX_CHANGES)) {
      this.#generated(pod, change);
      for (const event of change.events) {
        const isLost = lost.has(event);
        const fate = isLost ? " (lost: the channel is full)" : event.type === "ContainerChanged" ? " (not sent)" : "";
        const what = `${event.type} ${name} ${labelOf(change)}${fate}`;
        const hasExit = event.type === "ContainerDied" && inspection.kind === "stored";
        const exit = hasExit ? exitText(inspection.status, change.containerId) : "";
        const why = `${reasonOf(change, event.type)}${exit}`;
        // The list does not tell what changed the container: the kubelet's last call did, or what that call began.
        const causedBy = this.causeOf(event.containerId);
        this.#emit({ kind: "decision", what, why }, defined({ id: this.#ids.get(event), causedBy }));
      }
    }
    const rest = pod.changes.length - MAX_CHANGES;
    if (rest > 0) this.#emit({ kind: "note", text: `and ${counted(rest, "more change")} of ${name}` });
  }

  /** The states in the words of the kubelet's log, and the events as Go prints them. */
  #generated({ podUid }: PodRef, { containerId, before, after, events }: ContainerChange): void {
    if (!this.trace.wants(2)) return;
    const upstream = { file: GENERIC, func: "generateEvents" };
    const states = `oldState=${before} newState=${after}`;
    const text = `GenericPLEG podUID=${podUid} containerID=${JSON.stringify(containerId)} ${states}`;
    this.#emit({ kind: "note", text, upstream }, { level: 2 });
    for (const event of events) this.#emit({ kind: "note", text: goForm(event) }, { level: 2 });
  }

  /** A pod whose last inspection failed was inspected again. */
  reinspected({ namespace, name }: PodRef, inspection: Inspection): void {
    this.#count(inspection);
    if (this.#podsReported++ < this.#maxPods) this.#cached(`${namespace}/${name} (inspected again)`, inspection);
  }

  ended(): void {
    const rest = this.#podsReported - this.#maxPods;
    if (rest > 0) this.#emit({ kind: "note", text: `and ${counted(rest, "more pod")}; -v 3 shows more` });
    this.counts.discarded += this.#discarded;
    if (this.#discarded === 0) return;
    const lost = counted(this.#discarded, "event");
    const message = `the event channel is full (${this.channelCapacity}): ${lost} of this relist discarded`;
    const hint =
      "The cache is up to date all the same; a pod worker that missed an event acts at its next regular sync.";
    this.#emit({ kind: "error", message, hint });
  }

  #count({ kind }: Inspection): void {
    if (kind !== "skipped" && kind !== "forgotten") this.counts.inspections++;
  }

  #cached(name: string, inspection: Inspection): void {
    const to = cacheText(inspection);
    if (to === undefined) return;
    if (inspection.kind === "failed") this.#emit({ kind: "error", message: `pod ${name}: ${to}` }, { level: 1 });
    else this.#emit({ kind: "state", subject: `cache ${name}`, what: "now", to });
  }

  get #maxPods(): number {
    return this.trace.wants(3) ? MAX_PODS_IN_FULL : MAX_PODS;
  }

  /** Inspections run in parallel, so the relist's step is named as the cause. */
  #emit(fact: Fact, options: Pick<EmitOptions, "level" | "id" | "causedBy"> = {}): void {
    this.trace.emit(fact, { actor: "kubelet", ...defined({ causedBy: this.#stepId }), ...options });
  }
}

/** Why a change makes this event. */
export function reasonOf({ before, after, isSandbox }: ContainerChange, type: PodLifecycleEventType): string {
  const what = isSandbox ? "sandbox" : "container";
  // A sandbox is ready or not; PLEG treats it as a container.
  const [was, now] = isSandbox ? [SANDBOX_WORDS[before], SANDBOX_WORDS[after]] : [before, after];
  switch (after) {
    case "running":
    case "exited":
      if (before !== "non-existent") return `the ${what} was ${was} at the last relist and is ${now} now`;
      return `a ${what} that the last relist did not see is ${now}${after === "exited" ? " already" : ""}`;
    case "unknown":
      return `the ${what} was ${was} and is created or unknown now: the pod is inspected, but no event is sent`;
    case "non-existent":
      if (type === "ContainerDied")
        return `the ${what} was ${was} and is gone from the list: it must have died in between`;
      return before === "exited"
        ? `the ${what} is gone from the list; its death was reported before`
        : `the ${what} is gone from the list, and its death was reported just before this`;
    default:
      return assertNever(after);
  }
}

const SANDBOX_WORDS: Readonly<Record<PlegContainerState, string>> = {
  running: "ready",
  exited: "not ready",
  unknown: "unknown",
  "non-existent": "non-existent",
};

/** `; exit code 137 (OOMKilled)`, if the pod's status has the dead container. */
export function exitText({ containerStatuses }: PodStatus, containerId: string): string {
  const dead = containerStatuses.find((status) => status.containerId === containerId);
  if (dead?.state !== "exited") return "";
  return `; exit code ${dead.exitCode}${dead.reason === undefined ? "" : ` (${dead.reason})`}`;
}

/** Mirrors `%#v` of PodLifecycleEvent. */
function goForm({ podUid, type, containerId }: PodLifecycleEvent): string {
  return `&pleg.PodLifecycleEvent{ID:"${podUid}", Type:"${type}", Data:"${containerId}"}`;
}

function statusText({ containerStatuses, sandboxStatuses, ips }: PodStatus): string {
  const states = [
    ...containerStatuses.map(({ name, state }) => `${name} ${state}`),
    ...sandboxStatuses.map(({ state }) => `sandbox ${state}`),
  ];
  const rest = states.length - MAX_STATES;
  const parts = [
    ...states.slice(0, MAX_STATES),
    ...(rest > 0 ? [`and ${rest} more`] : []),
    ...(ips.length === 0 ? [] : [`IP ${ips.join(" ")}`]),
  ];
  return parts.join(", ") || "a status without containers and sandboxes";
}

function cacheText(inspection: Inspection): string | undefined {
  switch (inspection.kind) {
    case "stored":
      return statusText(inspection.status);
    case "forgotten":
      return "entry deleted, the runtime has nothing of this pod any more";
    case "outdated":
      return "kept: an event of the runtime has brought a newer status already";
    case "failed":
      return `the inspection failed, and the cache holds the error; its events wait for the next relist: ${messageOf(inspection.error)}`;
    case "skipped":
      return undefined;
  }
}

function table(title: string, rows: readonly (readonly string[])[]) {
  return { kind: "table" as const, title, columns: ["pod", "container", "old", "new"], rows };
}

function changedRows({ namespace, name, changes }: ChangedPod): string[][] {
  return changes
    .slice(0, MAX_CHANGES)
    .map((change) => [`${namespace}/${name}`, labelOf(change), change.before, change.after]);
}

function unchangedRows(pods: readonly Pod[]): string[][] {
  const row = (pod: Pod, { containerId, name, state }: Container, isSandbox: boolean) => {
    const shown = convertState(state);
    return [`${pod.namespace}/${pod.name}`, labelOf({ containerId, name, isSandbox }), shown, shown];
  };
  return pods.flatMap((pod) => [
    ...pod.containers.slice(0, MAX_CHANGES).map((container) => row(pod, container, false)),
    ...pod.sandboxes.slice(0, MAX_CHANGES).map((sandbox) => row(pod, sandbox, true)),
  ]);
}

/** `app a152f936dc`, `sandbox 726f1b3a1d` */
function labelOf(change: Pick<ContainerChange, "name" | "containerId" | "isSandbox">): string {
  return `${change.isSandbox ? "sandbox" : (change.name ?? "container")} ${change.containerId.slice(0, ID_LENGTH)}`;
}

function countText(pods: readonly Pod[]): string {
  const sandboxes = pods.reduce((sum, pod) => sum + pod.sandboxes.length, 0);
  const containers = pods.reduce((sum, pod) => sum + pod.containers.length, 0);
  return `${counted(pods.length, "pod")}, ${counted(sandboxes, "sandbox", "es")}, ${counted(containers, "container")}`;
}
