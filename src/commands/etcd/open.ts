import type { CliContext } from "../../cli/context.js";
import { RESOURCES } from "../../controlplane/registry/table.js";
import { EtcdClient } from "../../controlplane/storage/etcd/client.js";
import { StorageCodec } from "../../controlplane/storage/etcd/codec.js";
import type { EtcdConfig } from "../../controlplane/storage/etcd/config.js";
import { openEndpoints } from "../../controlplane/storage/etcd/endpoints.js";
import { EtcdError } from "../../controlplane/storage/etcd/errors.js";
import { kindsByKey } from "../../controlplane/storage/etcd/kind-of-key.js";
import { checkReachable } from "../../controlplane/storage/etcd/open.js";
import { readClusterState } from "../../testbed/cluster-state.js";
import { type EtcdOptions, etcdConfig } from "../../testbed/etcd-options.js";
import { clusterToJoin } from "../../testbed/target.js";
import { LabError } from "../../util/errors.js";

/** How long a call may take. */
export const TIMEOUT_MS = 10_000;
const ROOT = "/registry/";

/** An etcd, and what its values are. */
export interface OpenedEtcd extends AsyncDisposable {
  readonly client: EtcdClient;
  readonly codec: StorageCodec;
}

/**
 * Connects to the etcd that the flags name, or to that of a running `kubelab cluster up`.
 * @throws LabError USAGE if there is none; CLUSTER_UNREACHABLE, CLUSTER_NOT_TRUSTED when no server answers
 */
export async function openEtcd(context: CliContext, options: EtcdOptions): Promise<OpenedEtcd> {
  using _line = context.progress("connecting to etcd");
  const config = etcdConfig(options) ?? (await etcdOfCluster(context));
  const client = new EtcdClient(await openEndpoints(config));
  const close = async () => client.close();
  try {
    await checkReachable(client, config);
  } catch (error) {
    await close();
    throw error;
  }
  return { client, codec: new StorageCodec(kindOf), [Symbol.asyncDispose]: close };
}

const kindBelowRoot = kindsByKey(RESOURCES);

/** The kind of a key, also below another root: kube-apiserver's is --etcd-prefix. */
function kindOf(key: string) {
  return kindBelowRoot(ROOT + key.slice(key.indexOf("/", 1) + 1));
}

async function etcdOfCluster({ env }: CliContext): Promise<EtcdConfig> {
  const name = await clusterToJoin(env);
  const state = name === undefined ? undefined : await readClusterState(env, name);
  if (state?.etcd !== undefined) return { servers: state.etcd };
  const why = state === undefined ? "no kubelab cluster runs" : `cluster ${state.name} keeps its state elsewhere`;
  throw new LabError("USAGE", `no etcd is named, and ${why}`, "Name it: --etcd http://127.0.0.1:2379.");
}

/** `pods/default/` is below /registry/. */
export function keyFrom(text: string): string {
  return text.startsWith("/") ? text : ROOT + text;
}

/** What etcd refused, for its user. @throws LabError */
export async function answered<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof EtcdError ? explained(error) : error;
  }
}

export function explained(error: EtcdError): LabError {
  const options = { cause: error };
  const isAhead = /future revision/.test(error.details);
  if (error.isCompacted || isAhead) {
    const hint = isAhead
      ? "etcd has not come so far: leave out the revision, or name an older one."
      : "etcd keeps the revisions since its last compaction: leave out the revision, or name a newer one.";
    return new LabError("FAILED", `etcd does not have this revision: ${error.details}`, hint, options);
  }
  if (error.code === "Unavailable" || error.code === "DeadlineExceeded") {
    return new LabError("CLUSTER_UNREACHABLE", error.message, "Is etcd still running?", options);
  }
  const hint = "These are etcd's words; its log may say more.";
  return new LabError("REFUSED", `etcd at ${error.server} refused it: ${error.details}`, hint, options);
}
