import type { Kubelet, KubeletHooks } from "../../kubelet/app/kubelet.js";
import type { PodWorkerView } from "../../kubelet/podworkers/pod-workers.js";
import { podText } from "../../kubelet/types/pod-update.js";
import { newestPod } from "../../testbed/fixtures/pod-list.js";
import { timeText, WatchedCache } from "../../testbed/fixtures/watched-cache.js";
import type { Fact } from "../../trace/events.js";
import type { Level, Trace } from "../../trace/trace.js";
import type { LiveWindow } from "../../trace/ui/live-server.js";
import { untilAborted } from "../../util/async/concurrency.js";
import type { Clock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import type { CommandResult } from "../cli/context.js";
import type { InspectorKey } from "../inspector/key-table.js";
import { podWorkers, workText } from "../inspector/kubelet-tables.js";
import { type HttpAddress, servePage } from "../inspector/page-server.js";
import { podKeys } from "../inspector/pod-keys.js";
import type { OpenInspector } from "../inspector/run.js";
import { reportStatus, type StatusTable } from "../inspector/status-table.js";
import { fileOf } from "../inspector/trace.js";

/** Enough changes at once for a busy worker to merge them. */
const FLOOD = 10;
const TABLE_PERIOD_MS = 500;

/** Selects facts about workers, their updates and their waits. */
export function showsPodWorkers(fact: Fact, level: Level): Level | undefined {
  const isOfWorkers = fileOf(fact) === "pkg/kubelet/pod_workers.go";
  // Merged updates and the next sync belong to this inspector.
  if (isOfWorkers) return level === 2 ? 1 : level;
  if (
    fact.kind === "note" &&
    /^SyncLoop (\(PLEG\): event for pod|\(SYNC\)|ADD|UPDATE|DELETE|REMOVE|RECONCILE)/.test(fact.text)
  )
    return Math.min(level, 1) as Level;
  return fileOf(fact).startsWith("pkg/kubelet/container/") ? level : undefined;
}

/** Observes the workers of a kubelet. It is created before the kubelet. */
export class WorkerInspector {
  cache: WatchedCache | undefined;
  readonly hooks: KubeletHooks;
  #parts: Kubelet | undefined;

  constructor(
    deps: { readonly clock: Clock; readonly trace: Trace },
    readonly options: { readonly isHolding: boolean; readonly http: HttpAddress | undefined },
  ) {
    const podName = (podUid: string) => {
      const pod = this.#parts?.podManager.getPodByUid(podUid);
      return pod === undefined ? undefined : podText(pod);
    };
    this.hooks = {
      made: (parts) => {
        this.#parts = parts;
      },
      podCache: (inner) => {
        this.cache = new WatchedCache({ ...deps, inner, podName }, options);
        return this.cache;
      },
    };
  }

  /** Performs POST /setcache. @param id a pod's UID, its mirror pod's, or its name @throws LabError USAGE */
  release(id: string): string {
    const held = this.cache?.held ?? [];
    const parts = this.#parts;
    const byName = parts?.podManager.getPods().find((pod) => [podText(pod), pod.metadata.name].includes(id));
    const podUid = byName?.metadata.uid ?? parts?.podManager.translatePodUid(id) ?? id;
    if (this.cache?.release(podUid) === true) return podUid;
    const known = held.length === 0 ? "No worker is held now." : `Held are: ${held.join(", ")}.`;
    if (id === "") throw new LabError("USAGE", "the request names no worker", `Write it as ?id=UID. ${known}`);
    throw new LabError("USAGE", `no worker of a pod ${JSON.stringify(id)} is held`, known);
  }

  loops(inspector: OpenInspector, window: LiveWindow): readonly ((signal: AbortSignal) => Promise<void>)[] {
    const { http, isHolding } = this.options;
    const loops: ((signal: AbortSignal) => Promise<void>)[] = [];
    if (http !== undefined || isHolding) loops.push((signal) => this.#serve(inspector, window, signal));
    if (inspector.trace.wants(3)) loops.push((signal) => this.#followTable(inspector, signal));
    return loops;
  }

  async #serve(inspector: OpenInspector, window: LiveWindow, signal: AbortSignal): Promise<void> {
    const { trace } = inspector;
    const endpoints = {
      state: () => ({ node: inspector.nodeName, workers: this.#rows(inspector), held: this.cache?.held ?? [] }),
      post: (url: URL) => {
        if (url.pathname !== "/setcache") return undefined;
        return async () => ({ status: 200, body: { released: this.release(url.searchParams.get("id") ?? "") } });
      },
    };
    await using page = await servePage(trace, window, endpoints, this.options.http ?? { host: "127.0.0.1", port: 0 });
    trace.emit({ kind: "note", text: `Page: ${page.url}` }, { actor: "user" });
    const text = `Workers as JSON: ${page.url}state; release one: curl -X POST '${page.url}setcache?id=UID'`;
    trace.emit({ kind: "note", text }, { actor: "user" });
    await untilAborted(signal);
  }

  /** From -v 3, shows the table after each change. */
  async #followTable(inspector: OpenInspector, signal: AbortSignal): Promise<void> {
    let before = "";
    while (!signal.aborted) {
      const rows = this.#rows(inspector);
      const now = JSON.stringify(rows.map(({ sinceMs: _, ...row }) => row));
      if (now !== before && rows.length > 0) this.#showTable(inspector, 3);
      before = now;
      await inspector.clock.sleep(TABLE_PERIOD_MS, signal);
    }
  }

  keys(inspector: OpenInspector): readonly InspectorKey[] {
    const { fixture, parts } = inspector;
    const change = async (times: number, signal: AbortSignal) => {
      const pod = newestPod(parts, "regular");
      if (pod === undefined) throw new LabError("USAGE", "there is no pod to change", "Create one first: key p.");
      return fixture.changePod(pod, times, signal);
    };
    const isPossible = () => newestPod(parts, "regular") !== undefined;
    const release = async () => {
      const [podUid] = this.cache?.held ?? [];
      if (podUid === undefined) throw new LabError("USAGE", "no worker is held", "Create or change a pod first.");
      this.release(podUid);
      return undefined;
    };
    const common = podKeys(inspector);
    return [
      common.create,
      { key: "u", short: "update", label: "change the newest pod", isPossible, run: (signal) => change(1, signal) },
      {
        key: "f",
        short: "flood",
        label: `change it ${FLOOD} times in one go`,
        isPossible,
        run: (signal) => change(FLOOD, signal),
      },
      common.delete("delete the newest pod"),
      ...(this.options.isHolding
        ? [
            {
              key: "s",
              short: "set cache",
              label: "set the cache: release the worker held longest",
              isPossible: () => (this.cache?.held.length ?? 0) > 0,
              run: release,
            },
          ]
        : []),
      common.table("show all workers", () => this.#showTable(inspector, 1)),
    ];
  }

  result(inspector: OpenInspector): CommandResult {
    const workers = this.#rows(inspector);
    const lines = workers.map(({ pod, phase, doing }) => `${pod} ${phase}, worker: ${doing}`);
    const text = lines.length === 0 ? "no pod has a worker" : lines.join("\n");
    return { text, json: { node: inspector.nodeName, workers }, isProse: true };
  }

  #showTable(inspector: OpenInspector, level: Level): void {
    reportStatus(inspector.trace, "kubelet", this.status(inspector), level);
  }

  /** Each worker with its work and its waiting update. */
  status({ parts }: OpenInspector): StatusTable {
    return podWorkers(parts.podWorkers.views(), (podUid) => this.#isHeld(podUid));
  }

  #isHeld(podUid: string): boolean {
    return this.cache?.held.includes(podUid) === true;
  }

  #rows({ parts }: OpenInspector) {
    return parts.podWorkers.views().map((view) => ({
      pod: view.fullName.replace(/^(.*)_(.*)$/, "$2/$1"),
      uid: view.podUid,
      phase: view.phase,
      doing: this.#doing(view),
      queued: view.pending === undefined ? "" : workText(view.pending),
      sinceMs: view.activity.kind === "idle" ? null : view.activity.sinceMs,
      flags: { evicted: view.evicted, deleted: view.deleted, restartRequested: view.restartRequested },
    }));
  }

  #doing({ podUid, activity }: PodWorkerView): string {
    if (activity.kind === "idle") return "idle";
    if (activity.kind === "sync") return workText(activity.work);
    return `${this.#isHeld(podUid) ? "held" : "waits"} for > ${timeText(activity.newerThanMs)}`;
  }
}
