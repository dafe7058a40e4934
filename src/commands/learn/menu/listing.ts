import type { LabSummary } from "../../../lab/labs/format/library.js";
import type { Progress } from "../../../lab/labs/progress/progress.js";
import { defined } from "../../../util/defined.js";
import { columnsOf } from "../../cli/width.js";
import type { LearnContext } from "../context.js";
import { type Fit, labTable } from "../standing.js";

/** kubelab's labs, and those of the learner's own that were begun. */
async function knownLabs(env: LearnContext, progress: Progress): Promise<readonly LabSummary[]> {
  const { begunOwnLabs } = await import("../own/own-lab.js");
  return [...env.library.summaries, ...(await begunOwnLabs(env, progress))];
}

/** The width of stdout. @returns undefined for a pipe, which gets whole lines */
function terminalColumns({ context }: LearnContext): number | undefined {
  const { stdout } = context.streams;
  return stdout.isTTY === true ? columnsOf(stdout) : undefined;
}

/** @returns undefined for a pipe, which gets whole lines */
export function terminalFit(env: LearnContext): Fit | undefined {
  const columns = terminalColumns(env);
  const mark = env.renderer("stdout").options.unicode ? "…" : "...";
  return columns === undefined ? undefined : { columns, mark };
}

export async function listLabs(env: LearnContext, asJson: boolean): Promise<void> {
  const { store, context } = env;
  const progress = await store.load();
  const labs = await knownLabs(env, progress);
  const { stdout } = context.streams;
  const text = asJson
    ? JSON.stringify((await import("../report.js")).jsonReport(labs, progress), null, 2)
    : labTable(labs, progress, env, terminalFit(env));
  stdout.write(`${text}\n`);
}

/** The format of a report: words for the learner, JSON or JUnit's XML for a teacher's program. */
export type ReportFormat = "words" | "json" | "junit";

export async function report(env: LearnContext, format: ReportFormat): Promise<void> {
  const { store, context, say } = env;
  const progress = await store.load();
  const summaries = await knownLabs(env, progress);
  const { jsonReport, junitReport, wordReport } = await import("../report.js");
  const { buildInWords, buildReport } = await import("../build-report.js");
  const tasks = await (await import("../../../lab/build/library.js")).allTasks();
  const texts: Record<ReportFormat, () => string> = {
    words: () => {
      const options = { ...defined({ columns: terminalColumns(env) }), nowMs: env.wall.now() };
      return [wordReport(summaries, progress, say, options), ...buildInWords(tasks, progress, say, options)].join("\n");
    },
    json: () => JSON.stringify({ ...jsonReport(summaries, progress), build: buildReport(tasks, progress) }, null, 2),
    junit: () => junitReport(summaries, progress),
  };
  context.streams.stdout.write(`${texts[format]()}\n`);
}
