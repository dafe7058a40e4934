import type { KubeRequest, KubeResponse } from "../../staging/client-go/rest/client.js";
import { withQuery } from "../../staging/client-go/rest/paths.js";
import { SystemClock } from "../../util/clock.js";
import type { Agent } from "./agent.js";
import { NODE_NAME, type Place, type TimedChange } from "./place.js";
import type { RequestFilter, SeenRequest } from "./request-log.js";
import type { LevelPlan, Outcome, Verdict } from "./requirement.js";

/** Conditions are looked at this often, in real ms. */
const LOOK_MS = 50;
/** A time limit is at least this long in real time, so that fast clocks and busy machines fail no agent. */
const MIN_REAL_MS = 8_000;
/** The same for the start of an agent: loading a program does not become faster with the clock. */
export const START_REAL_MS = 20_000;
/** A step of an agent is some requests and their answers, each of which waits for the machine. */
const STEPS = 5;
/** The lines of evidence of one verdict. */
const MAX_EVIDENCE = 5;

/** One line of evidence, with its time in Unix ms. */
export interface Sighting {
  readonly atMs: number;
  readonly text: string;
}

/** The rest of a level cannot be examined. */
export class StopLevel extends Error {
  override readonly name = "StopLevel";
}

/** Gives a verdict for each requirement of a level. @throws StopLevel when the rest cannot be examined */
export type Examine = (exam: Exam) => Promise<void>;

/** A level and its examination. */
export interface Level extends LevelPlan {
  readonly examine: Examine;
}

/** One level of one agent: its cluster, what was seen, and the verdicts so far. */
export class Exam implements AsyncDisposable {
  readonly verdicts: Verdict[] = [];
  readonly startMs: number;
  readonly nodeName = NODE_NAME;
  /** the user that the agent's requests have */
  readonly user = `system:node:${NODE_NAME}`;
  readonly #wall = new SystemClock();
  /** sends and reads as the administrator */
  readonly request: <T>(request: KubeRequest) => Promise<KubeResponse<T>>;

  readonly #lag = { sumMs: 0, count: 0 };
  #agent: Agent;

  /**
   * @param uses whether the agent's command line has this placeholder
   * @param onVerdict gets each verdict at once
   */
  constructor(
    readonly level: LevelPlan,
    readonly place: Place,
    readonly startAgent: () => Agent,
    readonly uses: (placeholder: string) => boolean,
    readonly onVerdict: (verdict: Verdict) => void,
    readonly signal: AbortSignal,
  ) {
    this.startMs = place.clock.now();
    this.#agent = startAgent();
    this.request = (request) => place.client.request({ ...request, signal });
  }

  /** its current run */
  get agent(): Agent {
    return this.#agent;
  }

  /** Kills the agent as a power cut does, and starts it again with the same files. */
  async restartAgent(): Promise<void> {
    await this.#agent.close();
    this.#agent = this.startAgent();
  }

  /** Ends the agent. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#agent.close();
  }

  /** Gives a verdict, with its evidence in the order of time. The first one counts. @param why a sentence with the fact that decided it */
  judge(id: string, outcome: Outcome | boolean, why: string, evidence: readonly Sighting[] = []): void {
    if (this.verdicts.some(({ requirement }) => requirement.id === id)) return;
    const requirement = this.level.requirements.find((one) => one.id === id);
    if (requirement === undefined) throw new Error(`level ${this.level.number} has no requirement ${id}`);
    const result = outcome === true ? "passed" : outcome === false ? "failed" : outcome;
    const lines = evidence
      .toSorted((one, other) => one.atMs - other.atMs)
      .map(({ atMs, text }) => `+${this.seconds(atMs)} s  ${text}`);
    const shown = lines.length > MAX_EVIDENCE ? [...lines.slice(0, MAX_EVIDENCE), "..."] : lines;
    const verdict = { level: this.level, requirement, outcome: result, why, evidence: shown };
    this.verdicts.push(verdict);
    this.onVerdict(verdict);
  }

  /** Skips requirements that need a placeholder which the agent's command line does not have. */
  skipWithout(placeholder: string, ids: readonly string[]): void {
    if (this.uses(placeholder)) return;
    for (const id of ids) this.judge(id, "skipped", `the command line has no {${placeholder}}`);
  }

