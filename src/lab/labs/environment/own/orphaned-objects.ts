import type { Clock } from "../../../../util/clock.js";
import { defined } from "../../../../util/defined.js";
import type { Say } from "../../../../util/i18n/catalogue.js";
import { LocalizedError } from "../../../../util/i18n/message-error.js";
import type { LabSummary } from "../../format/library.js";
import type { LabContext, LabProcess } from "../context.js";
import { stopOrphanedProcesses } from "../orphaned-processes.js";
import { flagsOf, type OwnCluster, openOwnCluster, type RealTarget } from "./cluster.js";
import { OwnObjects } from "./objects.js";
import { type FoundRecord, findRecords, forgetRecord } from "./record.js";

interface Deps {
  readonly context: LabProcess;
  readonly say: Say;
  readonly wall: Clock;
}

/**
 * Refuses to start a lab on the learner's own cluster while objects of a killed lab remain there.
 * @param paths of the new lab's objects, which must not belong to a running lab
 * @throws LocalizedError FAILED that lists the orphaned objects and the command to remove them
 */
export async function refuseOrphanedObjects(
  { context, say, wall }: Deps,
  cluster: OwnCluster,
  target: RealTarget,
  paths: readonly string[],
): Promise<void> {
  for (const found of await recordsOn(context, cluster)) {
    const { lab } = found.record;
    if (found.isAlive) {
      if (found.record.paths.some((path) => paths.includes(path))) throw playedNow(say, found);
      continue;
    }
    const { ours } = await OwnObjects.of({ client: cluster.client, wall, say }, found).left();
    if (ours.length === 0) {
      await forgetRecord(found);
      continue;
    }
    const message = say("leftBehind", { lab, context: cluster.contextName, names: ours.join(", ") });
    throw new LocalizedError("FAILED", message, say("leftBehindHint", { flags: flagsOf(context, target) }));
  }
}

/**
 * Removes the objects of killed labs from the learner's own cluster, after asking.
 * @param lab undefined: of all labs
 * @throws LabError FAILED if such a lab runs, or some objects remain; DECLINED; USAGE without a terminal and without
 * --yes
 */
export async function removeOrphanedObjects(
  env: LabContext,
  target: RealTarget,
  lab: LabSummary | undefined,
): Promise<void> {
  const { context, say } = env;
  // Processes that the killed lab left might create objects again.
  await stopOrphanedProcesses();
  const cluster = await openOwnCluster(context, target, say);
  try {
    const records = await recordsOn(context, cluster);
    const meant = records.filter(({ record }) => lab === undefined || record.lab === lab.id);
    if (meant.length === 0) {
      env.print("stdout", say("nothingLeft", { context: cluster.contextName }));
    }
    for (const found of meant) {
      if (found.isAlive) throw playedNow(say, found);
      await takeAway(env, cluster, target, found);
    }
  } finally {
    await cluster.close();
  }
}

async function takeAway(
  { context, say, wall, print }: LabContext,
  cluster: OwnCluster,
  target: RealTarget,
  found: FoundRecord,
): Promise<void> {
  const { lab } = found.record;
  const things = OwnObjects.of({ client: cluster.client, wall, say }, found);
  const { ours, others } = await things.left();
  if (others.length > 0) print("stderr", say("leftAlone", { names: others.join(", ") }));
  if (ours.length > 0) {
    const { contextName, config } = cluster;
    print("stderr", say("leftBehind", { lab, context: contextName, names: ours.join(", ") }));
    const question = say("confirmTakeAway", { lab, context: contextName, server: config.server });
    const agreed = await context.confirm(question, {
      ...defined({ yes: target.yes }),
      flag: "--yes",
    });
    if (!agreed)
      throw new LocalizedError("DECLINED", say("declined"), say("leftBehindHint", { flags: found.record.flags }));
    const left = await things.remove();
    if (left.length > 0) {
      const hint = say("leftBehindHint", { flags: found.record.flags });
      throw new LocalizedError("FAILED", say("notCleaned", { what: left.join("; ") }), hint);
    }
  }
  await forgetRecord(found);
  print("stdout", say("takenAway", { lab, names: ours.join(", ") || "-" }));
}

/** Without the right to read the cluster's UID, its address identifies it. */
async function recordsOn(
  { env }: LabProcess,
  { identity, config: { server } }: OwnCluster,
): Promise<readonly FoundRecord[]> {
  return (await findRecords(env)).filter(({ record }) => {
    const isNameless = identity === server || record.cluster === record.server;
    return isNameless ? record.server === server : record.cluster === identity;
  });
}

function playedNow(say: Say, { record: { lab, pid, context } }: FoundRecord): LocalizedError {
  return new LocalizedError("FAILED", say("playedNow", { lab, context }), say("playedNowHint", { pid }));
}
