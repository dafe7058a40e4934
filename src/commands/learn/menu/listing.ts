import type { LabSummary } from "../../../lab/labs/format/library.js";
import type { Progress } from "../../../lab/labs/progress/progress.js";
import { columnsOf } from "../../cli/width.js";
import type { LearnContext } from "../context.js";
import { type Fit, labTable } from "../standing.js";

/** kubelab's labs, and those of the learner's own that were begun. */
export async function knownLabs(env: LearnContext, progress: Progress): Promise<readonly LabSummary[]> {
  const { begunOwnLabs } = await import("../own/own-lab.js");
  return [...env.library.summaries, ...(await begunOwnLabs(env, progress))];
}

/** The width of stdout. @returns undefined for a pipe, which gets whole lines */
export function terminalColumns({ context }: LearnContext): number | undefined {
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
