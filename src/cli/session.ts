import { resolve } from "node:path";
import type { Program, ProgramEdge, Progress, ProgressText } from "../testbed/context.js";
import type { ClockOptions, Target, TargetOptions } from "../testbed/target.js";
import { CalmSink } from "../trace/calm.js";
import { Secrets } from "../trace/secrets.js";
import { TerminalSink } from "../trace/terminal.js";
import { printable, wrapBelowLabel } from "../trace/text.js";
import { type Level, Trace, type TraceSink } from "../trace/trace.js";
import { type Clock, SystemClock } from "../util/clock.js";
import { pathFrom } from "../util/paths.js";
import { chalkFor, hasUnicode, linker } from "./colour.js";
import type { CliContext, CommandResult, EdgeWords } from "./context.js";
import type { OutputOptions } from "./options.js";
import { ProgressLine } from "./progress.js";
import { formatOf, openTraceFile } from "./trace-file.js";
import { columnsOf } from "./width.js";

const DEFAULT_VERBOSITY = 1;

/** The CliContext of one run of the CLI. */
export class CliSession implements CliContext {
  readonly env;
  readonly cwd;
  readonly streams;
  readonly random;
  readonly self;
  readonly signal;
  readonly secrets;
  readonly #clusterClock: Clock | undefined;
  #output: OutputOptions = { color: true };
  #words: EdgeWords = { error: "error: ", interrupted: "interrupted" };
  #running: { readonly clock: Clock; readonly trace: Trace } | undefined;
  #progress: ProgressLine | undefined;
  #calm: CalmSink | undefined;
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
    this.signal = edge.signal;
    this.secrets = edge.secrets ?? new Secrets();
    this.#clusterClock = edge.clusterClock;
  }

  /** Called when a command's flags are parsed, before its action. */
  useOutput(output: OutputOptions): void {
    this.#output = output;
  }

  useWords(words: EdgeWords): void {
    this.#words = words;
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

  print({ text: plain, json, isProse = false }: CommandResult): void {
    this.#calm?.flush();
    const { stdout } = this.streams;
    const wrapped = (line: string) => (isProse && stdout.isTTY ? wrapBelowLabel(line, columnsOf(stdout)) : [line]);
    // Names come from servers and runtimes. A pipe gets them unchanged.
    const shown = stdout.isTTY ? printable(plain) : plain;
    const text = this.#output.json ? JSON.stringify(json, null, 2) : shown.split("\n").flatMap(wrapped).join("\n");
    if (text !== "") this.#progressLine().write(text.endsWith("\n") ? text : `${text}\n`, stdout);
  }

  session(options: ClockOptions): { clock: Clock; trace: Trace } {
    this.#running ??= this.#start(options);
    return this.#running;
  }

  #start({ speed = 1, epochMs, epochClockMs }: ClockOptions): { clock: Clock; trace: Trace } {
    const joined = epochMs === undefined ? undefined : this.#clusterClock;
    const clock = joined ?? new SystemClock(speed, epochMs, epochClockMs);
    const { verbosity = DEFAULT_VERBOSITY, trace: file } = this.#output;
    const trace = new Trace(clock, verbosity >= 4 || file !== undefined, this.secrets);
    trace.addSink(this.#terminalSink(verbosity, clock.now()));
    if (file !== undefined) trace.addSink(openTraceFile(pathFrom(this.cwd, file)));
    return { clock, trace };
  }

  /** Without -v, a terminal shows the calm form; a pipe or a file gets all of it. */
  #terminalSink(verbosity: Level, startMs: number): TraceSink {
    const line = this.#progressLine();
    const options = {
      chalk: this.chalk("stderr"),
      width: () => this.width,
      unicode: hasUnicode(this.env),
      verbosity,
      startMs,
    };
    if (this.#output.verbosity !== undefined || this.streams.stderr.isTTY !== true) {
      return new TerminalSink(options, line);
    }
    const home = this.env["HOME"];
    const link = linker(this.streams.stderr, options.chalk.level > 0);
    this.#calm = new CalmSink({ ...options, home, link, onRepeat: (text) => line.showAside(text) }, line);
    return this.#calm;
  }

  handOverTrace(): string | undefined {
    const { trace, ...others } = this.#output;
    if (trace === undefined) return undefined;
    formatOf(trace);
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
    const { openTarget } = await import("../testbed/target.js");
    return this.#announce(command, await openTarget(this, options, traceFor));
  }

  #announce(command: string, target: Target): Target {
    const { trace, clock } = this.session({});
    const speed = clock instanceof SystemClock && clock.speed !== 1 ? `, time runs ${clock.speed}x` : "";
    trace.emit({ kind: "note", text: `kubelab ${command} on ${target.description}${speed}` }, { actor: "user" });
    if (target.kind !== "embedded" && (this.#output.verbosity ?? DEFAULT_VERBOSITY) >= 3) {
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

  progress(text: ProgressText): Progress {
    return this.#progressLine().start(text);
  }

  #progressLine(): ProgressLine {
    const options = { enabled: this.showsProgress, unicode: hasUnicode(this.env) };
    this.#progress ??= new ProgressLine(this.streams.stderr, options);
    return this.#progress;
  }

  async confirm(question: string, options: { readonly yes?: boolean; readonly flag: string }): Promise<boolean> {
    if (options.yes === true || (this.env["KUBELAB_LAB_KUBECONFIG"] ?? "") !== "") return true;
    this.#calm?.flush();
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
    this.#progress?.clear();
    await this.#running?.trace.close();
  }
}
