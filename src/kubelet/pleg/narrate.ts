import type { Fact, TableFact } from "../../trace/events.js";
import type { Level, Trace } from "../../trace/trace.js";
import { messageOf } from "../../util/errors.js";
import type { Container, Pod, PodStatus } from "../container/runtime.js";
import { type ContainerChange, convertState, reasonOf } from "./events.js";

import type { FoundPod, InspectionOutcome, PodOutcome } from "./report.js";

const GENERIC = "pkg/kubelet/pleg/generic.go";
/** Of so many pods each change is told (more of them at -v 3); of the rest, how many there are. */
const MAX_PODS_TOLD = 10;
const MAX_PODS_TOLD_IN_FULL = 200;
const MAX_ROWS = 600;
const COLUMNS = ["pod", "container", "old", "new"] as const;
/** Shorter than crictl shows IDs, so that a row fits 80 columns. */
const ID_LENGTH = 10;

/**
 * Tells relists as facts, each as it happens: what differs, what the cache has now, which events that gives and why. A
 * relist that finds nothing is a table at -v 3.
 */
export class RelistNarrator {
  #failure: string | undefined;
  #failures = 0;
  #count = 0;
  #stepSeq: number | undefined;
  #podsTold = 0;

  constructor(
    readonly trace: Trace,
    readonly channelCapacity: number,
  ) {}

  /** The list could not be had. Told once, not every second: a runtime that is away stays away for a while. */
  failed(error: unknown): void {
    this.#count++;
    const message = messageOf(error);
    const level = message === this.#failure ? 3 : 0;
    this.#failures++;
    this.#failure = message;
    const hint = "Records and cache stay as they are; each relist from now on tries again.";
    this.trace.emit({ kind: "error", message: `relist failed: ${message}`, hint }, { actor: "kubelet", level });
  }

  /** The list is there and has been compared. @param reinspections pods to be inspected again, changed or not */
  compared(pods: readonly Pod[], found: readonly FoundPod[], reinspections: number): void {
    this.#count++;
    this.#podsTold = 0;
    this.#stepSeq = undefined;
    if (this.#failures > 0) this.#recovered();
    if (found.length > 0 || reinspections > 0) this.#begin(pods, found, reinspections);
    else if (this.trace.wants(3)) {
      const title = `Relist ${this.#count}: nothing changed among ${countText(pods)}`;
      this.trace.emit(table(title, unchangedRows(pods)), { actor: "kubelet", level: 3 });
    }
  }

  #recovered(): void {
    const text = `The runtime lists its pods again, after ${plural(this.#failures, "relist")} that failed: what is different now is told now.`;
    this.trace.emit({ kind: "note", text }, { actor: "kubelet" });
    this.#failures = 0;
    this.#failure = undefined;
  }

  #begin(pods: readonly Pod[], found: readonly FoundPod[], reinspections: number): void {
    const changes = found.reduce((sum, one) => sum + one.changes.length, 0);
    const again = reinspections === 0 ? "" : `, ${plural(reinspections, "pod")} to inspect again`;
    const title = `Relist ${this.#count}: ${plural(changes, "change")} among ${countText(pods)}${again}`;
    const step = { kind: "step", title, upstream: { file: GENERIC, func: "Relist" } } as const;
    this.#stepSeq = this.trace.emit(step, { actor: "kubelet" }).seq;
    const rows = found.slice(0, this.#most).flatMap(changedRows);
    if (rows.length > 0) this.#emit(table("old state, new state", rows));
    if (!this.trace.wants(3)) return;
    const changed = new Set(found.map(({ pod }) => pod.podUid));
    const rest = unchangedRows(pods.filter(({ podUid }) => !changed.has(podUid)));
    if (rest.length > 0) this.#emit(table("unchanged", rest), 3);
  }

