import { batch, computed, signal } from "@preact/signals";
import { defined } from "../../../util/defined.js";
import type { TraceEvent } from "../../events.js";
import type { EmbeddedFact } from "../facts.js";
import type { LiveKey, LiveRelist } from "../live-protocol.js";
import type { Chapter } from "./chapters/chapter.js";
import { Moment } from "./chapters/moment.js";
import { CHAPTERS } from "./chapters/registry.js";
import { Scene } from "./chapters/scene.js";
import { type Filter, filterSteps, NO_FILTER } from "./filter.js";
import { readLanguage } from "./language.js";
import { type FoldedRows, foldRows } from "./list/fold.js";
import { Cluster } from "./picture/cluster.js";
import { keyOf, type Thing } from "./picture/things.js";
import { isAnswer, type Plot } from "./plot.js";
import type { Repeat } from "./repeats.js";
import type { Step } from "./step.js";
import { type Link, Story } from "./story.js";
import { transportOf, whoOf } from "./words.js";

/** Longer lists of effects end with a hint about the rest. */
const MAX_EFFECTS = 200;
/** Steps whose messages move together when the selection goes forward. */
const MAX_AT_ONCE = 40;
/** The share of an overlong list that stays. Forgetting is expensive, so it must be rare. */
const KEPT_SHARE = 0.75;
/** Finding the repeats of more facts takes longer than a frame. */
const MAX_FOLDED_AT_ONCE = 5000;

/** What the list shows: what the command told, requests and calls and what they caused, or everything. */
export type View = "story" | "requests" | "all";

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
  readonly scene: Scene;
  /** after all facts so far */
  readonly now: Scene;
  /** everything that appears in the trace, each with its place in the picture */
  readonly ever: Cluster;
  /** undefined: after all steps up to now */
  readonly after: Step | undefined;
}

/** Which part of a request and its answer a step shows: each has a step of its own, or they share one. */
export interface Exchange {
  readonly part: "both" | "question" | "answer";
  /** the message to show for a step that is none itself */
  readonly sent?: Step;
  /** what wrote the answer, if the request's step shows it */
  readonly answer?: Step;
}

function plotText(plot: Plot | undefined, step: Step): string | undefined {
  const told = plot?.byStep.get(step);
  return told && `${whoOf(step)} ${told.text} ${transportOf(step.event)}`.toLowerCase();
}

