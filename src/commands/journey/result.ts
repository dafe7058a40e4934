import type { ChalkInstance } from "chalk";
import type { Target } from "../../testbed/target/target.js";
import type { TraceEvent } from "../../trace/events.js";
import { asItIs } from "../../trace/translated.js";
import type { Say } from "../../util/i18n/sentences.js";
import { counted } from "../../util/text/counted.js";
import type { CommandResult } from "../cli/context.js";
import { type NumberedStep, numberedLines } from "../cli/numbered-steps.js";
import type { JourneyManifest } from "./manifest.js";
import type { JourneyStep } from "./steps.js";

/** A part of an object's life. */
export interface Journey {
  /** `from the request to Running` */
  readonly title: string;
  readonly steps: readonly JourneyStep[];
  /** the fact of a step */
  readonly factOf: (id: string) => TraceEvent | undefined;
  /** from the first step until the object was seen there */
  readonly tookMs: number;
  /** false: the servers run elsewhere, and their facts are in no trace of this command */
  readonly isWhole: boolean;
}

interface ResultOptions {
  readonly target: Target;
  readonly explains: boolean;
  readonly columns: number;
  readonly chalk: ChalkInstance;
  /** with each fact as the trace has it */
  readonly isDetailed: boolean;
  /** the language of the text around the steps; default: English */
  readonly say?: Say | undefined;
  /** false: ASCII only */
  readonly unicode: boolean;
}

/** The numbered steps, and the same as JSON. */
export function journeyResult(
  manifest: JourneyManifest,
  ways: readonly Journey[],
  options: ResultOptions,
): CommandResult {
  const object = `${manifest.namespace}/${manifest.name}`;
  const kind = manifest.kind.toLowerCase();
  const text = ways.flatMap((way) => [...wayLines(`${kind} ${object}`, way, options), ""]).join("\n");
  const json = {
    [kind]: object,
    cluster: options.target.kind,
    journeys: ways.map(({ title, tookMs, steps }) => ({ title, tookMs, steps })),
  };
  return { text: text.trimEnd(), json };
}

function wayLines(what: string, { title, steps, tookMs, isWhole, factOf }: Journey, options: ResultOptions): string[] {
  const { target, columns, chalk, unicode, say = asItIs } = options;
  const took = `in ${(tookMs / 1000).toFixed(3)} s, ${counted(steps.length, "step")}`;
  const head = chalk.bold(`${what}: ${say(title)} ${say(took)}`);
  const numbered = steps.map((step) => asNumbered(step, factOf(step.fact), options));
  const lines = numberedLines(numbered, columns, unicode, chalk);
  if (isWhole) return [head, ...lines];
  const where =
    target.kind === "joined"
      ? "the cluster's own process traces them: `kubelab cluster up --trace FILE.ndjson`"
      : "its servers do not trace";
  return [head, ...lines, say(`Not seen here: what API server, scheduler, kubelet and runtime did; ${where}.`)];
}

function asNumbered(
  { number, because, atMs, actor, text, upstream, why, detail }: JourneyStep,
  event: TraceEvent | undefined,
  { explains, isDetailed, unicode }: ResultOptions,
): NumberedStep {
  const inAscii = (line: string) => (unicode ? line : line.replaceAll("→", "->").replaceAll("…", "..."));
  const more = [
    ...(isDetailed && detail !== text ? [detail] : []),
    ...(explains && why !== undefined ? [why] : []),
    ...(explains && upstream !== undefined ? [`${upstream.file} ${upstream.func}`] : []),
  ];
  return { ...{ number, because, atMs, actor, event }, text: inAscii(text), more: more.map(inAscii) };
}
