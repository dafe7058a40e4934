import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import type { CliContext } from "../../cli/context.js";
import { pathFrom } from "../../cli/paths.js";
import type { KubeClient } from "../../client/client.js";
import { createClient } from "../../client/create-client.js";
import { loadRealKubeconfig } from "../../client/kubeconfig.js";
import { kubeconfigText } from "../../client/kubeconfig-text.js";
import { LANGUAGE_VARIABLE, type Say } from "../../labs/catalogue.js";
import type { LabPlace } from "../../labs/place.js";
import { SpokenError } from "../../labs/said-error.js";
import type { LabDefinition } from "../../labs/schema.js";
import type { Language } from "../../labs/text.js";
import { Trace } from "../../trace/trace.js";
import { SystemClock } from "../../util/clock.js";
import { writeFileAtomic } from "../../util/files.js";
import { labFolderPrefix } from "./leftovers.js";
import { writePrograms } from "./programs.js";
import { LabRunner } from "./runner.js";

/** Which cluster of the learner's own a lab is played on. */
export interface RealTarget {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly yes?: boolean;
}

export interface RealPlaceOptions {
  readonly target: RealTarget;
  readonly definition: LabDefinition;
  readonly say: Say;
  readonly columns: number;
  readonly isColoured: boolean;
  readonly language: Language;
}

/**
 * The learner's own cluster for one lab. Before anything is written the server is named, the rights that the lab needs are asked
 * for, and the learner agrees.
 * @throws LabError USAGE for a lab that needs the embedded cluster; FORBIDDEN with the rights that are missing; DECLINED
 */
export async function openRealPlace(context: CliContext, options: RealPlaceOptions): Promise<LabPlace> {
  const { target, definition, say, columns, isColoured, language } = options;
  const { id } = definition;
  const embeddedOnly = () => new SpokenError("USAGE", say("needsEmbedded", { id }), say("needsEmbeddedHint", { id }));
  if (definition.cluster !== "any") throw embeddedOnly();
  const { config, contextName } = await loadRealKubeconfig(context.env, {
    ...target,
    ...(target.kubeconfig === undefined ? {} : { kubeconfig: pathFrom(context.cwd, target.kubeconfig) }),
  });
  if (config.authorize !== undefined) {
    throw new SpokenError("USAGE", say("needsCredential", { context: contextName }), say("needsCredentialHint"));
  }
  const clock = new SystemClock();
  const client = createClient(config, { clock, trace: new Trace(clock), random: context.random, actor: "user" });
  let folder: string | undefined;
  const close = async () => {
    await client.close();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
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
    folder = await mkdtemp(labFolderPrefix());
    const kubeconfig = join(folder, "kubeconfig");
    const names = { cluster: contextName, user: contextName, context: contextName };
    await writeFileAtomic(kubeconfig, kubeconfigText(config, names), { mode: 0o600 });
    const programs = await writePrograms(folder, context, false);
    const nodes = join(folder, "nodes");
    const own = {
      KUBECONFIG: kubeconfig,
      KUBELAB_LAB_KUBECONFIG: kubeconfig,
      KUBELAB_NODES: nodes,
      [LANGUAGE_VARIABLE]: language,
    };
    const env = { ...context.env, ...own, PATH: `${programs}:${context.env["PATH"] ?? ""}` };
    const { random, self } = context;
    return {
      folder,
      client,
      clock,
      wall: clock,
      patienceMs: 0,
      runner: new LabRunner({ random, clock, folder, self, columns, isColoured, env }),
      given: { server: config.server, kubeconfig, folder },
      elsewhere: [`cd ${folder}`, ...Object.entries(own).map(([key, value]) => `export ${key}=${value}`)],
      speed: 1,
      canSetSpeed: false,
      setSpeed: () => Promise.reject(embeddedOnly()),
      output: () => undefined,
      inject: () => Promise.reject(embeddedOnly()),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
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
