import { fitted } from "../../util/text-width.js";
import type { LearnContext } from "./context.js";
import { labTable } from "./list.js";
import { jsonReport, junitReport, wordReport } from "./report.js";

export async function listLabs(env: LearnContext, asJson: boolean): Promise<void> {
  const { library, store, say, context } = env;
  const progress = await store.load();
  const labs = [...library.summaries, ...(await (await import("./own-lab.js")).begunOwnLabs(env, progress))];
  const { stdout } = context.streams;
  const columns = stdout.isTTY === true ? stdout.columns || 80 : undefined;
  const mark = env.renderer("stdout").options.unicode ? "…" : "...";
  // A pipe gets all of it.
  const cut = columns === undefined ? undefined : (line: string) => fitted(line, columns, mark);
  const text = asJson
    ? JSON.stringify(jsonReport(labs, progress), null, 2)
    : `${labTable(labs, progress, env, cut)}\n\n${say("ownMeans")}`;
  stdout.write(`${text}\n`);
}

/** The format of a report: words for the learner, JSON or JUnit's XML for a teacher's program. */
export type ReportFormat = "words" | "json" | "junit";

export async function report(env: LearnContext, format: ReportFormat): Promise<void> {
  const { library, store, context, say } = env;
  const progress = await store.load();
  const summaries = [...library.summaries, ...(await (await import("./own-lab.js")).begunOwnLabs(env, progress))];
  const texts: Record<ReportFormat, () => string> = {
    words: () => wordReport(summaries, progress, say),
    json: () => JSON.stringify(jsonReport(summaries, progress), null, 2),
    junit: () => junitReport(summaries, progress),
  };
  context.streams.stdout.write(`${texts[format]()}\n`);
}
