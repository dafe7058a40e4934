import { fitted } from "../../cli/text-width.js";
import type { LearnContext } from "./context.js";
import { labTable } from "./list.js";
import { jsonReport, junitReport } from "./report.js";

export async function listLabs(env: LearnContext, asJson: boolean): Promise<void> {
  const { library, store, say, context } = env;
  const progress = await store.load();
  const { stdout } = context.streams;
  const columns = stdout.isTTY === true ? stdout.columns || 80 : undefined;
  const mark = env.renderer("stdout").options.unicode ? "…" : "...";
  // A pipe gets all of it.
  const cut = columns === undefined ? undefined : (line: string) => fitted(line, columns, mark);
  const text = asJson
    ? JSON.stringify(jsonReport(library.summaries, progress), null, 2)
    : `${labTable(library.summaries, progress, env, cut)}\n\n${say("ownMeans")}`;
  stdout.write(`${text}\n`);
}

export async function report({ library, store, context }: LearnContext, asJunit: boolean): Promise<void> {
  const progress = await store.load();
  const text = asJunit
    ? junitReport(library.summaries, progress)
    : JSON.stringify(jsonReport(library.summaries, progress), null, 2);
  context.streams.stdout.write(`${text}\n`);
}
