import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { DELETED, isState, openCondition, parseCondition, pathOfObject } from "../../testbed/time/condition.js";
import type { TraceEvent } from "../../trace/events.js";
import { ownText } from "../../trace/story/step.js";
import type { TraceSink } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import { junitXml } from "../../util/text/junit.js";
import type { LabFacts } from "../labs/environment/facts.js";
import type { Scenario } from "./scenario.js";

/** What became of one expectation, or of a `when` that was never met. */
export interface Judgement {
  readonly condition: string;
  readonly holds: boolean;
  /** ms after the start; absent for what never happened */
  readonly atMs?: number;
  /** the fact that met the condition */
  readonly fact?: string;
  /** `within 60s`, `never, for 5m`, `fault node-stop` */
  readonly wanted: string;
}

/** Watches for one condition from a moment on. */
export class Watch implements Disposable {
  #condition: ReturnType<typeof openCondition> | undefined;
  /** when it was first met */
  metMs: number | undefined;
  fact: string | undefined;
  /** the facts before the last look; undefined before the first */
  #seen: number | undefined;

  constructor(
    readonly text: string,
    readonly deps: { readonly client: KubeClient; readonly facts: LabFacts },
    readonly fromMs: number,
    readonly endMs: number,
  ) {}

  isOpen(nowMs: number): boolean {
    return this.metMs === undefined && nowMs >= this.fromMs && nowMs <= this.endMs;
  }

  async look(nowMs: number, signal: AbortSignal): Promise<void> {
    if (!this.isOpen(nowMs)) return;
    this.#condition ??= openCondition(
      this.text,
      { client: this.deps.client, trace: tracesOf(this.deps.facts) },
      this.fromMs,
    );
    const { facts } = this.deps;
    const before = this.#seen;
    this.#seen = facts.count;
    if (!(await this.#condition.test(signal).catch(notWhileDown))) return;
    this.metMs = nowMs;
    // The first that met it since it was not met; what was met from the start, the last one wrote.
    const news = before === undefined ? undefined : facts.since(before).find(decides(this.text));
    const found = news ?? facts.since().findLast(decides(this.text));
    if (found !== undefined) this.fact = ownText(found);
  }

  [Symbol.dispose](): void {
    this.#condition?.[Symbol.dispose]();
  }
}

/** A fault can stop the API server, or make it untrusted: then nothing is known of its objects. */
function notWhileDown(error: unknown): boolean {
  if (error instanceof LabError && /^CLUSTER_(UNREACHABLE|NOT_TRUSTED)$/.test(error.code)) return false;
  throw error;
}

/** Whether a fact has met a condition: the write of the object's state, the Event, or the fact with the text. */
function decides(condition: string): (event: TraceEvent) => boolean {
  const parsed = parseCondition(condition);
  if (parsed.kind === "fact") return (event) => JSON.stringify(event).includes(parsed.text);
  if (parsed.kind === "event") return (event) => event.kind === "event" && event.reason === parsed.text;
  const path = pathOfObject(parsed);
  return (event) => {
    if (event.kind !== "request" || event.method === "GET" || event.status === undefined || event.status >= 300)
      return false;
    const { responseBody: body } = event;
    return event.path.split("?")[0]?.replace(/\/status$/, "") === path && (body === undefined || isMet(parsed, body));
  };
}

function isMet(parsed: Parameters<typeof isState>[0], body: unknown): boolean {
  // The answer to a deletion is the object before it, or a Status.
  return parsed.state === DELETED || ((body as { status?: unknown }).status instanceof Object && isState(parsed, body));
}

/** @param startMs of the scenario, Unix ms */
export function judge(entry: Scenario["expect"][number], watch: Watch, startMs: number): Judgement {
  const { metMs, fact } = watch;
  const wanted = `${entry.never ? "never, for" : "within"} ${entry.within / 1000} s`;
  const evidence = metMs === undefined ? {} : { atMs: metMs - startMs, ...(fact === undefined ? {} : { fact }) };
  return { condition: entry.condition, holds: (metMs !== undefined) !== entry.never, wanted, ...evidence };
}

/** One line. */
export function judgementText(one: Judgement): string {
  return `${one.holds ? "holds" : "FAILS"}  ${one.condition} (${one.wanted}): ${whatHappened(one)}`;
}

function whatHappened({ atMs, fact }: Judgement): string {
  return atMs === undefined ? "never happened" : `at ${atMs / 1000} s${fact === undefined ? "" : `: ${fact}`}`;
}

/** A suite with a test case per line of the verdict. @param heading the suite's name */
export function verdictXml(heading: string, judgements: readonly Judgement[]): string {
  const cases = judgements.map((one) => ({
    group: "chaos",
    name: `${one.condition} (${one.wanted})`,
    ...(one.holds ? {} : { failure: whatHappened(one) }),
  }));
  return junitXml([{ name: heading, cases }]);
}

/** The facts of all parts of the cluster, for a condition. */
function tracesOf(facts: LabFacts): Parameters<typeof openCondition>[1]["trace"] {
  const followed = new Map<TraceSink, Disposable>();
  return {
    addSink: (sink) =>
      void followed.set(
        sink,
        facts.follow((event) => sink.write(event)),
      ),
    removeSink: (sink) => followed.get(sink)?.[Symbol.dispose](),
  };
}
