import { LabError } from "../../../../util/errors.js";
import { counted } from "../../../../util/text/counted.js";
import { type ClusterIdentity, parseIdentity } from "../cluster-identity.js";
import { EtcdClient } from "./client.js";
import { StorageCodec } from "./codec.js";
import type { EtcdConfig } from "./config.js";
import { openEndpoints } from "./endpoints.js";
import type { KeySpace } from "./kind-of-key.js";
import { CompareTarget } from "./messages.js";
import { prefixRange } from "./ranges.js";
import { RANGE, READ_TXN, TXN } from "./rpcs.js";
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

const ROOT = "/registry/";

/**
 * Looks between the resources for keys that are none of them: other programs' data, or kinds that only another server has. It is one
 * request, which reads a key per gap at most, so that a large cluster costs no more than a small one.
 * @param prefixes of all resources: `/registry/pods/`
 * @returns one sentence; undefined if there are none
 * @throws EtcdError
 */
async function foreignKeys(
  client: EtcdClient,
  prefixes: readonly string[],
  timeoutMs: number,
): Promise<string | undefined> {
  const all = [...prefixes, ...(await customPrefixes(client, timeoutMs))];
  const success = gapsBetween(all).map((gap) => ({ requestRange: { ...gap, limit: 1, keysOnly: true } }));
  const { responses } = await client.call(READ_TXN, { success }, { timeoutMs });
  const found = responses.flatMap(({ responseRange }) => responseRange ?? []);
  const count = found.reduce((sum, one) => sum + Number(one.count), 0);
  const first = found.find(({ kvs }) => kvs.length > 0)?.kvs[0]?.key.toString();
  if (first === undefined) return undefined;
  return `etcd has ${counted(count, "key")} below ${ROOT} of no kind that is served here, first ${JSON.stringify(first)}: left as they are`;
}

const DEFINITIONS = "/registry/apiextensions.k8s.io/customresourcedefinitions/";

/** The beginnings of the keys of custom resources: their definitions are named PLURAL.GROUP. */
async function customPrefixes(client: EtcdClient, timeoutMs: number): Promise<string[]> {
  const range = { requestRange: { ...prefixRange(DEFINITIONS), keysOnly: true } };
  const { responses } = await client.call(READ_TXN, { success: [range] }, { timeoutMs });
  return responses.flatMap(({ responseRange }) =>
    (responseRange?.kvs ?? []).map(({ key }) => {
      const [plural = "", ...group] = key.toString().slice(DEFINITIONS.length).split(".");
      return `${ROOT}${group.join(".")}/${plural}/`;
    }),
  );
}

function gapsBetween(prefixes: readonly string[]): readonly { readonly key: Buffer; readonly rangeEnd: Buffer }[] {
  const { key: begin, rangeEnd: end } = prefixRange(ROOT);
  const ranges = [...prefixes].sort().map(prefixRange);
  const starts = [begin, ...ranges.map(({ rangeEnd }) => rangeEnd)];
  const ends = [...ranges.map(({ key }) => key), end];
  return starts
    .map((key, i) => ({ key, rangeEnd: ends[i] ?? end }))
    .filter(({ key, rangeEnd }) => key.compare(rangeEnd) < 0);
}

/** Stored with the objects: a reader of etcd can read each Secret anyway, and only such a reader gets the cluster's key. */
const IDENTITY_KEY = "/kubelab/identity";

/**
 * The identity that etcd has, or else the one that `make` makes: all control planes of an etcd have the same.
 * Differs: kubeadm keeps these files in /etc/kubernetes/pki, and they are copied to each control plane.
 * @throws LabError BAD_FILE for a value that is no identity; EtcdError
 */
async function sharedIdentity(
  client: EtcdClient,
  make: () => Promise<ClusterIdentity>,
  timeoutMs: number,
): Promise<ClusterIdentity> {
  const key = Buffer.from(IDENTITY_KEY);
  const read = { requestRange: { key } };
  const compare = [{ target: CompareTarget.MOD, key }];
  const before = await client.call(TXN, { compare, failure: [read] }, { timeoutMs });
  if (!before.succeeded) return parsedIdentity(before.responses[0]?.responseRange?.kvs[0]?.value);
  const made = await make();
  const value = Buffer.from(JSON.stringify(made));
  const success = [{ requestPut: { key, value } }];
  const after = await client.call(TXN, { compare, success, failure: [read] }, { timeoutMs });
  return after.succeeded ? made : parsedIdentity(after.responses[0]?.responseRange?.kvs[0]?.value);
}

function parsedIdentity(value: Buffer | undefined): ClusterIdentity {
  const identity = parseIdentity(value?.toString());
  if (identity !== undefined) return identity;
  const hint = `A new one is made when the key is gone: etcdctl del ${IDENTITY_KEY}. Nodes must then join again.`;
  throw new LabError("BAD_FILE", `etcd's key ${IDENTITY_KEY} does not have the cluster's CA and keys`, hint);
}
