import type { Target } from "../../testbed/target/target.js";
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
  /** from the first step until the object was seen there */
  readonly tookMs: number;
  /** false: the servers run elsewhere, and their facts are in no trace of this command */
  readonly isWhole: boolean;
}

interface ResultOptions {
  readonly target: Target;
  readonly explains: boolean;
  readonly columns: number;
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

function wayLines(
  what: string,
  { title, steps, tookMs, isWhole }: Journey,
  { target, explains, columns, unicode, say = asItIs }: ResultOptions,
): string[] {
  const took = `in ${(tookMs / 1000).toFixed(3)} s, ${counted(steps.length, "step")}`;
  const head = `${what}: ${say(title)} ${say(took)}`;
  const inAscii = (text: string) => (unicode ? text : text.replaceAll("→", "->"));
  const numbered = steps.map((step) => ({ ...asNumbered(step, explains), text: inAscii(step.text) }));
  const lines = numberedLines(numbered, columns, unicode);
  if (isWhole) return [head, ...lines];
  const where =
    target.kind === "joined"
      ? "the cluster's own process traces them: `kubelab cluster up --trace FILE.ndjson`"
      : "its servers do not trace";
  return [head, ...lines, say(`Not seen here: what API server, scheduler, kubelet and runtime did; ${where}.`)];
}

function asNumbered({ upstream, why, ...step }: JourneyStep, explains: boolean): NumberedStep {
  const source = upstream === undefined ? [] : [`${upstream.file} ${upstream.func}`];
  return { ...step, more: explains ? [...(why === undefined ? [] : [why]), ...source] : [] };
}
