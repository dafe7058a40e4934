import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { Random } from "../../util/random.js";
import { bootstrapPolicy } from "../apiserver/auth/policy/bootstrap-policy.js";
import type { ResourceDefinition } from "../apiserver/registry/rest/definition.js";
import { timestamp } from "../apiserver/registry/rest/object-meta.js";
import { resourceKeys } from "../apiserver/storage/keys.js";
import type { Storage } from "../apiserver/storage/storage.js";
import { type DnsPorts, dnsIdentityObjects, dnsServices } from "./cluster-dns.js";
import { defaultStorageObjects } from "./default-storage.js";
import { authenticationConfigMap, defaultNamespaceObjects, systemObjects } from "./system-objects.js";

interface WriteDeps {
  readonly storage: Storage;
  readonly random: Random;
  readonly definitions: readonly ResourceDefinition[];
  /** Unix ms: the objects' creationTimestamp */
  readonly nowMs: number;
}

export interface InitialObjectsDeps extends WriteDeps {
  readonly kubeVersion: string;
  /** adds what `kubeadm init` creates for `kubeadm join` */
  readonly withKubeadmJoin: boolean;
  /** PEM; absent: the cluster does not publish the CA of client certificates */
  readonly clientCaPem?: string;
  /** adds the account and the services of the cluster's name server */
  readonly clusterDns?: DnsPorts | undefined;
}

/**
 * Writes the first objects of a new cluster: namespaces, priority classes, roles, bindings, the API server's service.
 *
 * Differs: writes straight into the storage, without admission and validation, because start-up must stay short.
 */
export async function writeInitialObjects(deps: InitialObjectsDeps): Promise<void> {
  const { clientCaPem, clusterDns } = deps;
  const authentication = clientCaPem === undefined ? [] : [authenticationConfigMap(clientCaPem)];
  await writeObjects(deps, [
    ...systemObjects(),
    ...authentication,
    ...bootstrapPolicy(deps),
    ...defaultNamespaceObjects(),
    // The recorded cluster has no storage class either.
    ...(deps.withKubeadmJoin ? defaultStorageObjects() : []),
    ...(clusterDns === undefined
      ? []
      : [...dnsIdentityObjects(), ...dnsServices(clusterDns).map(({ service }) => service)]),
  ]);
}

async function writeObjects(deps: WriteDeps, objects: readonly KubeObject[]): Promise<void> {
  const byKind = new Map(deps.definitions.map((definition) => [`${definition.group}/${definition.kind}`, definition]));
  const creationTimestamp = timestamp(deps.nowMs);
  const write = (object: KubeObject) => {
    const group = object.apiVersion.includes("/") ? object.apiVersion.slice(0, object.apiVersion.indexOf("/")) : "";
    const definition = byKind.get(`${group}/${object.kind}`);
    if (definition === undefined) throw new Error(`nothing stores ${object.apiVersion} ${object.kind}`);
    const { namespace, name = "" } = object.metadata;
    const metadata = { ...object.metadata, uid: deps.random.uuid(), creationTimestamp };
    return deps.storage.create(resourceKeys(definition).key(namespace, name), { ...object, metadata });
  };
  // All at once: a storage on disk then writes them together.
  await Promise.all(objects.map(write));
}
