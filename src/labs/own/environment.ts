import { mkdtemp, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { kubeconfigText } from "../../client-go/clientcmd/kubeconfig-text.js";
import { NODES, objectPath } from "../../client-go/rest/paths.js";
import type { Language, Say } from "../../i18n/catalogue.js";
import { LocalizedError } from "../../i18n/message-error.js";
import { LAB_TAINT } from "../../testbed/join-plan.js";
import type { Target } from "../../testbed/target.js";
import { SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { Disposables } from "../../util/disposables.js";
import { writeFileAtomic } from "../../util/files.js";
import { markOf } from "../../util/processes.js";
import type { LabProcess } from "../context.js";
import type { LabEnvironment } from "../environment.js";
import { makeEnvironment, type Reader } from "../make-environment.js";
import { LabNodes } from "../nodes.js";
import { labFolderPrefix } from "../process-leftovers.js";
import type { LabDefinition } from "../schema.js";
import { chooseValues, fillAll } from "../variables.js";
import { flagsOf, openOwnCluster, type RealTarget } from "./cluster.js";
import { refuseLeftovers } from "./leftovers.js";
import { OwnObjects } from "./objects.js";
import { OwnNote } from "./record.js";
import { checkAnswers, checkRights } from "./rights.js";

/** Of a lab's nodes on a cluster of the learner's own, where a node-1 may well be. */
export const OWN_NODE_PREFIX = "lab-node-";

export interface OwnEnvironmentOptions extends Reader {
  readonly target: RealTarget;
  /** its nodes named for such a cluster */
  readonly definition: LabDefinition;
  /** chooses the values of the lab's variables */
  readonly seed: number;
  readonly say: Say;
}

/**
 * The learner's own cluster for one lab. Before anything is written the server is named, the rights that the lab needs are asked
 * for, and the learner agrees.
 * @throws LabError USAGE for a lab that needs the embedded cluster; FORBIDDEN with the rights that are missing; DECLINED
 */
export async function openOwnEnvironment(context: LabProcess, options: OwnEnvironmentOptions): Promise<LabEnvironment> {
  const { target, seed, say, columns, language } = options;
  const definition = fillAll(options.definition, chooseValues(options.definition, seed));
  const { id } = definition;
  if (definition.cluster !== "any") throw embeddedOnly(definition, language, say);
  const clock = new SystemClock();
  const cluster = await openOwnCluster(context, target, say);
  const { config, contextName, client } = cluster;
  const opened = new Disposables();
  opened.defer(() => cluster.close());
  const close = () => opened.close();
  try {
    await checkRights(client, definition.rights, say, context.signal);
    context.notice(`${contextName}: ${config.server}`);
    const nodeNames = Array.from({ length: definition.nodes }, (_, i) => `${OWN_NODE_PREFIX}${i + 1}`);
    const paths = [...(definition.makes ?? []), ...nodeNames.map((name) => objectPath(NODES, name))];
    await refuseLeftovers({ context, say, wall: clock }, cluster, target, paths);
    const question = say("confirmReal", { id, context: contextName, server: config.server });
    const agreed = await context.confirm(question, {
      ...defined({ yes: target.yes }),
      flag: "--yes",
    });
    if (!agreed) throw new LocalizedError("DECLINED", say("declined"), say("declinedHint"));
    const folder = await mkdtemp(labFolderPrefix());
    opened.defer(() => rm(folder, { recursive: true, force: true }));
    const claim = {
      lab: id,
      cluster: cluster.identity,
      context: contextName,
      server: config.server,
      flags: flagsOf(context, target),
      pid: process.pid,
      mark: await markOf(process.pid),
      paths,
    };
    const note = new OwnNote(context.env, clock, basename(folder));
    const things = await OwnObjects.claim({ client, wall: clock, say }, claim, note, context.signal);
    opened.defer(async () => {
      if (paths.length > 0) context.notice(say("takingAway"));
      for (const what of await things.remove()) context.notice(say("notCleaned", { what }));
    });
    things.follow();
    const kubeconfig = join(folder, "kubeconfig");
    const names = { cluster: contextName, user: contextName, context: contextName };
    await writeFileAtomic(kubeconfig, kubeconfigText(config, names), { mode: 0o600 });
    const onTarget: Target = {
      kind: "real",
      admin: config,
      description: contextName,
      kubeVersion: definition.kubeVersion,
      close: async () => {},
      [Symbol.asyncDispose]: async () => {},
    };
    const nodes = await LabNodes.open(
      { context, clock },
      {
        count: definition.nodes,
        prefix: OWN_NODE_PREFIX,
        folder,
        target: onTarget,
        taints: [LAB_TAINT],
        columns,
        settings: definition.nodeOptions,
      },
    );
    opened.defer(() => nodes[Symbol.asyncDispose]());
    await checkAnswers(client, definition.wants, say, context.signal);
    const setSpeed = () =>
      Promise.reject(new LocalizedError("USAGE", say("speedIsReal"), say("needsEmbeddedHint", { id })));
    const parts = {
      folder,
      server: config.server,
      kubeconfig,
      client,
      clock,
      nodes,
      onNode: onNode(definition.runsOn),
      variables: { KUBELAB_LAB_KUBECONFIG: kubeconfig },
      withoutKubectl: false,
      patienceMs: 0,
      canSetSpeed: false,
      setSpeed,
      close,
    };
    return await makeEnvironment(context, parts, options);
  } catch (error) {
    await close();
    throw error;
  }
}

/** Why a lab is not for a cluster of the learner's own, in the lab's words. */
export function embeddedOnly(
  { id, embeddedBecause }: Pick<LabDefinition, "id" | "embeddedBecause">,
  language: Language,
  say: Say,
): LocalizedError {
  const why = embeddedBecause?.[language] ?? say("needsEmbeddedWhy");
  return new LocalizedError("USAGE", say("needsEmbedded", { id, why }), say("needsEmbeddedHint", { id }));
}

/** What `kubectl run` takes so that a pod comes to the lab's node and to no other. */
function onNode(name: string): string {
  return ` --overrides='{"spec":{"nodeName":"${name}"}}'`;
}
