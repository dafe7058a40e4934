import type { LabSummary } from "../../lab/labs/format/library.js";
import { openPaths } from "../../lab/labs/format/open-library.js";
import type { LabPath } from "../../lab/labs/format/paths.js";
import type { Progress } from "../../lab/labs/progress/progress.js";
import type { LabMessage } from "../../lab/labs/session/message.js";
import { LocalizedError } from "../../util/i18n/message-error.js";
import { nearest } from "../../util/text/nearest.js";
import type { LearnContext } from "./context.js";
import { terminalFit } from "./menu/listing.js";
import { labTable, minutesLeft, nextLab, standingIn, titleTable } from "./standing.js";

/** `kubelab learn path`: all paths, or one with its labs. @param word id of a path; "": all. @throws LabError USAGE */
export async function showPaths(env: LearnContext, word: string): Promise<void> {
  const { store, context, say } = env;
  const paths = await openPaths();
  const progress = await store.load();
  const { stdout } = context.streams;
  if (word === "") {
    stdout.write(`${pathTable(env, paths, progress)}\n\n${say("pathHint")}\n`);
    return;
  }
  const path = paths.find(({ id }) => id === word);
  if (path === undefined) {
    const ids = paths.map(({ id }) => id);
    const like = nearest(ids, word);
    throw new LocalizedError("USAGE", say("noPath", { id: word }), say("noPathHint", { ids: like ?? ids.join(", ") }));
  }
  const labs = labsOf(env, path);
  stdout.write(
    `${path.title[env.language]}: ${path.about[env.language]}\n\n${labTable(labs, progress, env, terminalFit(env))}\n`,
  );
  const next = nextLab(labs, progress);
  if (next === undefined) return showPage(env, path, "stdout");
  stdout.write(`\n${say("pathNext", { id: next.id, minutes: minutesOf(labs, progress) })}\n`);
}

/** Shows the page of each path whose last open lab was this one. */
export async function showFinishedPaths(env: LearnContext, last: LabSummary): Promise<void> {
  const progress = await env.store.load();
  for (const path of await openPaths()) {
    const labs = labsOf(env, path);
    if (path.labs.includes(last.id) && nextLab(labs, progress) === undefined) showPage(env, path, "stderr");
  }
}

function showPage(env: LearnContext, path: LabPath, stream: "stdout" | "stderr"): void {
  const { say, language, context } = env;
  context.streams[stream].write(`\n${say("pathDone", { title: path.title[language] })}\n`);
  const page: LabMessage = { kind: "text", markdown: path.page[language] };
  env.renderer(stream).write(page);
}

function labsOf({ library }: LearnContext, { labs }: LabPath): readonly LabSummary[] {
  return labs.flatMap((id) => library.summaries.find((lab) => lab.id === id) ?? []);
}

function pathTable(env: LearnContext, paths: readonly LabPath[], progress: Progress): string {
  const { say, language } = env;
  const rows = paths.map((path) => {
    const labs = labsOf(env, path);
    const done = labs.filter((lab) => standingIn(lab, progress).state === "done").length;
    return [
      path.id,
      say("minutes", { count: minutesOf(labs, progress) }),
      `${done}/${labs.length}`,
      path.title[language],
    ];
  });
  const heads = (["columnId", "columnTime", "columnProgress", "columnTitle"] as const).map((key) => say(key));
  return titleTable([heads, ...rows], [1, 2], terminalFit(env)).lines.join("\n");
}

/** The minutes of the labs, without what is done. */
function minutesOf(labs: readonly LabSummary[], progress: Progress): number {
  return labs.reduce((sum, lab) => {
    const { state, done } = standingIn(lab, progress);
    return state === "done" ? sum : sum + minutesLeft(lab, done);
  }, 0);
}
