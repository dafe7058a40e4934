import { allTasks } from "../../lab/build/library.js";
import { defined } from "../../util/defined.js";
import { buildInWords, buildReport } from "./build-report.js";
import type { LearnContext } from "./context.js";
import { knownLabs, terminalColumns } from "./menu/listing.js";
import { jsonReport, junitReport, wordReport } from "./report.js";

/** The format of a report: words for the learner, JSON or JUnit's XML for a teacher's program. */
export type ReportFormat = "words" | "json" | "junit";

/** `kubelab learn report`: the labs, and the tasks of `kubelab build`. */
export async function printReport(env: LearnContext, format: ReportFormat): Promise<void> {
  const { store, context, say } = env;
  const progress = await store.load();
  const summaries = await knownLabs(env, progress);
  const tasks = await allTasks();
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
