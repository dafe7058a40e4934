import type { OpenSession } from "../../../lab/labs/session/open-session.js";
import type { LabSession } from "../../../lab/labs/session/session.js";
import { allUntilOneEnds } from "../../../util/async/concurrency.js";
import type { Say } from "../../../util/i18n/catalogue.js";
import { ClusterTables } from "../../inspector/cluster-tables.js";
import type { StatusTable } from "../../inspector/status-table.js";
import type { LearnContext } from "../context.js";
import type { LabPage } from "./lab-page.js";

/** The lab's part of the live page, until it is disposed of. @returns undefined without --ui */
export async function openLabPage(env: LearnContext): Promise<(LabPage & Disposable) | undefined> {
  const { ui } = env.context;
  if (ui === undefined) return undefined;
  // Only a learner with a page loads it.
  const page = new (await import("./lab-page.js")).LabPage(env);
  const shown = ui.present(page);
  return Object.assign(page, { [Symbol.dispose]: () => shown[Symbol.dispose]() });
}

/** Shows a lab's steps and cluster on its page; without one it does nothing. */
export function presentLab(
  { context: { random } }: LearnContext,
  { session, environment }: OpenSession,
  page: LabPage | undefined,
): AsyncDisposable {
  if (page === undefined) return { [Symbol.asyncDispose]: async () => {} };
  const { client, clock, facts } = environment;
  const cluster = new ClusterTables({ client, clock, random, trace: facts.reads });
  page.follow(session);
  page.tables = () => cluster.tables();
  const stop = new AbortController();
  const following = allUntilOneEnds(stop.signal, [(signal) => cluster.run(signal)]).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  return {
    [Symbol.asyncDispose]: async () => {
      page.tables = () => [];
      stop.abort();
      await following;
    },
  };
}

/** All steps of a lab; the current one is named below. Pure. */
export function stepsOf(
  say: Say,
  { definition, text, step }: Pick<LabSession, "definition" | "text" | "step">,
): StatusTable {
  const { steps } = definition;
  const titleOf = (id: string) => text.steps[id]?.title ?? id;
  const at = step === undefined ? steps.length : steps.indexOf(step);
  const rows = steps.map(({ id }, i) => [
    String(i + 1),
    titleOf(id),
    i < at ? say("liveDone") : i === at ? say("liveNow") : "",
  ]);
  const current = step === undefined ? say("liveFinished") : `${at + 1}/${steps.length} ${titleOf(step.id)}`;
  return { title: text.title, columns: [say("liveStep"), say("liveTitle"), say("liveState")], rows, note: current };
}
