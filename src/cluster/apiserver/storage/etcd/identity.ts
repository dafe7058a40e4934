import { LabError } from "../../../../util/errors.js";
import { type ClusterIdentity, parseIdentity } from "../cluster-identity.js";
import type { EtcdClient } from "./client.js";
import { CompareTarget } from "./messages.js";
import { TXN } from "./rpcs.js";

/** Beside the objects: who can read etcd can read each Secret anyway, and who cannot has no access to the cluster's key either. */
const KEY = "/kubelab/identity";

/**
 * The identity that etcd has, or else the one that `make` makes: all control planes of an etcd have the same.
 * Differs: kubeadm keeps these files in /etc/kubernetes/pki, and they are copied to each control plane.
 * @throws LabError BAD_FILE for a value that is no identity; EtcdError
 */
export async function sharedIdentity(
  client: EtcdClient,
  make: () => Promise<ClusterIdentity>,
  timeoutMs: number,
): Promise<ClusterIdentity> {
  const key = Buffer.from(KEY);
  const read = { requestRange: { key } };
  const compare = [{ target: CompareTarget.MOD, key }];
  const before = await client.call(TXN, { compare, failure: [read] }, { timeoutMs });
  if (!before.succeeded) return parse(before.responses[0]?.responseRange?.kvs[0]?.value);
  const made = await make();
  const value = Buffer.from(JSON.stringify(made));
  const success = [{ requestPut: { key, value } }];
  const after = await client.call(TXN, { compare, success, failure: [read] }, { timeoutMs });
  return after.succeeded ? made : parse(after.responses[0]?.responseRange?.kvs[0]?.value);
}

function parse(value: Buffer | undefined): ClusterIdentity {
  const identity = parseIdentity(value?.toString());
  if (identity !== undefined) return identity;
  const hint = `A new one is made when the key is gone: etcdctl del ${KEY}. Nodes must then join again.`;
  throw new LabError("BAD_FILE", `etcd's key ${KEY} does not have the cluster's CA and keys`, hint);
}
