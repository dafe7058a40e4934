import { basename, join } from "node:path";
import { kubeconfigText } from "../../../../staging/client-go/clientcmd/kubeconfig-text.js";
import { NODES, objectPath } from "../../../../staging/client-go/rest/paths.js";
import { LAB_TAINT } from "../../../../testbed/node/join-plan.js";
import { nearestRelease } from "../../../../testbed/target/server-release.js";
import { Disposables } from "../../../../util/async/disposables.js";
import { SystemClock } from "../../../../util/clock.js";
import { defined } from "../../../../util/defined.js";
import type { Say } from "../../../../util/i18n/catalogue.js";
import type { Language } from "../../../../util/i18n/language.js";
import { LocalizedError } from "../../../../util/i18n/message-error.js";
import { writeFileAtomic } from "../../../../util/os/files.js";
import { markOf } from "../../../../util/os/processes.js";
import { makeUniqueFolder } from "../../../../util/os/temporary-folder.js";
import type { LabDefinition } from "../../format/schema.js";
import { chooseValues, fillAll } from "../../format/variables.js";
import type { LabProcess } from "../context.js";
import type { LabEnvironment } from "../environment.js";
import { LabFacts } from "../facts.js";
import { makeEnvironment, type Reader } from "../make-environment.js";
import { LabNodes } from "../nodes.js";
import { endLabFolder, labFolderPrefix } from "../orphaned-processes.js";
import { flagsOf, type OwnCluster, openOwnCluster, type RealTarget } from "./cluster.js";
import { OwnObjects } from "./objects.js";
import { refuseOrphanedObjects } from "./orphaned-objects.js";
import { OwnNote } from "./record.js";
import { checkAnswers, checkRights } from "./rights.js";

/** Prefix of the lab's nodes on the learner's own cluster, which may have a node-1 already. */
export const OWN_NODE_PREFIX = "lab-node-";

export interface OwnEnvironmentOptions extends Reader {
  readonly target: RealTarget;
  /** the lab, with its nodes renamed for such a cluster */
  readonly definition: LabDefinition;
  /** chooses the values of the lab's variables */
  readonly seed: number;
  readonly say: Say;
}

/**
 * Opens the learner's own cluster for one lab. Before the first write it names the server, checks the required rights,
 * and asks the learner.
 * @throws LabError USAGE if the lab needs the embedded cluster; FORBIDDEN with the missing rights; DECLINED
 */
export async function openOwnEnvironment(context: LabProcess, options: OwnEnvironmentOptions): Promise<LabEnvironment> {
  const { target, seed, say, language } = options;
  const definition = fillAll(options.definition, chooseValues(options.definition, seed));
  const { id, nodes: count, makes = [], runsOn } = definition;
  if (definition.cluster !== "any") throw embeddedOnly(definition, language, say);
  const open = new Disposables();
  try {
    const clock = new SystemClock();
    const cluster = await openOwnCluster(context, target, say);
    open.defer(() => cluster.close());
    const { config, client } = cluster;
    const nodeNames = Array.from({ length: count }, (_, i) => `${OWN_NODE_PREFIX}${i + 1}`);
    const paths = [...makes, ...nodeNames.map((name) => objectPath(NODES, name))];
    const session: OwnSession = { context, options, definition, clock, cluster, paths };
    await agree(session);
    const folder = await makeUniqueFolder(labFolderPrefix());
    open.defer(() => endLabFolder(folder));
    const objects = await claimObjects(session, folder);
    open.defer(() => removeObjects(session, objects));
    const kubeconfig = await writeKubeconfig(cluster, folder);
    const facts = new LabFacts(clock);
    const nodes = await openNodes(session, folder, facts);
    open.defer(() => nodes[Symbol.asyncDispose]());
    await checkAnswers(client, definition.wants, say, context.signal);
    const parts = {
      folder,
      server: config.server,
      kubeconfig,
      kubeVersion: await releaseOf(cluster, definition.kubeVersion, context.signal),
      client,
      clock,
      nodes,
      facts,
      seesWrites: false,
      // Flags of `kubectl run` that bind the pod to the lab's node.
      onNode: ` --overrides='{"spec":{"nodeName":"${runsOn}"}}'`,
      variables: { KUBELAB_LAB_KUBECONFIG: kubeconfig },
      withoutKubectl: false,
      patienceMs: 0,
      canSetSpeed: false,
      setSpeed: () => Promise.reject(new LocalizedError("USAGE", say("speedIsReal"), say("needsEmbeddedHint", { id }))),
      close: () => open.close(),
    };
    return await makeEnvironment(context, parts, options);
  } catch (error) {
    await open.close();
    throw error;
  }
}

