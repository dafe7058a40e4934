import assert from "node:assert/strict";
import { resolve } from "node:path";
import type { Program, ProgramEdge, Progress, ProgressText } from "../../testbed/context.js";
import type { Target, TargetOptions } from "../../testbed/target/target.js";
import type { Actor } from "../../trace/events.js";
import { onClock } from "../../trace/on-clock.js";
import { Secrets } from "../../trace/redaction/secrets.js";
import { printable, wrapBelowLabel } from "../../trace/terminal/text.js";
import type { Trace, TraceSink } from "../../trace/trace.js";
import { translatedSink } from "../../trace/translated.js";
import type { LiveServer } from "../../trace/ui/live-server.js";
import { ChildAbort } from "../../util/async/abort.js";
import { type Clock, SystemClock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { languageOf } from "../../util/i18n/language.js";
import { type Say, sentencesIn } from "../../util/i18n/sentences.js";
import type { Timer } from "../../util/timer.js";
import { chalkFor, hasUnicode } from "./colour.js";
import type { CliContext, EdgeWords, PrintedResult } from "./context.js";
import type { OutputOptions } from "./options.js";
import { ProgressLine } from "./progress.js";
import { worded } from "./result-language.js";
import type { RunningTrace, TraceOptions } from "./start-trace.js";
import { columnsOf } from "./width.js";

/** The least time for a start. A busy machine can take seconds to start a command with `--duration 1s`. */
const MIN_START_LIMIT_MS = 10_000;

/** The CliContext of one run of the CLI. */
export class CliSession implements CliContext {
  readonly env;
  readonly cwd;
  readonly streams;
  readonly random;
  readonly self;
  readonly #stop: ChildAbort;
  #startLimit: Timer | undefined;
  readonly secrets;
  readonly clusterClock: Clock | undefined;
  readonly #sink: TraceSink | undefined;
  #output: OutputOptions = { color: true };
  #words: EdgeWords = { error: "error: ", interrupted: "interrupted", livePage: "live page: " };
  #tracing: typeof import("./start-trace.js") | undefined;
  #running: RunningTrace | undefined;
  #ui: LiveServer | undefined;
  #isPageAnnounced = false;
  #progress: ProgressLine | undefined;
  #say: Say | undefined;
  #resultSay: Say | undefined;
  readonly onLines: ProgramEdge["onLines"];
  readonly showFact: ProgramEdge["showFact"];
  #exitCode = 0;

  constructor(
    edge: ProgramEdge,
    readonly program: Program,
  ) {
    this.env = edge.env;
    this.cwd = edge.cwd;
    this.streams = edge.streams;
    this.random = edge.random;
    this.self = edge.self;
    this.#stop = new ChildAbort(edge.signal);
    this.secrets = edge.secrets ?? new Secrets();
    this.clusterClock = edge.clusterClock;
    this.#sink = edge.sink;
    this.#say = edge.say;
    this.#resultSay = edge.say;
    this.onLines = edge.onLines;
    this.showFact = edge.showFact;
  }

  /** Aborts on Ctrl-C and when the start takes too long. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Called before the action of a command with --duration, which begins to count when the command has started. */
  limitStart(durationMs: number, clock: Clock = new SystemClock()): void {
    const limitMs = Math.max(durationMs, MIN_START_LIMIT_MS);
    const message = `the command has not started within ${limitMs / 1000} s, and --duration ends it`;
    const hint =
      "Check what it waits for: a file, a server or a runtime that does not answer. Or leave out --duration.";
    this.#startLimit = clock.timer(limitMs, () => this.#stop.abort(new LabError("TIMED_OUT", message, hint)));
  }

  /** Set if the start has taken too long. */
  get startFailure(): LabError | undefined {
    const { reason } = this.signal as { readonly reason: unknown };
    return reason instanceof LabError ? reason : undefined;
  }

  hasStarted(): void {
    this.#startLimit?.stop();
  }

  /** Called when a command's flags are parsed, before its action. */
  useOutput(output: OutputOptions): void {
    this.#output = output;
  }

  /**
   * Loads what `session` needs, and starts to serve the live page. A help and a usage error do without it.
   * @throws LabError USAGE if the port of --ui is taken
   */
  async load(): Promise<void> {
    this.#tracing = await import("./start-trace.js");
    const { ui, lang } = this.#output;
    // Programs search the text of a pipe or a file.
    const own = this.streams.stderr.isTTY === true ? languageOf(this.env) : "en";
    const isOpen = this.#say === undefined;
    if (lang !== undefined || isOpen) this.#say = (await sentencesIn(lang ?? own))?.say;
    const ofResult = this.streams.stdout.isTTY === true ? languageOf(this.env) : "en";
    if (lang !== undefined || isOpen) this.#resultSay = (await sentencesIn(lang ?? ofResult))?.say;
    if (ui === undefined) return;
    const { LiveServer } = await import("../../trace/ui/live-server.js");
    this.#ui = await LiveServer.open({ port: ui === true ? 0 : ui, clock: new SystemClock() });
  }

  get ui(): CliContext["ui"] {
    this.#announcePage();
    return this.#ui;
  }

  /** Runs when the command first uses the page, so that wrong flags are reported before. */
  #announcePage(): void {
    if (this.#ui === undefined || this.#isPageAnnounced) return;
    this.#isPageAnnounced = true;
    const text = `${this.#words.livePage}${this.#ui.url}`;
    this.notice(text);
    this.#progressLine().pin(text);
  }

  useWords(words: EdgeWords): void {
    this.#words = words;
  }

  /** The sinks that also receive the command's facts, on its clock or, inside a cluster, on the cluster's. */
  sinksOn(clock: Clock): readonly TraceSink[] {
    const page = this.#ui;
    const shown = page === undefined || this.#say === undefined ? page : translatedSink(page, this.#say);
    const own = this.#sink === undefined ? undefined : onClock(this.#sink, clock, this.clusterClock ?? clock);
    return [own, shown].filter((sink) => sink !== undefined);
  }

  get say(): Say | undefined {
    return this.#say;
  }

  get resultSay(): Say | undefined {
    return this.#resultSay;
  }

  get words(): EdgeWords {
    return this.#words;
  }

  get output(): OutputOptions {
    return this.#output;
  }

  notice(line: string): void {
    this.#progressLine().write(`${line}\n`);
  }

  print(result: PrintedResult): void {
    const { json, isProse = false, isPainted = false } = result;
    const { text: plain, lines } = worded(result, this.#resultSay);
    if (lines !== undefined && this.#output.json !== true) this.onLines?.(lines);
    this.#running?.calm?.flush();
    const { stdout } = this.streams;
    const wrapped = (line: string) => (isProse && stdout.isTTY ? wrapBelowLabel(line, columnsOf(stdout)) : [line]);
    // Names come from servers and runtimes. A pipe gets them unchanged.
    const shown = (stdout.isTTY && !isPainted ? printable(plain) : plain).split("\n").flatMap(wrapped);
    // The first line of prose is the result.
    if (isProse) shown[0] = this.chalk("stdout").bold(shown[0]);
    const text = this.#output.json ? JSON.stringify(json, null, 2) : shown.join("\n");
    if (text !== "") this.#progressLine().write(text.endsWith("\n") ? text : `${text}\n`, stdout);
  }

  /** Call `load` first. */
  session(options: TraceOptions): { clock: Clock; trace: Trace } {
    if (this.#running === undefined) {
      assert(this.#tracing !== undefined);
      this.#announcePage();
      this.#running = this.#tracing.startTrace(this, this.#progressLine(), options);
    }
    return this.#running;
  }

  handOverTrace(): string | undefined {
    const { trace, ...others } = this.#output;
    if (trace === undefined) return undefined;
    this.#tracing?.checkTraceName(trace);
    this.#output = others;
    return resolve(this.cwd, trace);
  }

  /** columns of stderr; a terminal without a known size reports 0 */
  get width(): number {
    return columnsOf(this.streams.stderr);
  }

  /** Removes the spinner, so that the next output starts on a new line. */
  stopProgress(): void {
    this.#progress?.clear();
  }

  chalk(stream: "stdout" | "stderr") {
    return chalkFor(stream, { env: this.env, isTTY: this.streams[stream].isTTY, wanted: this.#output.color });
  }

  /** the exit code of a run that ended normally */
  get exitCode(): number {
    return this.#exitCode;
  }

  exitWith(code: number): void {
    this.#exitCode = code;
  }

  async openTarget(
    command: string,
    options: TargetOptions,
    traceFor?: (trace: Trace, clock: Clock) => Trace,
  ): Promise<Target> {
    // Loaded on demand: --help and usage errors do not need it.
    const { openTarget } = await import("../../testbed/target/target.js");
    return this.#announce(command, await openTarget(this, options, traceFor));
  }

  #announce(command: string, target: Target): Target {
    const { trace, clock } = this.session({});
    const speed = this.#tracing?.speedOf(clock) ?? 1;
    const how = speed === 1 ? "" : `, time runs ${speed}x`;
    trace.emit({ kind: "note", text: `kubelab ${command} on ${target.description}${how}` }, { actor: "user" });
    if (target.kind !== "embedded" && (this.#output.verbosity ?? 1) >= 3) {
      const text = "This server logs its decisions in its own process (`kubelab cluster up -v 3`).";
      trace.emit({ kind: "note", text }, { actor: "apiserver", level: 3 });
    }
    return target;
  }

  /** The spinner is coloured and moves the cursor, so the terminal must allow both. */
  get showsProgress(): boolean {
    const isDrawable = this.streams.stderr.isTTY === true && this.env["TERM"] !== "dumb";
    return isDrawable && this.#output.json !== true && this.chalk("stderr").level > 0;
  }

  async folded<T>(doing: string, what: string, start: () => Promise<T>, shown?: Actor): Promise<T> {
    using _line = this.progress(doing);
    const calm = this.#running?.calm;
    let done: string | undefined;
    calm?.fold(shown);
    try {
      const started = await start();
      done = what;
      return started;
    } finally {
      calm?.unfold(done);
    }
  }

  progress(text: ProgressText): Progress {
    return this.#progressLine().start(text);
  }

  #progressLine(): ProgressLine {
    const say = (text: string) => this.#say?.(text) ?? text;
    const options = { enabled: this.showsProgress, unicode: hasUnicode(this.env), say };
    this.#progress ??= new ProgressLine(this.streams.stderr, options);
    return this.#progress;
  }

  async confirm(question: string, options: { readonly yes?: boolean; readonly flag: string }): Promise<boolean> {
    if (options.yes === true || (this.env["KUBELAB_LAB_KUBECONFIG"] ?? "") !== "") return true;
    this.#running?.calm?.flush();
    this.#progress?.clear();
    const { askYesNo } = await import("./prompts.js");
    try {
      return await askYesNo(question, options.flag, this.streams, this.signal);
    } finally {
      void this.#progress?.show();
    }
  }

  /** Closes the run's spinner and trace files. Safe to call twice. */
  async close(): Promise<void> {
    this.hasStarted();
    this.#stop[Symbol.dispose]();
    this.#progress?.clear();
    await this.#running?.trace.close();
    await this.#ui?.close();
  }
}
