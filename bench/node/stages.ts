import type { TraceEvent } from "../../src/trace/events.js";
import type { TraceSink } from "../../src/trace/trace.js";
import type { Sightings } from "./watcher.js";

/** A moment in the way of a pod: its name, and the first fact of the trace that shows it. */
export interface Moment {
  readonly stage: string;
  readonly matches: (fact: Fact, pod: string) => boolean;
}

/** A fact as it is looked at here: all of its texts. */
export interface Fact {
  readonly actor: string;
  readonly kind: string;
  readonly text: string;
  /** the pod that the actor worked on: `default/web` */
  readonly pod: string | undefined;
}

const step = (title: string) => (fact: Fact, pod: string) => fact.kind === "step" && fact.text === `${title} ${pod}`;
const rpc = (method: string) => (fact: Fact, pod: string) =>
  fact.kind === "rpc" && fact.text === method && (fact.pod === undefined || fact.pod === pod);

/** Ends the scheduler's stage, whose name says where it begins. */
export function isScheduled({ actor, text }: Fact, pod: string): boolean {
  return actor === "scheduler" && text.startsWith(`${pod} goes to`);
}

/** In the order in which a pod of a node comes to them; each ends the stage of its name. */
export const ON_NODE: readonly Moment[] = [
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

/** Keeps when which fact came, and says how long each stage of a pod took. */
export class StageSink implements TraceSink {
  /**
   * @param moments in the order in which a pod comes to them; each ends the stage of its name
   * @param level 3 tells the facts of several pods apart that are in the making at the same time
   */
  constructor(
    readonly moments: readonly Moment[] = [
      { stage: "scheduler: create call -> decision", matches: isScheduled },
      ...ON_NODE,
    ],
    readonly level: 2 | 3 = 2,
  ) {}

  #facts: { readonly ms: number; readonly fact: Fact }[] = [];
  /** how long each stage took, ms */
  readonly stages = new Map<string, number[]>();

  write(event: TraceEvent): void {
    this.#facts.push({ ms: performance.now(), fact: factOf(event) });
  }

  /** To be called when the pod has been seen Running. @param createdMs of the create call */
  pod(name: string, createdMs: number, { running = Number.NaN }: Sightings): void {
    const pod = `default/${name}`;
    const facts = this.#facts.filter(({ ms }) => ms >= createdMs && ms <= running);
    let at = 0;
    let beforeMs = createdMs;
    for (const { stage, matches } of this.moments) {
      const found = facts.findIndex(({ fact }, i) => i >= at && matches(fact, pod));
      if (found < 0) continue;
      at = found;
      const { ms } = facts[found] as (typeof facts)[number];
      this.#note(stage, ms - beforeMs);
      beforeMs = ms;
    }
    this.#note("watch: -> the client sees Running", running - beforeMs);
  }

  /** Forgets the facts of pods that are done. */
  forget(): void {
    this.#facts = [];
  }

  #note(stage: string, ms: number): void {
    const list = this.stages.get(stage) ?? [];
    list.push(ms);
    this.stages.set(stage, list);
  }
}

function factOf(event: TraceEvent): Fact {
  const { actor, kind, pod } = event;
  return { actor, kind, pod, text: textOf(event) };
}

function textOf(event: TraceEvent): string {
  switch (event.kind) {
    case "step":
      return event.title;
    case "decision":
      return event.what;
    case "event":
      return `${event.reason} ${event.message}`;
    case "note":
      return event.text;
    case "state":
      return `${event.subject} ${event.to}`;
    case "rpc":
      return event.method;
    case "request": {
      const [, namespace, name] = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/status$/.exec(event.path) ?? [];
      return namespace === undefined ? "" : `${event.method} ${namespace}/${name}`;
    }
    default:
      return "";
  }
}