interface OwnSession {
  readonly context: LabProcess;
  readonly options: OwnEnvironmentOptions;
  /** with its variables replaced */
  readonly definition: LabDefinition;
  readonly clock: SystemClock;
  readonly cluster: OwnCluster;
  /** paths of the objects that the lab creates */
  readonly paths: readonly string[];
}

/** Checks rights and orphaned objects, then asks the learner. @throws LabError FORBIDDEN, FAILED, DECLINED */
async function agree({ context, options, definition, clock, cluster, paths }: OwnSession): Promise<void> {
  const { target, say } = options;
  const { contextName, config, client } = cluster;
  await checkRights(client, definition.rights, say, context.signal);
  context.notice(`${contextName}: ${config.server}`);
  await refuseOrphanedObjects({ context, say, wall: clock }, cluster, target, paths);
  const question = say("confirmReal", { id: definition.id, context: contextName, server: config.server });
  const agreed = await context.confirm(question, { ...defined({ yes: target.yes }), flag: "--yes" });
  if (!agreed) throw new LocalizedError("DECLINED", say("declined"), say("declinedHint"));
}

/** Records the lab's objects before it creates them. @throws LabError FAILED if one exists */
async function claimObjects(
  { context, options, definition, clock, cluster, paths }: OwnSession,
  folder: string,
): Promise<OwnObjects> {
  const { say, target } = options;
  const claim = {
    lab: definition.id,
    cluster: cluster.identity,
    context: cluster.contextName,
    server: cluster.config.server,
    flags: flagsOf(context, target),
    pid: process.pid,
    mark: await markOf(process.pid),
    paths,
  };
  const note = new OwnNote(context.env, clock, basename(folder));
  const objects = await OwnObjects.claim({ client: cluster.client, wall: clock, say }, claim, note, context.signal);
  objects.follow();
  return objects;
}

/** The release of the learner's cluster, or the nearest known one; `otherwise` if the cluster does not report it. */
async function releaseOf({ client }: OwnCluster, otherwise: string, signal: AbortSignal): Promise<string> {
  const { status, body } = await client.request<{ readonly gitVersion?: string }>({
    method: "GET",
    path: "/version",
    signal,
  });
  return status === 200 && body.gitVersion !== undefined ? nearestRelease(body.gitVersion) : otherwise;
}

async function removeObjects({ context, options: { say }, paths }: OwnSession, objects: OwnObjects): Promise<void> {
  if (paths.length > 0) context.notice(say("takingAway"));
  for (const what of await objects.remove()) context.notice(say("notCleaned", { what }));
}

async function writeKubeconfig({ config, contextName }: OwnCluster, folder: string): Promise<string> {
  const file = join(folder, "kubeconfig");
  const names = { cluster: contextName, user: contextName, context: contextName };
  await writeFileAtomic(file, kubeconfigText(config, names), { mode: 0o600 });
  return file;
}

function openNodes(
  { context, definition, clock, cluster }: OwnSession,
  folder: string,
  facts: LabFacts,
): Promise<LabNodes> {
  const { nodes: count, nodeOptions: settings, kubeVersion } = definition;
  const close = async () => {};
  const { contextName: description, config: admin } = cluster;
  const target = { kind: "real", admin, description, kubeVersion, close, [Symbol.asyncDispose]: close } as const;
  return LabNodes.open(
    { context, clock, facts },
    { count, prefix: OWN_NODE_PREFIX, folder, target, taints: [LAB_TAINT], settings },
  );
}

/** The lab's reason for not running on the learner's own cluster. */
export function embeddedOnly(
  { id, embeddedBecause }: Pick<LabDefinition, "id" | "embeddedBecause">,
  language: Language,
  say: Say,
): LocalizedError {
  const why = embeddedBecause?.[language] ?? say("needsEmbeddedWhy");
  return new LocalizedError("USAGE", say("needsEmbedded", { id, why }), say("needsEmbeddedHint", { id }));
}
