import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { CliContext, Target } from "../../cli/context.js";
import { pathFrom } from "../../cli/paths.js";
import type { KubeClient } from "../../client/client.js";
import { createClient } from "../../client/create-client.js";
import { loadRealKubeconfig } from "../../client/kubeconfig.js";
import { kubeconfigText } from "../../client/kubeconfig-text.js";
import { NODES, objectPath } from "../../client/paths.js";
import type { Say } from "../../labs/catalogue.js";
import type { LabPlace } from "../../labs/place.js";
import { SpokenError } from "../../labs/said-error.js";
import type { LabDefinition } from "../../labs/schema.js";
import type { Language } from "../../labs/text.js";
import { chooseValues, fillAll } from "../../labs/variables.js";
import { Trace } from "../../trace/trace.js";
import { SystemClock } from "../../util/clock.js";
import { writeFileAtomic } from "../../util/files.js";
import { LAB_TAINT } from "../bootstrap/plan.js";
import { LabNodes } from "./lab-nodes.js";
import { labFolderPrefix } from "./leftovers.js";
import { makePlace, type Reader } from "./made-place.js";
import { OwnThings } from "./own-things.js";

/** Which cluster of the learner's own a lab is played on. */
export interface RealTarget {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly yes?: boolean;
}

/** Of a lab's nodes on a cluster of the learner's own, where a node-1 may well be. */
export const OWN_NODE_PREFIX = "lab-node-";

export interface RealPlaceOptions extends Reader {
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
export async function openRealPlace(context: CliContext, options: RealPlaceOptions): Promise<LabPlace> {
  const { target, seed, say, columns, language } = options;
  const definition = fillAll(options.definition, chooseValues(options.definition, seed));
  const { id } = definition;
  if (definition.cluster !== "any") throw embeddedOnly(definition, language, say);
  const { config, contextName } = await loadRealKubeconfig(context.env, {
    ...target,
    ...(target.kubeconfig === undefined ? {} : { kubeconfig: pathFrom(context.cwd, target.kubeconfig) }),
  });
  if (config.authorize !== undefined) {
    throw new SpokenError("USAGE", say("needsCredential", { context: contextName }), say("needsCredentialHint"));
  }
  const clock = new SystemClock();
  const client = createClient(config, { clock, trace: new Trace(clock), random: context.random, actor: "user" });
  const closers: (() => Promise<void>)[] = [() => client.close()];
  const close = async () => {
    const one = closers.pop();
    if (one === undefined) return;
    // Whatever one of them meets: what the lab has made is taken away.
    await one().finally(close);
  };
  try {
    await checkRights(client, definition.rights, say, context.signal);
    context.streams.stderr.write(`${contextName}: ${config.server}\n`);
    const question = say("confirmReal", { id, context: contextName, server: config.server });
    const agreed = await context.confirm(question, {
      ...(target.yes === undefined ? {} : { yes: target.yes }),
      flag: "--yes",
    });
    if (!agreed) throw new SpokenError("DECLINED", say("declined"), say("declinedHint"));
    const nodeNames = Array.from({ length: definition.nodes }, (_, i) => `${OWN_NODE_PREFIX}${i + 1}`);
    const paths = [...(definition.makes ?? []), ...nodeNames.map((name) => objectPath(NODES, name))];
    const things = await OwnThings.claim({ client, wall: clock, say }, paths, context.signal);
    const folder = await mkdtemp(labFolderPrefix());
    closers.push(
      () => rm(folder, { recursive: true, force: true }),
      async () => {
        if (paths.length > 0) context.streams.stderr.write(`${say("takingAway")}\n`);
        for (const what of await things.remove()) context.streams.stderr.write(`${say("notCleaned", { what })}\n`);
      },
    );
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
    closers.push(() => nodes[Symbol.asyncDispose]());
    await checkAnswers(client, definition.wants, say, context.signal);
    const setSpeed = () =>
      Promise.reject(new SpokenError("USAGE", say("speedIsReal"), say("needsEmbeddedHint", { id })));
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
    return await makePlace(context, parts, options);
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
): SpokenError {
  const why = embeddedBecause?.[language] ?? say("needsEmbeddedWhy");
  return new SpokenError("USAGE", say("needsEmbedded", { id, why }), say("needsEmbeddedHint", { id }));
}

/** What `kubectl run` takes so that a pod comes to the lab's node and to no other. */
function onNode(name: string): string {
  return ` --overrides='{"spec":{"nodeName":"${name}"}}'`;
}

/** An older cluster has not all APIs; one that is far away does not reach a kubelet here. @throws SpokenError FAILED */
async function checkAnswers(
  client: KubeClient,
  wants: readonly string[],
  say: Say,
  signal: AbortSignal,
): Promise<void> {
  for (const path of wants) {
    const { status } = await client.request({ method: "GET", path, signal });
    if (status < 300) continue;
    const isKubelet = /^\/api\/v1\/nodes\/[^/]+\/proxy\//.test(path);
    const message = say(isKubelet ? "wantsKubelet" : "wantsAnswer", { path, status });
    throw new SpokenError("FAILED", message, say("wantsHint"));
  }
}

/** `create secrets`, `get pods/log`, `create leases.coordination.k8s.io` @throws LabError FORBIDDEN with all that are missing */
async function checkRights(
  client: KubeClient,
  rights: readonly string[],
  say: Say,
  signal: AbortSignal,
): Promise<void> {
  const missing: string[] = [];
  for (const right of rights) {
    const [verb = "", what = ""] = right.split(" ");
    const [name = "", subresource] = what.split("/");
    const [resource = "", ...group] = name.split(".");
    const attributes = {
      verb,
      resource,
      group: group.join("."),
      ...(subresource === undefined ? {} : { subresource }),
    };
    const { status } = await client.expect<{ status?: { allowed?: boolean } }>({
      method: "POST",
      path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
      body: {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SelfSubjectAccessReview",
        spec: { resourceAttributes: attributes },
      },
      signal,
    });
    if (status?.allowed !== true) missing.push(right);
  }
  if (missing.length > 0) {
    throw new SpokenError("FORBIDDEN", say("rightsMissing", { rights: missing.join(", ") }), say("rightsMissingHint"));
  }
}
