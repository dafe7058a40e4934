import { LabError, type LabErrorCode } from "../../../util/errors.js";
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
/** `etcdserver: mvcc: database space exceeded`, as long as the alarm is on */
const NO_ROOM: ReadonlySet<GrpcCode> = new Set(["ResourceExhausted"]);
const TLS_PROBLEM = /certificate|self.signed|altnames|SSL|TLS|wrong version number|ERR_TLS/i;

const USER_HINT =
  "A user of etcd is the common name of a client certificate: --etcd-certfile and --etcd-keyfile. Its role needs all keys.";
const ROOM_HINT = "Give it room (etcdctl compact, then defrag), then end the alarm: etcdctl alarm disarm.";
const TLS_HINT =
  "--etcd-cafile names the CA of etcd's certificate, --etcd-certfile and --etcd-keyfile the client's own. An etcd without TLS is http://.";
const UNREACHABLE_HINT = "Start etcd, or name another server with --etcd; one with TLS is https://.";

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
 * @throws LabError USAGE, BAD_FILE; CLUSTER_UNREACHABLE or CLUSTER_NOT_TRUSTED when no server answers; FORBIDDEN, REFUSED when etcd refuses
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
    const identity = await sharedIdentity(client, makeIdentity, dialTimeoutMs).catch((error: unknown) => {
      throw startProblem([error], error);
    });
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
    throw startProblem((cause as AggregateError).errors, cause);
  }
}

/** @param problems of the servers that were asked @returns what is no error of etcd as it is */
function startProblem(problems: readonly unknown[], cause: unknown): unknown {
  const bug = problems.find((one) => !(one instanceof EtcdError));
  if (bug !== undefined) return bug;
  const errors = problems as readonly EtcdError[];
  const text = errors.map(({ server, details }) => `${server}: ${details}`).join("; ");
  const isEvery = (codes: ReadonlySet<GrpcCode>) => errors.every(({ code }) => codes.has(code));
  const failed = (code: LabErrorCode, what: string, hint: string) =>
    new LabError(code, `etcd ${what}: ${text}`, hint, { cause });
  if (isEvery(REFUSALS)) return failed("FORBIDDEN", "refuses", USER_HINT);
  if (isEvery(NO_ROOM)) return failed("REFUSED", "has no room", ROOM_HINT);
  return errors.every(({ details }) => TLS_PROBLEM.test(details))
    ? failed("CLUSTER_NOT_TRUSTED", "does not answer", TLS_HINT)
    : failed("CLUSTER_UNREACHABLE", "does not answer", UNREACHABLE_HINT);
}
