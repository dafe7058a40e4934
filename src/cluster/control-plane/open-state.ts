import { StatusError } from "../../staging/apimachinery/errors.js";
import { createAuthority, EMBEDDED_CA_UNIT } from "../../staging/pki/authority.js";
import type { CertificateAuthority } from "../../staging/pki/issue.js";
import { generatePrivateKey, privateKeyPem } from "../../staging/pki/keys.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import type { ResourceDefinition } from "../apiserver/registry/rest/definition.js";
import type { ClusterIdentity } from "../apiserver/storage/cluster-identity.js";
import type { DiskConfig } from "../apiserver/storage/disk/config.js";
import type { EtcdConfig } from "../apiserver/storage/etcd/config.js";
import { MemoryStorage } from "../apiserver/storage/memory.js";
import type { OnPublished, Storage } from "../apiserver/storage/storage.js";
import type { ControlPlaneOptions } from "./control-plane.js";

/** What a cluster is made of before its API server starts. */
export interface ClusterState {
  readonly storage: Storage;
  readonly ca: CertificateAuthority;
  /** undefined: a key is generated for the first token */
  readonly serviceAccountKeyPem?: string;
}

/**
 * A new cluster in memory, or the one that etcd or a folder has.
 * @param onPublished told of each change that watches get
 * @throws LabError as `openEtcd`, `openDisk`
 */
export async function openState(
  options: ControlPlaneOptions,
  definitions: readonly ResourceDefinition[],
  onPublished: OnPublished,
): Promise<ClusterState> {
  const { etcd, disk, clock, watchBacklog } = options;
  if (etcd !== undefined) return openInEtcd(options, etcd, definitions, onPublished);
  if (disk !== undefined) return openOnDisk(options, disk, onPublished);
  return { storage: new MemoryStorage({ clock }, { watchBacklog, onPublished }), ca: await makeAuthority(options) };
}

/** Loads what a cluster in memory does not need. */
async function openInEtcd(
  options: ControlPlaneOptions,
  etcd: EtcdConfig,
  definitions: readonly ResourceDefinition[],
  onPublished: OnPublished,
): Promise<ClusterState> {
  const { watchBacklog, ending } = options;
  reportEtcd(options, etcd);
  const [{ openEtcd }, { keySpace }] = await Promise.all([
    import("../apiserver/storage/etcd/open.js"),
    import("../apiserver/storage/etcd/kind-of-key.js"),
  ]);
  const { storage, identity } = await openEtcd(
    etcd,
    {
      ...keySpace(definitions),
      makeIdentity: () => makeIdentity(options),
      report: reporter(options),
      ...defined({ ending }),
    },
    defined({ watchBacklog, onPublished }),
  );
  return stateOf(storage, identity);
}

async function openOnDisk(
  options: ControlPlaneOptions,
  disk: DiskConfig,
  onPublished: OnPublished,
): Promise<ClusterState> {
  const { clock, watchBacklog } = options;
  const { openDisk } = await import("../apiserver/storage/disk/open.js");
  const deps = { clock, makeIdentity: () => makeIdentity(options), report: reporter(options) };
  const { storage, identity } = await openDisk(deps, disk, { watchBacklog, onPublished });
  return stateOf(storage, identity);
}

/** Why a start failed that could not read or write its state: a LabError, as of `openEtcd`; FAILED for a disk. Others are as given. */
export async function stateProblem({ etcd }: ControlPlaneOptions, error: unknown): Promise<unknown> {
  if (!(error instanceof StatusError) || error.code < 500) return error;
  if (etcd !== undefined && error.cause !== undefined) {
    const { startProblem } = await import("../apiserver/storage/etcd/start-problem.js");
    return startProblem(etcd, [error.cause], error);
  }
  const hint = "The disk that keeps its state says so: see to its space and its health.";
  return new LabError("FAILED", `the control plane cannot start: ${error.message}`, hint, { cause: error });
}

/** Reports what a storage factory makes of its configuration. */
function reportEtcd({ trace }: ControlPlaneOptions, { servers, caFile, certFile, keyFile }: EtcdConfig): void {
  const file = "staging/src/k8s.io/apiserver/pkg/storage/storagebackend/factory/factory.go";
  const files = [caFile, certFile, keyFile].filter((one) => one !== undefined);
  const tls = files.length === 0 ? "no TLS files are named" : `TLS by ${files.join(", ")}`;
  const what = `newETCD3Storage: a client of etcd at ${servers.join(", ")}`;
  const why = `the storage type is etcd3, the only one; ${tls}`;
  trace.emit({ kind: "decision", what, why, upstream: { file, func: "Create" } }, { actor: "apiserver", level: 3 });
}

function reporter({ trace }: ControlPlaneOptions): (message: string) => void {
  return (message) => trace.emit({ kind: "error", message }, { actor: "apiserver", level: 0 });
}

function stateOf(storage: Storage, identity: ClusterIdentity): ClusterState {
  const { caCertificatePem: certificatePem, caKeyPem: privateKeyPem, serviceAccountKeyPem } = identity;
  return { storage, ca: { certificatePem, privateKeyPem }, serviceAccountKeyPem };
}

async function makeIdentity(options: ControlPlaneOptions): Promise<ClusterIdentity> {
  const ca = await makeAuthority(options);
  const key = await generatePrivateKey(keyTypeOf(options));
  return {
    caCertificatePem: ca.certificatePem,
    caKeyPem: ca.privateKeyPem,
    serviceAccountKeyPem: privateKeyPem(key),
  };
}

function makeAuthority({ clock, random, likeRecorded }: ControlPlaneOptions): Promise<CertificateAuthority> {
  const unit = likeRecorded === true ? {} : { organizationalUnit: [EMBEDDED_CA_UNIT] };
  return createAuthority(
    { clock, random },
    { commonName: "kubernetes", ...unit, keyType: keyTypeOf({ likeRecorded }) },
  );
}

/** kubeadm uses RSA keys. Generating one takes longer than the rest of the start. */
export function keyTypeOf({ likeRecorded }: { readonly likeRecorded?: boolean | undefined }): "ec" | "rsa" {
  return likeRecorded === true ? "rsa" : "ec";
}
