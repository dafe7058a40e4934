import { resolve } from "node:path";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { loadRealKubeconfig } from "../../../../staging/client-go/clientcmd/kubeconfig.js";
import type { KubeClient, RestConfig } from "../../../../staging/client-go/rest/client.js";
import { createClient } from "../../../../staging/client-go/rest/create-client.js";
import { Trace } from "../../../../trace/trace.js";
import { SystemClock } from "../../../../util/clock.js";
import type { Say } from "../../../../util/i18n/catalogue.js";
import { LocalizedError } from "../../../../util/i18n/message-error.js";
import { pathFrom } from "../../../../util/os/paths.js";
import { shellWord } from "../../../../util/text/shell-word.js";
import type { LabProcess } from "../context.js";

/** The flags that select the learner's own cluster for a lab. */
export interface RealTarget {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly yes?: boolean;
}

/** The learner's own cluster, with the learner's identity. */
export interface OwnCluster {
  readonly config: RestConfig;
  readonly contextName: string;
  readonly client: KubeClient;
  /** identifies the cluster independently of the kubeconfig */
  readonly identity: string;
  close(): Promise<void>;
}

const EVERY_CLUSTER_HAS = "/api/v1/namespaces/kube-system";

/**
 * @throws LabError BAD_FILE, CLUSTER_UNREACHABLE; USAGE if the kubeconfig runs a login program, which a lab's commands
 * cannot
 */
export async function openOwnCluster(context: LabProcess, target: RealTarget, say: Say): Promise<OwnCluster> {
  const { config, contextName } = await loadRealKubeconfig(context.env, {
    ...target,
    signal: context.signal,
    ...(target.kubeconfig === undefined ? {} : { kubeconfig: pathFrom(context.cwd, target.kubeconfig) }),
  });
  if (config.authorize !== undefined) {
    throw new LocalizedError("USAGE", say("needsCredential", { context: contextName }), say("needsCredentialHint"));
  }
  const clock = new SystemClock();
  const client = createClient(config, { clock, trace: new Trace(clock), random: context.random, actor: "user" });
  try {
    const { status, body } = await client.request<KubeObject>({
      method: "GET",
      path: EVERY_CLUSTER_HAS,
      signal: context.signal,
    });
    const uid = status < 300 ? body.metadata.uid : undefined;
    return { config, contextName, client, identity: uid ?? config.server, close: () => client.close() };
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** The flags that select the cluster from any folder. */
export function flagsOf({ cwd }: Pick<LabProcess, "cwd">, { kubeconfig, context }: RealTarget): string {
  const flags = [
    ...(kubeconfig === undefined ? [] : ["--kubeconfig", shellWord(resolve(cwd, kubeconfig))]),
    ...(context === undefined ? [] : ["--context", shellWord(context)]),
  ];
  return flags.length === 0 ? "--real" : flags.join(" ");
}