  hasFailed(id: string): boolean {
    return this.verdicts.some(({ requirement, outcome }) => requirement.id === id && outcome === "failed");
  }

  /** All that has no verdict yet fails for this reason. */
  failRest(why: string): void {
    for (const { id } of this.level.requirements) this.judge(id, "failed", why);
  }

  /**
   * Looks until there is a value. @param withinMs of the cluster's clock @param minRealMs of real time, unless the clock is real
   * @returns undefined if there is none in time
   * @throws StopLevel if the agent has ended
   */
  async until<T>(
    withinMs: number,
    look: () => Promise<T | undefined> | T | undefined,
    minRealMs = MIN_REAL_MS,
  ): Promise<T | undefined> {
    const { clock } = this.place;
    const endMs = clock.now() + withinMs;
    const endRealMs = this.#wall.now() + minRealMs;
    for (;;) {
      const value = await look();
      if (value !== undefined) return value;
      if (clock.now() > endMs && (clock.speed === 1 || this.#wall.now() > endRealMs)) return undefined;
      this.#throwIfEnded();
      await this.#sleep();
    }
  }

  /** Lets the time pass. @param ms of the cluster's clock @throws StopLevel if the agent has ended */
  async pass(ms: number): Promise<void> {
    const { clock } = this.place;
    for (const endMs = clock.now() + ms; clock.now() < endMs; ) {
      this.#throwIfEnded();
      await this.#sleep();
    }
  }

  async #sleep(): Promise<void> {
    const fromMs = this.#wall.now();
    await this.#wall.sleep(LOOK_MS, this.signal);
    this.#lag.sumMs += Math.max(0, this.#wall.now() - fromMs - LOOK_MS);
    this.#lag.count++;
  }

  /** By how much a busy machine delays each step of an agent, in ms of the cluster's clock: the examiner's own delays, several times. */
  get noiseMs(): number {
    const { sumMs, count } = this.#lag;
    return (sumMs / Math.max(1, count)) * this.place.clock.speed * STEPS;
  }

  #throwIfEnded(): void {
    const { end } = this.agent;
    if (end !== undefined) throw new StopLevel(`The agent has ended: ${end.why}.`);
  }

  get now(): number {
    return this.place.clock.now();
  }

  /** The agent's requests. */
  requests(filter: RequestFilter = {}): readonly SeenRequest[] {
    return this.place.requests.find(filter);
  }

  /** What happened in the runtime to a container of a pod, or to its sandbox if `container` is absent. */
  changesOf(pod: string, container?: string): readonly TimedChange[] {
    return this.place.changes.filter(
      (one) => one.pod === pod && (container === undefined ? one.kind === "sandbox" : one.name === container),
    );
  }

  /** `3.1`: seconds since the level began */
  seconds(atMs: number): string {
    return ((atMs - this.startMs) / 1000).toFixed(1);
  }

  /** Evidence lines. */
  linesOf(requests: readonly SeenRequest[]): readonly Sighting[] {
    return requests.map(({ atMs, verb, target, status }) => {
      return { atMs, text: `${verb} ${target.slice(0, 120)} ${status === 0 ? "(open)" : status}` };
    });
  }

  changeLines(changes: readonly TimedChange[]): readonly Sighting[] {
    return changes.map(({ atMs, kind, pod, name, from, to }) => {
      return { atMs, text: `${kind} ${pod}${name === undefined ? "" : `/${name}`}: ${from} -> ${to}` };
    });
  }

  /** An object as the API server has it. @returns undefined if there is none */
  async read<T>(path: string): Promise<T | undefined> {
    const { status, body } = await this.request<T>({ method: "GET", path });
    return status === 200 ? body : undefined;
  }

  /** Creates an object as the administrator. @throws LabError REFUSED */
  async create(path: string, body: object): Promise<void> {
    await this.place.client.expect({ method: "POST", path, body, signal: this.signal });
  }

  async remove(path: string, query: Readonly<Record<string, string | number>> = {}): Promise<void> {
    await this.request({ method: "DELETE", path: withQuery(path, query) });
  }
}