/** Without the servers' decisions about each request. Some commands record everything at a high level, also their requests. */
function isRequestStep({ event }: Step): boolean {
  return event.level <= 2 || event.kind === "request" || event.kind === "rpc";
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
  readonly view = signal<View>("requests");
  /** the chosen story's title; undefined: the latest */
  readonly plotTitle = signal<string | undefined>(undefined);
  readonly filter = signal<Filter>(NO_FILTER);
  readonly selected = signal<Step | undefined>(undefined);
  /** the id of the address's step, if the trace has none of it; until a step is selected */
  readonly missing = signal("");
  /** only the chain of the selected step is shown */
  readonly isChainOnly = signal(false);
  readonly isPlaying = signal(false);
  /** of playing */
  readonly speed = signal(1);
  /** the keys of the running command's window, and what presses one */
  readonly windowKeys = signal<readonly LiveKey[]>([]);
  press: (key: string) => void = () => {};
  /** under the pointer, in the list or the timeline */
  readonly hovered = signal<Step | undefined>(undefined);
  /** of the timeline: how much it is enlarged, and by how many CSS pixels it is moved */
  readonly zoom = signal({ k: 1, x: 0 });
  /** whether repeats are shown once */
  readonly isFolding = signal(true);
  /** the origins of the repeats whose occurrences are all shown */
  readonly opened = signal<ReadonlySet<Step>>(new Set());
  readonly isPictureShown = signal(true);
  /** the reader has not chosen a view: a live page goes to each new story */
  #isViewFree = true;
  /** the picture shows the present, independent of the selection */
  readonly isFollowing = signal(false);
  /** the time of a running command's clock, Unix ms; undefined: it shows none */
  readonly clockMs = signal<number | undefined>(undefined);
  /** of the running command's kubelet, if it has one */
  readonly relist = signal<LiveRelist | undefined>(undefined);
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

  readonly plots = computed(() => {
    this.revision.value;
    return this.story.plots;
  });

  /** the story that is shown or would be; undefined for a trace without one */
  readonly plot = computed<Plot | undefined>(() => {
    const title = this.plotTitle.value;
    return this.plots.value.find((one) => one.title === title) ?? this.plots.value.at(-1);
  });

  /** the first and the last moment that the page shows, Unix ms */
  readonly span = computed(() => {
    this.revision.value;
    const { startMs, endMs } = (this.view.value === "story" ? this.plot.value : undefined) ?? this.story;
    return { startMs, endMs };
  });

  /** the steps of the view and the filter */
  readonly matching = computed<readonly Step[]>(() => {
    this.revision.value;
    const { story } = this;
    const plot = this.view.value === "story" ? this.plot.value : undefined;
    const all = this.view.value === "requests" ? story.steps.filter(isRequestStep) : story.steps;
    const steps = plot === undefined ? all : plot.steps.map(({ step }) => step);
    // A search finds only what rows show.
    const source = { steps, textOf: (step: Step) => plotText(plot, step) ?? story.textOf(step) };
    const selected = this.selected.value;
    // A search shows only what it found.
    const isSelected = (step: Step) => step === selected && this.filter.value.search === "";
    if (this.isChainOnly.value && selected !== undefined) {
      const chain = this.chain.value.all;
      const filter = { ...NO_FILTER, pod: this.filter.value.pod };
      const whole = plot === undefined ? { ...source, steps: story.steps } : source;
      return filterSteps(whole, filter, isSelected).filter((step) => chain.has(step));
    }
    return filterSteps(source, this.filter.value, isSelected);
  });

  /** The list has one occurrence of each repeat, unless it was opened. */
  readonly #folded = computed<FoldedRows>(() => {
    const steps = this.matching.value;
    const isOff = !this.isFolding.value || this.isChainOnly.value || this.view.value === "story";
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

  /** the selected step's row, or the last one before it: the step may be no row of this view. -1 without one */
  readonly place = computed(() => {
    const selectedMs = this.selected.value?.startMs ?? Number.NEGATIVE_INFINITY;
    return this.row.value >= 0 ? this.row.value : this.rows.value.findLastIndex(({ startMs }) => startMs <= selectedMs);
  });

  /** all facts so far, in the order in which they came */
  readonly #now = new Scene();
  readonly #ever = new Cluster(true);
  readonly #moment = new Moment();

  readonly picture = computed<Picture>(() => {
    this.revision.value;
    const after = this.isFollowing.value ? undefined : this.selected.value;
    const [now, ever] = [this.#now, this.#ever];
    if (after === undefined) return { cluster: now.cluster, scene: now, now, ever, after };
    const { steps } = this.story;
    // A step is over when it has its answer.
    const { sent = after } = (this.view.value === "story" && this.plot.value?.byStep.get(after)) || {};
    const scene = this.#moment.after(steps, steps.indexOf(sent) + 1);
    return { cluster: scene.cluster, scene, now, ever, after };
  });

  /** what the picture draws of a request and its answer at the selected step */
  readonly exchange = computed<Exchange>(() => {
    const { after } = this.picture.value;
    if (after === undefined) return { part: "both" };
    const plot = this.view.value === "story" ? this.plot.value : undefined;
    const request = isAnswer(after.event) ? this.story.causeOf(after) : undefined;
    if (request?.event.kind === "request") return { part: "answer", sent: request };
    const answer = this.story.answerTo(after);
    const isShown = (step: Step) => (plot === undefined ? this.view.value === "all" : plot.byStep.has(step));
    if (answer !== undefined && isShown(answer)) return { part: "question" };
    return { part: "both", ...defined({ sent: plot?.byStep.get(after)?.sent, answer }) };
  });

  readonly #answered = new Moment();

  /** What a chapter's picture is drawn from: a request that is drawn with its answer has passed its stations. */
  readonly chapterScene = computed<Scene>(() => {
    const { answer } = this.exchange.value;
    const { steps } = this.story;
    return answer === undefined ? this.picture.value.scene : this.#answered.after(steps, steps.indexOf(answer) + 1);
  });

  /** that the reader wants to see */
  readonly chosenChapter = signal<Chapter | undefined>(undefined);

  /** the selected step, or the last one of the story before it, that is about a chapter; and that chapter */
  readonly #ofStep = computed<{ readonly chapter?: Chapter; readonly event?: TraceEvent }>(() => {
    const { scene, now, after } = this.picture.value;
    if (after === undefined) return {};
    const told = this.plot.value?.steps.map(({ step }) => step) ?? [];
    for (const { event } of [...told.slice(0, told.indexOf(after)), after].reverse()) {
      const isAbout = (one: Chapter) => now.models.has(one) && one.isAbout?.(event, scene.models.get(one)) === true;
      const chapter = CHAPTERS.find(isAbout);
      if (chapter !== undefined) return { chapter, event };
    }
    return {};
  });

  /** the chosen one, else that of the command, else that of the selected step or before it; undefined for a trace without chapters */
  readonly shownChapter = computed<Chapter | undefined>(() => {
    const { scene, now } = this.picture.value;
    return this.chosenChapter.value ?? now.main ?? this.#ofStep.value.chapter ?? scene.latest ?? now.latest;
  });

  /** the fact that the chapter's picture is about; undefined: after all */
  readonly shownFact = computed<TraceEvent | undefined>(() => {
    const { chapter, event } = this.#ofStep.value;
    return chapter === this.shownChapter.value ? event : this.picture.value.after?.event;
  });

  /** The first facts of a file, while the browser still reads. */
  preview(facts: readonly EmbeddedFact[]): void {
    this.isReading.value = true;
    readLanguage(facts);
    this.isFolding.value = false;
    this.#take(facts);
    this.show();
  }

  /** The facts of a file, also those that `preview` has shown. */
  load(facts: readonly EmbeddedFact[]): void {
    this.isReading.value = false;
    // The first rows of a long list are shown before its repeats are found.
    this.isFolding.value = facts.length <= MAX_FOLDED_AT_ONCE;
    readLanguage(facts);
    this.#take(facts);
    this.show();
    const first = this.plot.value?.steps[0];
    if (first === undefined) return;
    this.view.value = "story";
    this.selected.value ??= first.step;
  }

  /** Facts that have just happened. The lists get them after `show`, because drawing takes longer than a frame. */
  receive(facts: readonly EmbeddedFact[]): void {
    readLanguage(facts);
    const added = this.#take(facts);
    if (this.isFollowing.value && added.length > 0) this.happened.value = added.slice(-MAX_AT_ONCE);
  }

  /** Shows what was received. */
  show(): void {
    batch(() => {
      this.revision.value++;
      const isFree = this.isFollowing.value && this.#isViewFree;
      if (isFree && this.plot.value !== undefined) this.view.value = "story";
    });
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
    for (const { event, bodies } of added) {
      this.#now.add(event, bodies);
      this.#ever.add(event, bodies);
    }
    return added;
  }

  /** Shows what happens now, or the cluster after the selected step. */
  follow(isFollowing: boolean): void {
    batch(() => {
      this.isFollowing.value = isFollowing;
      if (!isFollowing) return;
      this.isPlaying.value = false;
      this.plotTitle.value = undefined;
    });
  }

  select(step: Step | undefined): void {
    if (step === undefined) return;
    this.hovered.value = undefined;
    batch(() => {
      this.missing.value = "";
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

  /** Selects the direct cause, or the nearest one that the list has. */
  toCause(): void {
    this.select(this.#shown(this.chain.value.causes.toReversed()));
  }

  /** Selects the first effect, or the first one that the list has. */
  toEffect(): void {
    this.select(this.#shown(this.chain.value.effects.map(({ step }) => step)));
  }

  #shown(steps: readonly Step[]): Step | undefined {
    const plot = this.view.value === "story" ? this.plot.value : undefined;
    return plot === undefined ? steps[0] : steps.find((step) => plot.byStep.has(step));
  }

  /** Changes what the list shows. The selected step stays. */
  look(view: View): void {
    batch(() => {
      this.#isViewFree = view === "story";
      this.isChainOnly.value = false;
      this.view.value = view;
      const plot = this.plot.value;
      const selected = this.selected.value;
      if (view === "story" && plot !== undefined && (selected === undefined || !plot.byStep.has(selected)))
        this.select(plot.steps[0]?.step);
    });
  }

  /** Selects the step that is `by` rows away. @returns false at the end */
  move(by: number): boolean {
    const rows = this.rows.value;
    const at = this.place.value;
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
