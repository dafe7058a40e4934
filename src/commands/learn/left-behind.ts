import type { CliContext } from "../../cli/context.js";
import type { Say } from "../../labs/catalogue.js";
import type { LabSummary } from "../../labs/library.js";
import { SpokenError } from "../../labs/said-error.js";
import type { Clock } from "../../util/clock.js";
import type { LearnEnvironment } from "./environment.js";
import { clearLeftovers } from "./leftovers.js";
import { flagsOf, type OwnCluster, openOwnCluster, type RealTarget } from "./own-cluster.js";
import { type FoundRecord, findRecords, forgetRecord } from "./own-record.js";
import { OwnThings } from "./own-things.js";
import { wrap } from "./text-width.js";

interface Deps {
  readonly context: CliContext;
  readonly say: Say;
  readonly wall: Clock;
}

/**
 * A lab begins on a cluster of the learner's own only where no killed one has left anything.
 * @param paths that the lab would make: none of one that is played now
 * @throws SpokenError FAILED with what is left of which lab, and what takes it away
 */
export async function refuseLeftBehind(
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
    const { ours } = await OwnThings.of({ client: cluster.client, wall, say }, found).left();
    if (ours.length === 0) {
      await forgetRecord(found);
      continue;
    }
    const message = say("leftBehind", { lab, context: cluster.contextName, names: ours.join(", ") });
    throw new SpokenError("FAILED", message, say("leftBehindHint", { flags: flagsOf(context, target) }));
  }
}

/**
 * Takes away what killed labs have left on a cluster of the learner's own, after asking.
 * @param lab undefined: of all labs
 * @throws LabError FAILED while such a lab goes on, and when something could not be taken away; DECLINED; USAGE without a
 * terminal and without --yes
 */
export async function takeAwayLeft(
  env: LearnEnvironment,
  target: RealTarget,
  lab: LabSummary | undefined,
): Promise<void> {
  const { context, say } = env;
  // What a killed lab has kept running might make something again.
  await clearLeftovers();
  const cluster = await openOwnCluster(context, target, say);
  try {
    const records = await recordsOn(context, cluster);
    const meant = records.filter(({ record }) => lab === undefined || record.lab === lab.id);
    if (meant.length === 0) {
      context.streams.stdout.write(`${say("nothingLeft", { context: cluster.contextName })}\n`);
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
  { context, say, wall }: LearnEnvironment,
  cluster: OwnCluster,
  target: RealTarget,
  found: FoundRecord,
): Promise<void> {
  const { streams } = context;
  const { lab } = found.record;
  const inLines = (text: string, width = 80) => `${wrap(text, width).join("\n")}\n`;
  const things = OwnThings.of({ client: cluster.client, wall, say }, found);
  const { ours, others } = await things.left();
  const { columns } = streams.stderr;
  if (others.length > 0) streams.stderr.write(inLines(say("leftAlone", { names: others.join(", ") }), columns));
  if (ours.length > 0) {
    const { contextName, config } = cluster;
    streams.stderr.write(inLines(say("leftBehind", { lab, context: contextName, names: ours.join(", ") }), columns));
    const question = say("confirmTakeAway", { lab, context: contextName, server: config.server });
    const agreed = await context.confirm(question, {
      ...(target.yes === undefined ? {} : { yes: target.yes }),
      flag: "--yes",
    });
    if (!agreed)
      throw new SpokenError("DECLINED", say("declined"), say("leftBehindHint", { flags: found.record.flags }));
    const left = await things.remove();
    if (left.length > 0) {
      const hint = say("leftBehindHint", { flags: found.record.flags });
      throw new SpokenError("FAILED", say("notCleaned", { what: left.join("; ") }), hint);
    }
  }
  await forgetRecord(found);
  streams.stdout.write(inLines(say("takenAway", { lab, names: ours.join(", ") || "-" })));
}

/** Who may not read a cluster's own name knows it by its address. */
async function recordsOn(
  { env }: CliContext,
  { identity, config: { server } }: OwnCluster,
): Promise<readonly FoundRecord[]> {
  return (await findRecords(env)).filter(({ record }) => {
    const isNameless = identity === server || record.cluster === record.server;
    return isNameless ? record.server === server : record.cluster === identity;
  });
}

function playedNow(say: Say, { record: { lab, pid, context } }: FoundRecord): SpokenError {
  return new SpokenError("FAILED", say("playedNow", { lab, context }), say("playedNowHint", { pid }));
}
