import type { OpenSession } from "../../../lab/labs/session/open-session.js";
import type { LabSession } from "../../../lab/labs/session/session.js";
import { allUntilOneEnds } from "../../../util/async/concurrency.js";
import type { Say } from "../../../util/i18n/catalogue.js";
import { ClusterTables } from "../../inspector/cluster-tables.js";
import type { StatusTable } from "../../inspector/status-table.js";
import type { LearnContext } from "../context.js";

/** Shows a lab on the live page: its steps, and the cluster. Without --ui it does nothing. */
export function presentLab(env: LearnContext, { session, environment }: OpenSession): AsyncDisposable {
  const { ui, random } = env.context;
  if (ui === undefined) return { [Symbol.asyncDispose]: async () => {} };
  const { client, clock, facts } = environment;
  const cluster = new ClusterTables({ client, clock, random, trace: facts.reads });
  const shown = ui.present({ tables: () => [stepsOf(env.say, session), ...cluster.tables()] });
  const stop = new AbortController();
  const following = allUntilOneEnds(stop.signal, [(signal) => cluster.run(signal)]).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  return {
    [Symbol.asyncDispose]: async () => {
      shown[Symbol.dispose]();
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
