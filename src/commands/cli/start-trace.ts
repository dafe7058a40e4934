import type { ChalkInstance } from "chalk";
import type { ProgramEdge } from "../../testbed/context.js";
import type { ClockOptions } from "../../testbed/target/target.js";
import type { Secrets } from "../../trace/redaction/secrets.js";
import { CalmSink } from "../../trace/terminal/calm.js";
import type { TerminalOptions } from "../../trace/terminal/options.js";
import { TerminalSink } from "../../trace/terminal/terminal-sink.js";
import { type Level, Trace, type TraceSink } from "../../trace/trace.js";
import { type Clock, type ClockReading, SystemClock } from "../../util/clock.js";
import type { Say } from "../../util/i18n/sentences.js";
import { pathFrom } from "../../util/os/paths.js";
import { hasUnicode, linker } from "./colour.js";
import type { OutputOptions } from "./options.js";
import type { ProgressLine } from "./progress.js";
import { formatOf } from "./trace-file.js";

const DEFAULT_VERBOSITY = 1;

/** The run whose trace starts. */
export interface TraceSession extends Pick<ProgramEdge, "env" | "cwd" | "streams" | "showFact"> {
  readonly secrets: Secrets;
  readonly clusterClock: Clock | undefined;
  /** the sinks that also receive the run's facts, on its clock */
  sinksOn(clock: Clock): readonly TraceSink[];
  readonly output: OutputOptions;
  /** the sentences of facts in the user's language; undefined: English */
  readonly say: Say | undefined;
  /** columns of stderr */
  readonly width: number;
  chalk(stream: "stderr"): ChalkInstance;
}

/** What a command itself wants. */
export interface TraceOptions extends ClockOptions {
  readonly wantsBodies?: boolean;
}

/** The clock and the trace of one command. */
export interface RunningTrace {
  readonly clock: Clock;
  readonly trace: Trace;
  readonly calm: CalmSink | undefined;
}

/** Starts the clock and the trace that a command's flags ask for. */
export function startTrace(
  session: TraceSession,
  line: ProgressLine,
  { speed = 1, clock: reading, wantsBodies: isAsked = false }: TraceOptions,
): RunningTrace {
  const joined = reading === undefined ? undefined : session.clusterClock;
  const clock = joined ?? clockAt(speed, reading);
  const { verbosity = DEFAULT_VERBOSITY, trace: file, ui } = session.output;
  const sinks = session.sinksOn(clock);
  const isWanted = sinks.some(({ wantsBodies = false }) => wantsBodies);
  const wantsBodies = isAsked || verbosity >= 4 || file !== undefined || ui !== undefined || isWanted;
  const trace = new Trace(clock, wantsBodies, session.secrets);
  const sink = terminalSink(session, line, verbosity, clock.now(), (event) => trace.numberOf?.(event));
  trace.addSink(sink);
  for (const own of sinks) trace.addSink(own);
  if (file !== undefined) trace.addSink(formatOf(file).open(pathFrom(session.cwd, file), session.say));
  return { clock, trace, calm: sink instanceof CalmSink ? sink : undefined };
}

function clockAt(speed: number, reading: ClockReading | undefined): Clock {
  const clock = new SystemClock(speed);
  if (reading !== undefined) clock.follow(reading);
  return clock;
}

/** Without -v, a terminal shows the calm form; a pipe or a file gets the facts of `-v 1`, without thousands of similar lines. */
function terminalSink(
  session: TraceSession,
  line: ProgressLine,
  verbosity: Level,
  startMs: number,
  numberOf: NonNullable<TerminalOptions["numberOf"]>,
): TraceSink {
  const { stderr } = session.streams;
  const options = {
    chalk: session.chalk("stderr"),
    width: () => session.width,
    unicode: hasUnicode(session.env),
    verbosity,
    startMs,
    say: session.say,
    numberOf,
  };
  const isAsked = session.output.verbosity !== undefined;
  const out = { write: (text: string) => line.write(text), show: session.showFact };
  if (isAsked || stderr.isTTY !== true) return new TerminalSink(options, out, !isAsked);
  const home = session.env["HOME"];
  const link = linker(stderr, options.chalk.level > 0);
  return new CalmSink({ ...options, home, link, onRepeat: (text) => line.showAside(text) }, line);
}

/** @throws LabError USAGE for an unknown ending */
export function checkTraceName(path: string): void {
  formatOf(path);
}

/** How fast a clock runs; 1 for a test's. */
export function speedOf(clock: Clock): number {
  return clock instanceof SystemClock ? clock.speed : 1;
}
