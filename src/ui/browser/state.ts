import { batch, computed, signal } from "@preact/signals";
import type { EmbeddedFact } from "../facts.js";
import { type Filter, filterSteps, NO_FILTER } from "./filter.js";
import type { Step } from "./step.js";
import { type Link, Story } from "./story.js";

/** A longer list of effects says how to see the rest. */
const MAX_EFFECTS = 200;
/** Requests and what they caused, without the servers' decisions about each request. */
const DEFAULT_LEVEL = 2;

/** The selected step's causes and effects. */
export interface Chain {
  readonly causes: readonly Step[];
  readonly effects: readonly Link[];
  readonly hasMoreEffects: boolean;
  /** both, and the step itself */
  readonly all: ReadonlySet<Step>;
}

/** What the page shows. Components read signals; actions change them. */
export class PageState {
  readonly story = new Story();
  /** grows with each change of the story */
  readonly revision = signal(0);
  readonly filter = signal<Filter>({ ...NO_FILTER, level: DEFAULT_LEVEL });
  readonly selected = signal<Step | undefined>(undefined);
  /** only the chain of the selected step is shown */
  readonly isChainOnly = signal(false);
  readonly isPlaying = signal(false);
  /** the first and the last row in view: indexes into `rows` */
  readonly inView = signal<readonly [first: number, last: number]>([0, 0]);

  readonly chain = computed<Chain>(() => {
    this.revision.value;
    const step = this.selected.value;
    if (step === undefined) return { causes: [], effects: [], hasMoreEffects: false, all: new Set() };
    const causes = this.story.causesOf(step);
    const effects = this.story.effectsOf(step, MAX_EFFECTS + 1);
    const hasMoreEffects = effects.length > MAX_EFFECTS;
    const shown = effects.slice(0, MAX_EFFECTS);
    return {
      causes,
      effects: shown,
      hasMoreEffects,
      all: new Set([...causes, step, ...shown.map((link) => link.step)]),
    };
  });

  readonly rows = computed<readonly Step[]>(() => {
    this.revision.value;
    if (this.isChainOnly.value && this.selected.value !== undefined) {
      const { all } = this.chain.value;
      return this.story.steps.filter((step) => all.has(step));
    }
    const selected = this.selected.value;
    return filterSteps(this.story, this.filter.value, (step) => step === selected);
  });

  /** the selected step's row; -1 without one */
  readonly row = computed(() => {
    const step = this.selected.value;
    return step === undefined ? -1 : this.rows.value.indexOf(step);
  });

  add(facts: readonly EmbeddedFact[]): void {
    this.story.add(facts);
    this.revision.value++;
  }

  select(step: Step | undefined): void {
    if (step !== undefined) this.selected.value = step;
  }

  /** Selects the step that is `by` rows away. @returns false at the end */
  move(by: number): boolean {
    const rows = this.rows.value;
    const at = this.row.value;
    const next = Math.max(0, Math.min(rows.length - 1, at + by));
    this.select(rows[next]);
    return next !== at;
  }

  change(filter: Partial<Filter>): void {
    batch(() => {
      this.isChainOnly.value = false;
      this.filter.value = { ...this.filter.value, ...filter };
    });
  }

  /** Hides a lane or a kind, or shows it again. */
  toggle(of: "hiddenLanes" | "hiddenKinds", name: string): void {
    const hidden = new Set(this.filter.value[of]);
    if (!hidden.delete(name)) hidden.add(name);
    this.change({ [of]: hidden });
  }
}
