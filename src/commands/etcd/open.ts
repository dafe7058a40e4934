import { RESOURCES } from "../../cluster/apiserver/registry/table.js";
import { EtcdClient } from "../../cluster/apiserver/storage/etcd/client.js";
import { StorageCodec } from "../../cluster/apiserver/storage/etcd/codec.js";
import type { EtcdConfig } from "../../cluster/apiserver/storage/etcd/config.js";
import { openEndpoints } from "../../cluster/apiserver/storage/etcd/endpoints.js";
import { EtcdError } from "../../cluster/apiserver/storage/etcd/errors.js";
import { keySpace } from "../../cluster/apiserver/storage/etcd/kind-of-key.js";
import { checkReachable } from "../../cluster/apiserver/storage/etcd/open.js";
import { readClusterState, runningClusterNames } from "../../testbed/target/cluster-state.js";
import { type EtcdOptions, etcdConfig } from "../../testbed/target/etcd-options.js";
import { namedCluster } from "../../testbed/target/target.js";
import { LabError } from "../../util/errors.js";
import type { CliContext } from "../cli/context.js";

/** The time limit of a call. */
export const TIMEOUT_MS = 10_000;
const ROOT = "/registry/";

/** The flags that choose an etcd. */
export interface WhichEtcd extends EtcdOptions {
  /** the name of a running cluster */
  readonly cluster?: string;
}

/** An etcd, and the decoder of its values. */
export interface OpenedEtcd extends AsyncDisposable {
  readonly client: EtcdClient;
  readonly codec: StorageCodec;
}

/**
 * Connects to the etcd that the flags name, or to that of a running `kubelab cluster up`.
 * @throws LabError USAGE if there is none; CLUSTER_UNREACHABLE, CLUSTER_NOT_TRUSTED when no server answers
 */
export async function openEtcd(context: CliContext, options: WhichEtcd): Promise<OpenedEtcd> {
  using _line = context.progress("connecting to etcd");
  const { cluster } = options;
  const given = etcdConfig(options);
  if (given !== undefined && cluster !== undefined) {
    throw new LabError("USAGE", "--etcd and --cluster are two names for one etcd", "Leave out one of them.");
  }
  const config = given ?? (await etcdOfCluster(context, cluster));
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

const { kindOf: kindBelowRoot } = keySpace(RESOURCES);

/** The kind of a key, also below another root: kube-apiserver's is --etcd-prefix. */
function kindOf(key: string) {
  return kindBelowRoot(ROOT + key.slice(key.indexOf("/", 1) + 1));
}

/** @param given the name of a running cluster; default: any, if they all have one etcd @throws LabError USAGE */
async function etcdOfCluster({ env }: CliContext, given: string | undefined): Promise<EtcdConfig> {
  const names = await runningClusterNames(env);
  const states = (await Promise.all(names.map((name) => readClusterState(env, name)))).filter(
    (one) => one !== undefined,
  );
  const named = given ?? namedCluster(env);
  const places = new Set(states.flatMap(({ etcd }) => etcd?.join() ?? []));
  const running = `Running: ${names.join(", ")}. Name one with --cluster.`;
  if (named === undefined && places.size > 1) {
    throw new LabError("USAGE", "no etcd is named, and the running clusters use different ones", running);
  }
  const state = states.find(({ name, etcd }) => (named === undefined ? etcd !== undefined : name === named));
  if (state?.etcd !== undefined) return { servers: state.etcd, ...state.etcdFiles };
  const hint = "Name it: --etcd http://127.0.0.1:2379.";
  if (names.length === 0) throw new LabError("USAGE", "no etcd is named, and no kubelab cluster runs", hint);
  if (named !== undefined && state === undefined) {
    throw new LabError("USAGE", `no cluster named ${named} is running`, running);
  }
  const where = named ?? names.join(", ");
  throw new LabError("USAGE", `no etcd is named, and cluster ${where} keeps its state elsewhere`, hint);
}

/** `pods/default/` is below /registry/. */
export function keyFrom(text: string): string {
  return text.startsWith("/") ? text : ROOT + text;
}

/** Reports etcd's refusal to the user. @throws LabError */
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
