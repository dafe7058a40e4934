import { batch, computed, signal } from "@preact/signals";
import type { EmbeddedFact } from "../facts.js";
import { ALL_LEVELS, type Filter, filterSteps, NO_FILTER } from "./filter.js";
import { type FoldedRows, foldRows } from "./fold.js";
import { Cluster } from "./picture/cluster.js";
import { Moment } from "./picture/moment.js";
import { keyOf, type Thing } from "./picture/things.js";
import type { Repeat } from "./repeats.js";
import type { Step } from "./step.js";
import { type Link, Story } from "./story.js";

/** Longer lists of effects end with a hint about the rest. */
const MAX_EFFECTS = 200;
/** The least share of steps that a page shows before a reader chooses. */
const MIN_SHARE = 0.1;
/** Steps whose messages move together when the selection goes forward. */
const MAX_AT_ONCE = 40;
/** The share of an overlong list that stays. Forgetting is expensive, so it must be rare. */
const KEPT_SHARE = 0.75;
/** Finding the repeats of more facts takes longer than a frame. */
const MAX_FOLDED_AT_ONCE = 5000;
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

/** The cluster at one moment. */
export interface Picture {
  readonly cluster: Cluster;
  /** undefined: after all steps up to now */
  readonly after: Step | undefined;
}

/** What the page shows. Components read signals; actions change them. */
export class PageState {
  story = new Story();
  /** the command runs: facts come while the page is open */
  readonly isLive: boolean;
  /** the browser still reads the file: more facts will come */
  readonly isReading = signal(false);
  /** grows with each change of the story */
  readonly revision = signal(0);
  readonly filter = signal<Filter>({ ...NO_FILTER, level: DEFAULT_LEVEL });
  readonly selected = signal<Step | undefined>(undefined);
  /** only the chain of the selected step is shown */
  readonly isChainOnly = signal(false);
  readonly isPlaying = signal(false);
  /** whether repeats are shown once */
  readonly isFolding = signal(true);
  /** the origins of the repeats whose occurrences are all shown */
  readonly opened = signal<ReadonlySet<Step>>(new Set());
  readonly isPictureShown = signal(true);
  /** the picture shows the present, independent of the selection */
  readonly isFollowing = signal(false);
  /** what has just happened, for the dots of the picture */
  readonly happened = signal<readonly Step[]>([]);
  /** the first and the last row in view: indexes into `rows` */
  readonly inView = signal<readonly [first: number, last: number]>([0, 0]);

  constructor({ isLive }: { readonly isLive: boolean }) {
    this.isLive = isLive;
    this.isFollowing.value = isLive;
  }

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

  /** the steps of the filter */
  readonly matching = computed<readonly Step[]>(() => {
    this.revision.value;
    if (this.isChainOnly.value && this.selected.value !== undefined) {
      const { all } = this.chain.value;
      return this.story.steps.filter((step) => all.has(step));
    }
    const selected = this.selected.value;
    return filterSteps(this.story, this.filter.value, (step) => step === selected);
  });

  /** The list has one occurrence of each repeat, unless it was opened. */
  readonly #folded = computed<FoldedRows>(() => {
    const steps = this.matching.value;
    const isOff = !this.isFolding.value || this.isChainOnly.value;
    return isOff
      ? { rows: steps, counters: new Map() }
      : foldRows(this.story, steps, this.opened.value, this.selected.value);
  });

  readonly rows = computed(() => this.#folded.value.rows);

  /** the rows that represent repeats */
  get counters(): ReadonlyMap<Step, Repeat> {
    return this.#folded.value.counters;
  }

  /** the selected step's row; -1 without one */
  readonly row = computed(() => {
    const step = this.selected.value;
    return step === undefined ? -1 : this.rows.value.indexOf(step);
  });

  /** all facts so far, in the order in which they came */
  readonly #now = new Cluster();
  readonly #moment = new Moment();

  readonly picture = computed<Picture>(() => {
    this.revision.value;
    const after = this.isFollowing.value ? undefined : this.selected.value;
    if (after === undefined) return { cluster: this.#now, after };
    const { steps } = this.story;
    return { cluster: this.#moment.after(steps, steps.indexOf(after) + 1), after };
  });

  /** The first facts of a file, while the browser still reads. */
  preview(facts: readonly EmbeddedFact[]): void {
    this.isReading.value = true;
    this.isFolding.value = false;
    this.#take(facts);
    this.show();
  }

  /** The facts of a file, also those that `preview` has shown. */
  load(facts: readonly EmbeddedFact[]): void {
    this.isReading.value = false;
    // The first rows of a long list are shown before its repeats are found.
    this.isFolding.value = facts.length <= MAX_FOLDED_AT_ONCE;
    this.#take(facts);
    this.show();
    // Some commands record everything at a high level.
    const isSparse = this.matching.value.length < this.story.steps.length * MIN_SHARE;
    if (isSparse) this.change({ level: ALL_LEVELS });
  }

  /** Facts that have just happened. The lists get them after `show`, because drawing takes longer than a frame. */
  receive(facts: readonly EmbeddedFact[]): void {
    const added = this.#take(facts);
    if (this.isFollowing.value && added.length > 0) this.happened.value = added.slice(-MAX_AT_ONCE);
  }

  /** Shows what was received. */
  show(): void {
    this.revision.value++;
  }

  /** Forgets the earliest facts if there are more than `most`. @returns how many */
  trim(most: number): number {
    const { length } = this.story.steps;
    if (length <= most) return 0;
    this.story = this.story.last(Math.ceil(most * KEPT_SHARE));
    return length - this.story.steps.length;
  }

  #take(facts: readonly EmbeddedFact[]): readonly Step[] {
    const added = this.story.add(facts);
    for (const { event } of added) this.#now.add(event);
    return added;
  }

  /** Shows what happens now, or the cluster after the selected step. */
  follow(isFollowing: boolean): void {
    batch(() => {
      this.isFollowing.value = isFollowing;
      if (isFollowing) this.isPlaying.value = false;
    });
  }

  select(step: Step | undefined): void {
    if (step === undefined) return;
    batch(() => {
      this.isFollowing.value = false;
      this.happened.value = this.#between(this.selected.value, step);
      this.selected.value = step;
    });
  }

  /** The steps after one step up to a later one, or only the later one if it is far away. */
  #between(from: Step | undefined, to: Step): readonly Step[] {
    const { steps } = this.story;
    const [start, end] = [from === undefined ? -1 : steps.indexOf(from), steps.indexOf(to)];
    return start < end && end - start <= MAX_AT_ONCE ? steps.slice(start + 1, end + 1) : [to];
  }

  /** Shows only the steps that concern a thing of the picture; choosing it again shows all. */
  choose(thing: Thing): void {
    const chosen = this.filter.value.thing;
    this.change({ thing: chosen !== undefined && keyOf(chosen) === keyOf(thing) ? undefined : thing });
  }

  /** Selects the step that is `by` rows away. @returns false at the end */
  move(by: number): boolean {
    const rows = this.rows.value;
    const at = this.row.value;
    const next = Math.max(0, Math.min(rows.length - 1, at + by));
    this.select(rows[next]);
    return next !== at;
  }

  /** Shows all occurrences of a repeat, or only the first. */
  open({ first }: Repeat): void {
    const opened = new Set(this.opened.value);
    if (!opened.delete(first)) opened.add(first);
    this.opened.value = opened;
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
