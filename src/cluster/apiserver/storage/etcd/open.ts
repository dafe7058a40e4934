import type { ClusterIdentity } from "../cluster-identity.js";
import { EtcdClient } from "./client.js";
import { StorageCodec } from "./codec.js";
import type { EtcdConfig } from "./config.js";
import { openEndpoints } from "./endpoints.js";
import { foreignKeys } from "./foreign-keys.js";
import { sharedIdentity } from "./identity.js";
import type { KeySpace } from "./kind-of-key.js";
import { RANGE } from "./rpcs.js";
import { startProblem } from "./start-problem.js";
import { EtcdStorage, type EtcdStorageOptions } from "./store.js";

/** How long the start waits for the first answer. */
const DIAL_TIMEOUT_MS = 10_000;

export interface OpenEtcdDeps extends KeySpace {
  readonly makeIdentity: () => Promise<ClusterIdentity>;
  readonly report: (problem: string) => void;
  /** aborts when the cluster begins to end: calls that fail are not repeated from then on */
  readonly ending?: AbortSignal;
}

export interface OpenedEtcd {
  readonly storage: EtcdStorage;
  readonly identity: ClusterIdentity;
}

/**
 * Connects to etcd and finds the cluster that it holds, or begins a new one.
 * @throws LabError USAGE, BAD_FILE; CLUSTER_UNREACHABLE or CLUSTER_NOT_TRUSTED when no server answers; FORBIDDEN, REFUSED when etcd refuses
 */
export async function openEtcd(
  config: EtcdConfig,
  { kindOf, prefixes, makeIdentity, report, ending }: OpenEtcdDeps,
  options: EtcdStorageOptions = {},
  dialTimeoutMs = DIAL_TIMEOUT_MS,
): Promise<OpenedEtcd> {
  const client = new EtcdClient(await openEndpoints(config), ending);
  try {
    await checkReachable(client, config, dialTimeoutMs);
    // Not worth a failed start: a user may be refused what is between the resources.
    const looking = foreignKeys(client, prefixes, dialTimeoutMs).catch(() => undefined);
    const identity = await sharedIdentity(client, makeIdentity, dialTimeoutMs).catch((error: unknown) => {
      throw startProblem(config, [error], error);
    });
    const foreign = await looking;
    if (foreign !== undefined) report(foreign);
    return { storage: new EtcdStorage({ client, codec: new StorageCodec(kindOf), report }, options), identity };
  } catch (error) {
    client.close();
    throw error;
  }
}

/** Waits for the first answer. @throws LabError that names each server and its problem */
export async function checkReachable(
  client: EtcdClient,
  config: EtcdConfig,
  timeoutMs = DIAL_TIMEOUT_MS,
): Promise<void> {
  const deadlineMs = client.clock.now() + timeoutMs;
  const request = { key: Buffer.from("/registry/health"), countOnly: true };
  try {
    await Promise.any(client.endpoints.map((endpoint) => client.callAt(endpoint, RANGE, request, deadlineMs)));
  } catch (cause) {
    throw startProblem(config, (cause as AggregateError).errors, cause);
  }
}
