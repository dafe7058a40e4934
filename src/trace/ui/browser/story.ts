import { startMs, TraceGraph } from "../../graph/graph.js";
import type { EmbeddedFact } from "../facts.js";
import { Lanes } from "./lanes.js";
import { messageName } from "./message-name.js";
import { isAnswer, type Plot, plotsOf } from "./plot.js";
import { Repeats } from "./repeats.js";
import type { Step } from "./step.js";
import { outcomeOf, titleOf, transportOf, whoOf } from "./words.js";

/** A step and how many steps lie between it and the one that the chain was asked for. */
export interface Link {
  readonly step: Step;
  readonly depth: number;
}

/** All facts of a run, by the time when they began. */
export class Story {
  readonly repeats = new Repeats((step) => this.causeOf(step));
  readonly steps: Step[] = [];
  readonly #graph = new TraceGraph();
  readonly #byId = new Map<string, Step>();
  readonly #texts = new Map<Step, string>();
  readonly #pods = new Set<string>();
  #endMs = Number.NEGATIVE_INFINITY;

  constructor(readonly lanes = new Lanes()) {}

  /** Facts may come in any order, also more than once. @returns the steps that are new, in the order of the facts */
  add(facts: readonly EmbeddedFact[]): Step[] {
    const added: Step[] = [];
    for (const { event, bodies } of facts) {
      if (!this.#graph.add(event)) continue;
      const lane = this.lanes.of(event);
      added.push({ event, bodies, startMs: startMs(event), lane, target: this.lanes.otherEnd(event) });
    }
    this.#append(added);
    return added;
  }

  /** A story that begins with one of the last steps. */
  last(count: number): Story {
    const story = new Story(this.lanes);
    const steps = this.steps.slice(-count);
    for (const event of [...steps.map((step) => step.event), ...this.#graph.stories]) story.#graph.add(event);
    story.#append(steps);
    return story;
  }

  #append(added: readonly Step[]): void {
    for (const step of added) {
      const { event } = step;
      this.steps.push(step);
      this.#byId.set(event.id, step);
      if (event.pod !== undefined) this.#pods.add(event.pod);
      this.#endMs = Math.max(this.#endMs, event.atMs);
    }
    this.repeats.add(added);
    // Sorting is stable, so facts of the same moment keep their order. It is fast for lists that are mostly sorted.
    const firstNew = this.steps.length - added.length;
    const isSorted = (i: number) => i === 0 || (this.steps[i - 1]?.startMs ?? 0) <= (this.steps[i]?.startMs ?? 0);
    if (!added.every((_, i) => isSorted(firstNew + i))) this.steps.sort((a, b) => a.startMs - b.startMs);
  }

  get startMs(): number {
    return this.steps[0]?.startMs ?? 0;
  }

  get endMs(): number {
    return Math.max(this.#endMs, this.startMs);
  }

  get pods(): readonly string[] {
    return [...this.#pods].sort();
  }

  get(id: string): Step | undefined {
    return this.#byId.get(id);
  }

  /** What the command told about its facts, the latest last. */
  get plots(): readonly Plot[] {
    return plotsOf(
      this.#graph.stories,
      (id) => this.#byId.get(id),
      ({ event }) => this.#graph.effectsOf(event).flatMap(({ id }) => this.#byId.get(id) ?? []),
    );
  }

  /** The text that the search reads, in lower case: what a row shows. */
  textOf(step: Step): string {
    const known = this.#texts.get(step);
    if (known !== undefined) return known;
    const name = step.event.kind === "state" ? "" : messageName(step);
    const shown = name === "" ? titleOf(step.event) : `${name} ${transportOf(step.event)}`;
    const text = `${whoOf(step)} ${outcomeOf(step.event) ?? ""} ${shown}`.toLowerCase();
    this.#texts.set(step, text);
    return text;
  }

  /** From the first step to the direct cause. */
  causesOf({ event }: Step): Step[] {
    return this.#graph
      .chainOf(event)
      .slice(0, -1)
      .flatMap(({ id }) => this.#byId.get(id) ?? []);
  }

  causeOf({ event }: Step): Step | undefined {
    const cause = this.#graph.causeOf(event);
    return cause && this.#byId.get(cause.id);
  }

  /** The step that writes the answer to a request; undefined if the trace does not have it. */
  answerTo({ event }: Step): Step | undefined {
    if (event.kind !== "request") return undefined;
    const answer = this.#graph.effectsOf(event).find(isAnswer);
    return answer && this.#byId.get(answer.id);
  }

  hasUnobservedCause({ event }: Step): boolean {
    return this.#graph.hasUnobservedCause(event);
  }

  /** What the step caused, depth first, at most `limit` steps. */
  effectsOf({ event }: Step, limit: number): Link[] {
    const links: Link[] = [];
    for (const { event: effect, depth } of this.#graph.walk(event)) {
      if (depth === 0) continue;
      if (links.length === limit) break;
      const step = this.#byId.get(effect.id);
      if (step !== undefined) links.push({ step, depth });
    }
    return links;
  }
}
