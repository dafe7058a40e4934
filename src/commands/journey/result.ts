import type { CommandResult } from "../../cli/context.js";
import type { Target } from "../../testbed/target.js";
import { wrap } from "../../trace/text.js";
import { counted } from "../../util/counted.js";
import type { PodManifest } from "./manifest.js";
import type { JourneyStep } from "./steps.js";

/** A part of a pod's life. */
export interface Journey {
  /** `from the request to Running` */
  readonly title: string;
  readonly steps: readonly JourneyStep[];
  /** from the first step until the pod was seen there */
  readonly tookMs: number;
  /** false: the servers run elsewhere, and their facts are in no trace of this command */
  readonly isWhole: boolean;
}

interface ResultOptions {
  readonly target: Target;
  readonly explains: boolean;
  readonly columns: number;
}

/** number, cause, time, actor, each with a space after it */
const INDENT = 4 + 5 + 8 + 11;

/** The numbered steps, and the same as JSON. */
export function journeyResult(manifest: PodManifest, ways: readonly Journey[], options: ResultOptions): CommandResult {
  const pod = `${manifest.namespace}/${manifest.name}`;
  const text = ways.flatMap((way) => [...wayLines(pod, way, options), ""]).join("\n");
  const json = {
    pod,
    cluster: options.target.kind,
    journeys: ways.map(({ title, tookMs, steps }) => ({ title, tookMs, steps })),
  };
  return { text: text.trimEnd(), json };
}

function wayLines(
  pod: string,
  { title, steps, tookMs, isWhole }: Journey,
  { target, explains, columns }: ResultOptions,
): string[] {
  const head = `pod ${pod}: ${title} in ${(tookMs / 1000).toFixed(3)} s, ${counted(steps.length, "step")}`;
  const lines = steps.flatMap((step) => stepLines(step, explains, columns));
  if (isWhole) return [head, ...lines];
  const where =
    target.kind === "joined"
      ? "the cluster's own process traces them: `kubelab cluster up --trace FILE.ndjson`"
      : "its servers do not trace";
  return [head, ...lines, `Not seen here: what API server, scheduler, kubelet and runtime did; ${where}.`];
}

/** `  7 ← 5    0.012 kubelet    Sync pod default/web`: the second number is the step that caused it. */
function stepLines(
  { number, because, atMs, actor, text, why, upstream }: JourneyStep,
  explains: boolean,
  columns: number,
): string[] {
  const width = Math.max(30, columns - INDENT);
  const cause = because === 0 ? "" : `←${because}`;
  const source = upstream === undefined ? [] : [`${upstream.file} ${upstream.func}`];
  const more = explains ? [...(why === undefined ? [] : [why]), ...source] : [];
  const [first = "", ...rest] = [
    ...wrap(text, width),
    ...more.flatMap((line) => wrap(line, width - 2).map((one) => `  ${one}`)),
  ];
  const head = `${String(number).padStart(3)} ${cause.padEnd(4)} ${(atMs / 1000).toFixed(3).padStart(7)} ${actor.padEnd(10)} `;
  return [head + first, ...rest.map((line) => " ".repeat(INDENT) + line)];
}
