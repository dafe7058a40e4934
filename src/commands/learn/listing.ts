import type { LearnEnvironment } from "./environment.js";
import { labTable } from "./list.js";
import { jsonReport, junitReport } from "./report.js";

export async function listLabs({ library, store, language, say, context }: LearnEnvironment, asJson: boolean) {
  const progress = await store.load();
  const text = asJson
    ? JSON.stringify(jsonReport(library.summaries, progress), null, 2)
    : `${labTable(library.summaries, progress, language, say)}\n\n${say("ownMeans")}`;
  context.streams.stdout.write(`${text}\n`);
}

export async function report({ library, store, context }: LearnEnvironment, asJunit: boolean): Promise<void> {
  const progress = await store.load();
  const text = asJunit
    ? junitReport(library.summaries, progress)
    : JSON.stringify(jsonReport(library.summaries, progress), null, 2);
  context.streams.stdout.write(`${text}\n`);
}
