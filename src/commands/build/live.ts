import { type LiveRun, playLive } from "../../lab/build/live.js";
import type { Judgement } from "../../lab/chaos/verdict.js";
import type { TraceEvent } from "../../trace/events.js";
import { startMs } from "../../trace/graph/graph.js";
import { ChildAbort, onAbort } from "../../util/async/abort.js";
import { hasUnicode } from "../cli/colour.js";
import { factLine, factWords } from "../trace/fact-lines.js";
import type { BuildContext, Work } from "./open.js";
import { COMMAND_WORDS } from "./words.js";

/** More facts that differ are counted only. */
const MOST_SHOWN = 8;
/** Conditions are looked at once per second. */
const LAST_MS = 1_000;
/** IDs, and how long a request took. */
const GENERATED = /\b[0-9a-f]{8,64}\b|\(\d+ ms\b|\b10\.244\.\d+\.\d+|\b[\d-]{10}T[\d:.]+Z/g;

/** What a run of a node with the learner's part in it came to. */
export interface LiveVerdict {
  readonly isRight: boolean;
  readonly lines: readonly string[];
}

/**
 * Plays a task's scenario with the learner's part and with kubelab's own, and shows where the node behaves differently. Its own run is
 * played once; after the first verdict the next cluster is started ahead.
 */
export class LiveVerdicts implements Disposable {
  readonly #stop: ChildAbort;
  #own: Promise<LiveRun> | undefined;
  #next: Prepared | undefined;

  constructor(
    readonly build: BuildContext,
    readonly work: Work,
  ) {
    this.#stop = new ChildAbort(build.context.signal);
  }

  /** @param isLast no other verdict follows */
  async verdict(signal: AbortSignal, isLast: boolean): Promise<LiveVerdict> {
    const { build, work } = this;
    const { give, run, stop } = this.#next ?? this.#prepare();
    this.#next = undefined;
    using _ = onAbort(signal, stop);
    give(work.path);
    this.#own ??= this.#playOwn();
    const [yours, own] = await Promise.all([run, this.#own]);
    signal.throwIfAborted();
    if (!isLast) this.#next = this.#prepare();
    return compared(build, yours, own);
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
  }

  #prepare(): Prepared {
    const stop = new ChildAbort(this.#stop.signal);
    let give = (_: string) => {};
    const file = new Promise<string>((resolve) => {
      give = resolve;
    });
    const run = this.#play(file, stop.signal);
    run.catch(() => {});
    return { give, run, stop: () => stop.abort() };
  }

  #playOwn(): Promise<LiveRun> {
    const run = this.#play("", this.#stop.signal);
    run.catch(() => {});
    return run;
  }

  #play(file: string | Promise<string>, signal: AbortSignal): Promise<LiveRun> {
    const { build, work } = this;
    const command = [...build.context.self.slice(1), "build", "live", work.task.id];
    return playLive({ clock: build.clock, signal }, command, file);
  }
}

/** A cluster that waits for the learner's file. */
interface Prepared {
  readonly give: (file: string) => void;
  readonly run: Promise<LiveRun>;
  readonly stop: () => void;
}

function compared(build: BuildContext, yours: LiveRun, own: LiveRun): LiveVerdict {
  const { language } = build;
  const words = COMMAND_WORDS[language];
  if (yours.judgements === undefined)
    return { isRight: false, lines: [words.liveFailed, `  ${whyNot(yours, language)}`] };
  const isRight = yours.judgements.every(({ holds }) => holds);
  const judged = yours.judgements.map((one) => `  ${one.holds ? "✓" : "✗"} ${judgementIn(one)}`);
  const heading = isRight ? words.liveRight(yours.facts.length) : words.liveWrong;
  return { isRight, lines: [heading, ...judged, ...differences(build, yours, own)] };
}

function judgementIn({ condition, wanted, atMs }: Judgement): string {
  return `${condition} (${wanted})${atMs === undefined ? "" : `: ${(atMs / 1000).toFixed(0)} s`}`;
}

function whyNot({ failed, end }: LiveRun, language: BuildContext["language"]): string {
  const words = COMMAND_WORDS[language];
  if (failed !== undefined) return failed;
  return end.kind === "ended"
    ? words.liveExit(String(end.exitCode ?? "?"))
    : words[end.kind === "too-slow" ? "liveSlow" : end.kind === "disturbed" ? "liveDisturbed" : "liveMemory"];
}

/** The facts of only one of the two runs, in order. */
function differences({ language, context }: BuildContext, yours: LiveRun, own: LiveRun): readonly string[] {
  const words = COMMAND_WORDS[language];
  // One of the two may have been decided earlier; the last second of it is not whole.
  const lastMs = ({ facts }: LiveRun) => Math.max(0, ...facts.map((event) => startMs(event) - zeroOf(facts)));
  const endMs = Math.min(lastMs(own), lastMs(yours)) - LAST_MS;
  const until = ({ facts }: LiveRun) => facts.filter((event) => startMs(event) - zeroOf(facts) < endMs);
  const section = (title: string, { facts }: LiveRun, events: readonly TraceEvent[]) => {
    if (events.length === 0) return [];
    const style = { zeroMs: zeroOf(facts), unicode: hasUnicode(context.env), say: context.say };
    const rest = events.length - MOST_SHOWN;
    return [
      title,
      ...events.slice(0, MOST_SHOWN).map((event) => `  ${factLine(event, style).trimStart()}`),
      ...(rest > 0 ? [`  ${words.moreFacts(rest)}`] : []),
    ];
  };
  const [ofOwn, ofYours] = [until(own), until(yours)];
  return [
    ...section(words.onlyOwn, own, without(ofOwn, ofYours)),
    ...section(words.onlyYours, yours, without(ofYours, ofOwn)),
  ];
}

function zeroOf([first]: readonly TraceEvent[]): number {
  return first === undefined ? 0 : startMs(first);
}

/** The facts that happened more often than among the others. Two pods that start at once may swap their containers' IDs. */
function without(facts: readonly TraceEvent[], others: readonly TraceEvent[]): readonly TraceEvent[] {
  const keyOf = (event: TraceEvent) => factWords(event, { zeroMs: 0, unicode: true }).replace(GENERATED, "*");
  const left = new Map<string, number>();
  for (const key of others.map(keyOf)) left.set(key, (left.get(key) ?? 0) + 1);
  return facts.filter((event) => {
    const key = keyOf(event);
    const count = left.get(key) ?? 0;
    left.set(key, count - 1);
    return count <= 0;
  });
}
