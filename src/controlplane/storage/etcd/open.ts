import { LabError } from "../../../util/errors.js";
import type { GrpcCode } from "../../../util/grpc-codes.js";
import type { ClusterIdentity } from "../cluster-identity.js";
import { EtcdClient } from "./client.js";
import { type KindOfKey, StorageCodec } from "./codec.js";
import type { EtcdConfig } from "./config.js";
import { openEndpoints } from "./endpoints.js";
import { EtcdError } from "./errors.js";
import { sharedIdentity } from "./identity.js";
import { RANGE } from "./rpcs.js";
import { EtcdStorage, type EtcdStorageOptions } from "./store.js";

/** How long the start waits for the first answer. */
const DIAL_TIMEOUT_MS = 10_000;
/** What etcd answers once it has users: `user name is empty`, `permission denied`. */
const REFUSALS: ReadonlySet<GrpcCode> = new Set(["InvalidArgument", "PermissionDenied", "Unauthenticated"]);
const TLS_PROBLEM = /certificate|self.signed|altnames|SSL|TLS|wrong version number|ERR_TLS/i;

export interface OpenEtcdDeps {
  readonly kindOf: KindOfKey;
  readonly makeIdentity: () => Promise<ClusterIdentity>;
  readonly report: (problem: string) => void;
}

export interface OpenedEtcd {
  readonly storage: EtcdStorage;
  readonly identity: ClusterIdentity;
}

/**
 * Connects to etcd and finds the cluster that it holds, or begins a new one.
 * @throws LabError USAGE, BAD_FILE; CLUSTER_UNREACHABLE or CLUSTER_NOT_TRUSTED when no server answers
 */
export async function openEtcd(
  config: EtcdConfig,
  { kindOf, makeIdentity, report }: OpenEtcdDeps,
  options: EtcdStorageOptions = {},
  dialTimeoutMs = DIAL_TIMEOUT_MS,
): Promise<OpenedEtcd> {
  const client = new EtcdClient(await openEndpoints(config));
  try {
    await checkReachable(client, dialTimeoutMs);
    const identity = await sharedIdentity(client, makeIdentity, dialTimeoutMs);
    return { storage: new EtcdStorage({ client, codec: new StorageCodec(kindOf), report }, options), identity };
  } catch (error) {
    client.close();
    throw error;
  }
}

/** Waits for the first answer. @throws LabError that names each server and its problem */
export async function checkReachable(client: EtcdClient, timeoutMs = DIAL_TIMEOUT_MS): Promise<void> {
  const deadlineMs = client.clock.now() + timeoutMs;
  const request = { key: Buffer.from("/registry/health"), countOnly: true };
  try {
    await Promise.any(client.endpoints.map((endpoint) => client.callAt(endpoint, RANGE, request, deadlineMs)));
  } catch (cause) {
    const problems = (cause as AggregateError).errors as readonly unknown[];
    const bug = problems.find((one) => !(one instanceof EtcdError));
    if (bug !== undefined) throw bug;
    const texts = (problems as readonly EtcdError[]).map(({ server, details }) => `${server}: ${details}`);
    if (problems.every((one) => REFUSALS.has((one as EtcdError).code))) {
      const hint =
        "A user of etcd is the common name of a client certificate: --etcd-certfile and --etcd-keyfile. Its role needs all keys.";
      throw new LabError("FORBIDDEN", `etcd refuses: ${texts.join("; ")}`, hint, { cause });
    }
    const isTls = texts.every((text) => TLS_PROBLEM.test(text));
    const code = isTls ? "CLUSTER_NOT_TRUSTED" : "CLUSTER_UNREACHABLE";
    const hint = isTls
      ? "--etcd-cafile names the CA of etcd's certificate, --etcd-certfile and --etcd-keyfile the client's own."
      : "Start etcd, or name another server with --etcd.";
    throw new LabError(code, `etcd does not answer: ${texts.join("; ")}`, hint, { cause });
  }
}