  get #most(): number {
    return this.trace.wants(3) ? MAX_PODS_TOLD_IN_FULL : MAX_PODS_TOLD;
  }

  /** Inside this relist's step, also from what runs beside others. */
  #emit(fact: Fact, level?: Level): void {
    const options = { actor: "kubelet", ...(this.#stepSeq === undefined ? {} : { causedBy: this.#stepSeq }) } as const;
    this.trace.emit(fact, level === undefined ? options : { ...options, level });
  }

  /** A pod with changes has been inspected, and its events are in the channel: said before anybody reads them. */
  told({ pod, changes, inspection, discarded }: PodOutcome): void {
    if (this.#podsTold++ >= this.#most) return;
    const name = `${pod.namespace}/${pod.name}`;
    this.#tellCache(name, inspection);
    if (inspection.kind === "failed" || inspection.kind === "outdated") return;
    for (const change of changes) {
      for (const event of change.events) {
        const fate = discarded.includes(event)
          ? " (lost: the channel is full)"
          : event.type === "ContainerChanged"
            ? " (not sent)"
            : "";
        const what = `${event.type} ${name} ${labelOf(change)}${fate}`;
        const hasExit = event.type === "ContainerDied" && inspection.kind === "stored";
        const exit = hasExit ? exitText(inspection.status, change.containerId) : "";
        this.#emit({ kind: "decision", what, why: `${reasonOf(change, event.type)}${exit}` });
      }
    }
  }

  /** A pod whose last inspection had failed has been inspected again. */
  reinspected({ pod, inspection }: PodOutcome): void {
    if (this.#podsTold++ < this.#most) this.#tellCache(`${pod.namespace}/${pod.name} (inspected again)`, inspection);
  }

  #tellCache(name: string, inspection: InspectionOutcome): void {
    const to = cacheText(inspection);
    if (to === undefined) return;
    if (inspection.kind === "failed") this.#emit({ kind: "error", message: `pod ${name}: ${to}` }, 1);
    else this.#emit({ kind: "state", subject: `cache ${name}`, what: "now", to });
  }

  /** Everything has been told that there was room for. */
  ended(changed: readonly PodOutcome[]): void {
    const untold = this.#podsTold - this.#most;
    if (untold > 0) this.#emit({ kind: "note", text: `and ${plural(untold, "more pod")}; -v 3 tells of more` });
    const lost = changed.reduce((sum, { discarded }) => sum + discarded.length, 0);
    if (lost === 0) return;
    const message = `the event channel is full (${this.channelCapacity}): ${plural(lost, "event")} of this relist discarded`;
    const hint =
      "The cache is up to date all the same; a pod worker that missed them sees it at its next regular sync, not now.";
    this.#emit({ kind: "error", message, hint });
  }
}

/** `; exit code 137 (OOMKilled)`, where the pod's status has the dead container. */
export function exitText({ containerStatuses }: PodStatus, containerId: string): string {
  const dead = containerStatuses.find((status) => status.containerId === containerId);
  if (dead?.state !== "exited") return "";
  return `; exit code ${dead.exitCode}${dead.reason === undefined ? "" : ` (${dead.reason})`}`;
}

function statusText({ containerStatuses, sandboxStatuses, ips }: PodStatus): string {
  const parts = [
    ...containerStatuses.map(({ name, state }) => `${name} ${state}`),
    ...sandboxStatuses.map(({ state }) => `sandbox ${state}`),
    ...(ips.length === 0 ? [] : [`IP ${ips.join(" ")}`]),
  ];
  return parts.join(", ") || "a status without containers and sandboxes";
}

/** What the cache has after an inspection; undefined: there is none. */
function cacheText(inspection: InspectionOutcome): string | undefined {
  switch (inspection.kind) {
    case "stored":
      return statusText(inspection.status);
    case "forgotten":
      return "entry deleted, the runtime has nothing of this pod any more";
    case "outdated":
      return "kept: an event of the runtime has brought a newer status already";
    case "failed":
      return `the inspection failed, and that is what the cache has now; its events wait for the next relist: ${messageOf(inspection.error)}`;
    case "skipped":
      return undefined;
  }
}

function table(title: string, rows: readonly (readonly string[])[]): TableFact {
  const omitted = rows.length - MAX_ROWS;
  return {
    kind: "table",
    title,
    columns: COLUMNS,
    rows: omitted > 0 ? rows.slice(0, MAX_ROWS) : rows,
    ...(omitted > 0 ? { omittedRows: omitted } : {}),
  };
}

function changedRows({ pod, changes }: FoundPod): string[][] {
  return changes.map((change) => [`${pod.namespace}/${pod.name}`, labelOf(change), change.before, change.after]);
}

function unchangedRows(pods: readonly Pod[]): string[][] {
  const row = (pod: Pod, { containerId, name, state }: Container, isSandbox: boolean) => {
    const shown = convertState(state);
    return [`${pod.namespace}/${pod.name}`, labelOf({ containerId, name, isSandbox }), shown, shown];
  };
  return pods.flatMap((pod) => [
    ...pod.containers.map((container) => row(pod, container, false)),
    ...pod.sandboxes.map((sandbox) => row(pod, sandbox, true)),
  ]);
}

/** `app a152f936dc`, `sandbox 726f1b3a1d` */
function labelOf({
  name,
  containerId,
  isSandbox,
}: Pick<ContainerChange, "name" | "containerId" | "isSandbox">): string {
  return `${isSandbox ? "sandbox" : (name ?? "container")} ${containerId.slice(0, ID_LENGTH)}`;
}

function countText(pods: readonly Pod[]): string {
  let sandboxCount = 0;
  let containerCount = 0;
  for (const { sandboxes, containers } of pods) {
    sandboxCount += sandboxes.length;
    containerCount += containers.length;
  }
  return `${plural(pods.length, "pod")}, ${plural(sandboxCount, "sandbox", "es")}, ${plural(containerCount, "container")}`;
}

function plural(count: number, word: string, ending = "s"): string {
  return `${count} ${word}${count === 1 ? "" : ending}`;
}
