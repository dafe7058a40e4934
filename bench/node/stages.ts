import type { TraceEvent } from "../../src/trace/events.js";
import type { TraceSink } from "../../src/trace/trace.js";
import type { Sightings } from "./watcher.js";

/** A moment in the way of a pod: its name, and the first fact of the trace that shows it. */
interface Moment {
  readonly stage: string;
  readonly matches: (fact: Fact, pod: string) => boolean;
}

/** A fact as it is looked at here: all of its texts. */
interface Fact {
  readonly actor: string;
  readonly kind: string;
  readonly text: string;
}

const step = (title: string) => (fact: Fact, pod: string) => fact.kind === "step" && fact.text === `${title} ${pod}`;
const rpc = (method: string) => (fact: Fact) => fact.kind === "rpc" && fact.text === method;

/** In the order in which a pod comes to them; each ends the stage of its name. */
const MOMENTS: readonly Moment[] = [
  {
    stage: "scheduler: create call -> decision",
    matches: ({ actor, text }, pod) => actor === "scheduler" && text.startsWith(`${pod} goes to`),
  },
  {
    stage: "bind, watch: -> SyncLoop ADD",
    matches: ({ text }, pod) => text.startsWith("SyncLoop ADD") && text.includes(pod),
  },
  { stage: "worker: -> syncPod", matches: step("Sync pod") },
  { stage: "volumes, token: -> SyncPod of the runtime", matches: step("Bring the runtime to the spec of pod") },
  { stage: "sandbox: -> RunPodSandbox answered", matches: rpc("RunPodSandbox") },
  { stage: "image: -> ImageStatus answered", matches: rpc("ImageStatus") },
  { stage: "container: -> CreateContainer answered", matches: rpc("CreateContainer") },
  { stage: "start: -> StartContainer answered", matches: rpc("StartContainer") },
  {
    stage: "PLEG: -> ContainerStarted told",
    matches: ({ kind, text }, pod) => kind === "decision" && text.startsWith(`ContainerStarted ${pod} `),
  },
  {
    stage: "status: -> phase Running",
    matches: ({ kind, text }, pod) => kind === "state" && text === `pod ${pod} Running`,
  },
  {
    stage: "status: -> PATCH answered",
    matches: ({ kind, text }, pod) => kind === "request" && text === `PATCH ${pod}`,
  },
];

/** Keeps when which fact came, and says how long each stage of a pod took. Pods must not be in the making at the same time. */
export class StageSink implements TraceSink {
  readonly level = 2;
  #facts: { readonly ms: number; readonly fact: Fact }[] = [];
  readonly #stages = new Map<string, number[]>();

  write(event: TraceEvent): void {
    this.#facts.push({ ms: performance.now(), fact: factOf(event) });
  }

  /** To be called when the pod has been seen Running. @param createdMs of the create call */
  pod(name: string, createdMs: number, { running = Number.NaN }: Sightings): void {
    const pod = `default/${name}`;
    const facts = this.#facts.filter(({ ms }) => ms >= createdMs && ms <= running);
    let at = 0;
    let beforeMs = createdMs;
    for (const { stage, matches } of MOMENTS) {
      const found = facts.findIndex(({ fact }, i) => i >= at && matches(fact, pod));
      if (found < 0) continue;
      at = found;
      const { ms } = facts[found] as (typeof facts)[number];
      this.#note(stage, ms - beforeMs);
      beforeMs = ms;
    }
    this.#note("watch: -> the client sees Running", running - beforeMs);
    this.#facts = this.#facts.filter(({ ms }) => ms > running - 2_000);
  }

  #note(stage: string, ms: number): void {
    const list = this.#stages.get(stage) ?? [];
    list.push(ms);
    this.#stages.set(stage, list);
  }

  rows(median: (values: readonly number[]) => number, p99: (values: readonly number[]) => number): string[][] {
    return [...this.#stages].map(([stage, list]) => [
      stage,
      `${median(list).toFixed(1)} ms`,
      `${p99(list).toFixed(1)} ms`,
    ]);
  }
}

function factOf(event: TraceEvent): Fact {
  const { actor, kind } = event;
  switch (event.kind) {
    case "step":
      return { actor, kind, text: event.title };
    case "decision":
      return { actor, kind, text: event.what };
    case "note":
      return { actor, kind, text: event.text };
    case "state":
      return { actor, kind, text: `${event.subject} ${event.to}` };
    case "rpc":
      return { actor, kind, text: event.method };
    case "request": {
      const [, namespace, name] = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/status$/.exec(event.path) ?? [];
      return { actor, kind, text: namespace === undefined ? "" : `${event.method} ${namespace}/${name}` };
    }
    default:
      return { actor, kind, text: "" };
  }
}
