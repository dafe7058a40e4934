import type { TraceEvent } from "../../../events.js";
import { english, say } from "../language.js";
import { type Chapter, funcIn, type Slot } from "./chapter.js";

/** Updates that became one. */
interface Update {
  readonly type: string;
  readonly count: number;
}

/** A pod's worker. */
interface Worker {
  /** the function that runs; `cache`: it waits for a newer status; `name`: for another pod of its name; undefined: idle */
  readonly doing: string | undefined;
  readonly update: Update;
  readonly waiting: Update | undefined;
  /** of its pod: `terminating` */
  readonly phase: string;
}

const NO_UPDATE: Update = { type: "", count: 0 };
const IDLE: Worker = { doing: undefined, update: NO_UPDATE, waiting: undefined, phase: "" };
/** The most workers that fit. */
const MAX_SLOTS = 12;

/** Pod workers: one slot per pod, in which updates merge while the worker is busy. */
export const podWorkers: Chapter<ReadonlyMap<string, Worker>> = {
  id: "pod-workers",
  title: "Pod workers",
  commands: ["pod-worker", "static-pod", "pod-manager"],
  isAbout: ({ actor, pod, kind }) => actor === "kubelet" && pod !== undefined && kind !== "request",
  read(model, event) {
    const func = funcIn(event, "pkg/kubelet/pod_workers.go");
    if (event.pod === undefined || func === undefined) return model;
    const before = model?.get(event.pod);
    if (before === undefined && model?.size === MAX_SLOTS) return model;
    const after = next(before ?? IDLE, event, func);
    return after === (before ?? IDLE) ? model : new Map(model).set(event.pod, after);
  },
  draw(now, ever) {
    return [{ kind: "slots", slots: [...ever.keys()].map((name) => slotOf(name, now?.get(name))) }];
  },
};

function next(worker: Worker, event: TraceEvent, func: string): Worker {
  if (event.kind === "state") {
    const phase = english(event.to);
    return { ...(phase === "finished" ? IDLE : worker), phase };
  }
  const text = event.kind === "note" ? event.text : event.kind === "decision" ? event.what : "";
  const why = event.kind === "decision" ? event.why : "";
  // `(sync)`, also in full-width parentheses
  const type = /[(（](\w+)[)）]/.exec(`${text} ${why}`)?.[1];
  const update: Update = { type: type ?? worker.update.type, count: Number(/\d+/.exec(why)?.[0] ?? 1) };
  switch (`${event.kind} ${func}`) {
    case "note UpdatePod":
      if (type === undefined) return worker;
      if (text.includes("lastUndeliveredWorkUpdate")) return { ...worker, waiting: update };
      return { ...worker, doing: "cache", update };
    case "decision UpdatePod":
      return type === undefined ? worker : { ...worker, waiting: update };
    case "note completeWorkQueueNext":
      if (worker.waiting === undefined) return { ...worker, doing: undefined };
      return { ...worker, doing: "cache", update: worker.waiting, waiting: undefined };
    case "decision managePodLoop":
      return { ...worker, doing: text.split(" ", 1)[0], update };
    case "decision allowPodStart":
      return { ...worker, doing: "name" };
    default:
      return worker;
  }
}

function slotOf(name: string, worker: Worker | undefined): Slot {
  const { type = "", count = 0 } = worker?.waiting ?? {};
  const one = count === 0 ? say("no update waits") : say("1 update waits: {1}", type);
  return {
    name,
    count,
    waiting: count > 1 ? say("{1} updates merged into the newest: {2}", count, type) : one,
    doing: worker === undefined ? say("does not exist yet") : doingWords(worker),
    tone: worker === undefined ? "ahead" : worker.doing === undefined ? "done" : "now",
  };
}

function doingWords({ doing, update: { type, count }, phase }: Worker): string {
  if (doing === "cache") return say("waits for a status newer than its last sync");
  if (doing === "name") return say("waits until the static pod of its name has finished");
  if (doing === undefined) return phase === "" || phase === "syncing" ? say("is idle") : phase;
  return say("{1} runs: {2}", doing, count > 1 ? say("the newest of {1} updates", count) : type);
}
