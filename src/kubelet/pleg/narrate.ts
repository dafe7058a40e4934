import type { TableFact } from "../../trace/events.js";
import type { Trace } from "../../trace/trace.js";
import type { Container, Pod, PodStatus } from "../container/runtime.js";
import { type ContainerChange, convertState, reasonOf } from "./events.js";
import { messageOf } from "./health.js";
import { hasFindings, type InspectionOutcome, type PodOutcome, type RelistReport } from "./report.js";

const GENERIC = "pkg/kubelet/pleg/generic.go";
/** Of so many pods each change is told (more of them at -v 3); of the rest, how many there are. */
const MAX_PODS_TOLD = 10;
const MAX_PODS_TOLD_IN_FULL = 200;
const MAX_ROWS = 600;
const COLUMNS = ["pod", "container", "old", "new"] as const;
/** Shorter than crictl shows IDs, so that a row fits 80 columns. */
const ID_LENGTH = 10;

type Done = RelistReport & { readonly outcome: "done" };

/** Tells a relist as facts: what differed, which events that gave and why, what the cache has now. */
export class RelistNarrator {
  #failure: string | undefined;
  #failures = 0;
  #count = 0;

  constructor(
    readonly trace: Trace,
    readonly channelCapacity: number,
  ) {}

  /** @param pods what the relist was answered */
  tell(report: RelistReport, pods: readonly Pod[]): void {
    this.#count++;
    if (report.outcome === "failed") {
      this.#tellFailure(report.error);
      return;
    }
    if (this.#failures > 0) this.#tellRecovery();
    if (hasFindings(report)) {
      this.#tellFindings(report, pods);
      return;
    }
    if (!this.trace.wants(3)) return;
    const title = `Relist ${this.#count}: nothing changed among ${countText(report)}`;
    this.trace.emit(table(title, unchangedRows(pods)), { actor: "kubelet", level: 3 });
  }

  /** Once, not every second: a runtime that is away stays away for a while. */
  #tellFailure(error: unknown): void {
    const message = messageOf(error);
    this.#failures++;
    const level = message === this.#failure ? 3 : 0;
    this.#failure = message;
    this.trace.emit(
      {
        kind: "error",
        message: `relist failed: ${message}`,
        hint: "Records and cache stay as they are; each relist from now on tries again.",
      },
      { actor: "kubelet", level },
    );
  }

  #tellRecovery(): void {
    const times = this.#failures === 1 ? "1 relist" : `${this.#failures} relists`;
    const text = `The runtime lists its pods again, after ${times} that failed: what is different now is told now.`;
    this.trace.emit({ kind: "note", text }, { actor: "kubelet" });
    this.#failures = 0;
    this.#failure = undefined;
  }

  #tellFindings(report: Done, pods: readonly Pod[]): void {
    const changes = report.changed.reduce((sum, { changes }) => sum + changes.length, 0);
    const again =
      report.reinspected.length === 0 ? "" : `, ${plural(report.reinspected.length, "pod")} inspected again`;
    const title = `Relist ${this.#count}: ${plural(changes, "change")} among ${countText(report)}${again}`;
    this.trace.step("kubelet", title, { upstream: { file: GENERIC, func: "Relist" } }, () => {
      const most = this.trace.wants(3) ? MAX_PODS_TOLD_IN_FULL : MAX_PODS_TOLD;
      const told = report.changed.slice(0, most);
      this.#tellTable(told, pods, report);
      for (const outcome of told) this.#tellPod(outcome);
      for (const outcome of report.reinspected.slice(0, most)) this.#tellReinspection(outcome);
      this.#tellRest(report, most);
    });
  }

  #tellTable(told: readonly PodOutcome[], pods: readonly Pod[], report: Done): void {
    const rows = told.flatMap(changedRows);
    if (rows.length > 0) this.trace.emit(table("old state, new state", rows), { actor: "kubelet" });
    if (!this.trace.wants(3)) return;
    const changed = new Set(report.changed.map(({ pod }) => pod.podUid));
    const rest = unchangedRows(pods.filter(({ podUid }) => !changed.has(podUid)));
    if (rest.length > 0) this.trace.emit(table("unchanged", rest), { actor: "kubelet", level: 3 });
  }

  #tellPod({ pod, changes, inspection, discarded }: PodOutcome): void {
    const name = `${pod.namespace}/${pod.name}`;
    this.#tellCache(name, inspection);
    if (inspection.kind === "failed" || inspection.kind === "outdated") return;
    for (const change of changes) {
      for (const event of change.events) {
        const isLost = discarded.includes(event);
        const what = `${event.type} ${name} ${labelOf(change)}`;
        const fate = isLost ? " (lost: the channel is full)" : event.type === "ContainerChanged" ? " (not sent)" : "";
        const why = `${reasonOf(change)}${event.type === "ContainerDied" ? exitText(inspection, change) : ""}`;
        this.trace.emit({ kind: "decision", what: `${what}${fate}`, why }, { actor: "kubelet" });
      }
    }
  }

  #tellCache(name: string, inspection: InspectionOutcome): void {
    const told = cacheText(inspection);
    if (told === undefined) return;
    if (inspection.kind === "failed") {
      this.trace.emit({ kind: "error", message: `pod ${name}: ${told}` }, { actor: "kubelet", level: 1 });
    } else {
      this.trace.emit({ kind: "state", subject: `cache ${name}`, what: "now", to: told }, { actor: "kubelet" });
    }
  }

  #tellReinspection({ pod, inspection }: PodOutcome): void {
    this.#tellCache(`${pod.namespace}/${pod.name} (inspected again)`, inspection);
  }

  #tellRest({ changed }: Done, most: number): void {
    if (changed.length > most) {
      const text = `and ${plural(changed.length - most, "more pod")} with changes`;
      this.trace.emit({ kind: "note", text }, { actor: "kubelet" });
    }
    const lost = changed.reduce((sum, { discarded }) => sum + discarded.length, 0);
    if (lost === 0) return;
    const message = `the event channel is full (${this.channelCapacity}): ${plural(lost, "event")} of this relist discarded`;
    const hint =
      "The cache is up to date all the same; a pod worker that missed them sees it at its next regular sync, not now.";
    this.trace.emit({ kind: "error", message, hint }, { actor: "kubelet" });
  }
}

/** `; exit code 137 (OOMKilled)`, where the inspection has found the dead container. */
function exitText(inspection: InspectionOutcome, { containerId }: ContainerChange): string {
  if (inspection.kind !== "stored") return "";
  const dead = inspection.status.containerStatuses.find((status) => status.containerId === containerId);
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

function changedRows({ pod, changes }: PodOutcome): string[][] {
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

function countText({ podCount, containerCount, sandboxCount }: Done): string {
  return `${plural(podCount, "pod")}, ${plural(sandboxCount, "sandbox", "es")}, ${plural(containerCount, "container")}`;
}

function plural(count: number, word: string, ending = "s"): string {
  return `${count} ${word}${count === 1 ? "" : ending}`;
}
