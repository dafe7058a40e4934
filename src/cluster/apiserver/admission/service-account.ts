import type { V1Pod, V1ServiceAccount } from "@kubernetes/client-node";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { FROM_CACHE } from "../../../staging/apimachinery/api/options.js";
import type { V1Container, V1PodSpec } from "../../../staging/apimachinery/api/pod.js";
import { isMirrorPod, podReferences } from "../../../staging/apimachinery/corev1/pod-references.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { admissionForbidden } from "../../../staging/server/admission/errors.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../../../staging/server/admission/interfaces.js";
import type { Clock } from "../../../util/clock.js";
import type { Draft } from "../../../util/draft.js";
import { type Random, randomSuffix } from "../../../util/random.js";
import type { Registry } from "../registry/rest/registry.js";
import { isNewPod } from "./attributes.js";

const DEFAULT_ACCOUNT = "default";
const VOLUME_PREFIX = "kube-api-access-";
const MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";
/** Slightly more than an hour: kubelets recognize the odd number, and warn about pods that keep an old token. */
const TOKEN_EXPIRATION_SECONDS = 3607;
const READABLE_BY_ALL = 0o644;

/** The default account of a new namespace is created by a controller, so the plugin waits for it. */
const DEFAULT_ACCOUNT_ATTEMPTS = 10;
const RETRY_INTERVAL_MS = 100;

export interface ServiceAccountDeps {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Gives each pod a service account, and mounts its token at the path that clients read.
 *
 * Mirrors plugin/pkg/admission/serviceaccount/admission.go (Plugin.Admit). Only checks that mirror pods have neither.
 */
export class ServiceAccount implements AdmissionPlugin {
  readonly name = "ServiceAccount";
  readonly handles = isNewPod;

  constructor(readonly deps: ServiceAccountDeps) {}

  async admit(attributes: AdmissionAttributes): Promise<KubeObject | undefined> {
    const pod: Wire<V1Pod> | undefined = attributes.object;
    if (pod?.spec === undefined) return pod;
    if (isMirrorPod(pod)) {
      refuseSecretsOfMirrorPod(attributes, pod);
      return pod;
    }
    const accountName = pod.spec.serviceAccountName || DEFAULT_ACCOUNT;
    const account = await this.#find(attributes, accountName);
    const spec: Draft<V1PodSpec> = { ...pod.spec };
    spec.serviceAccountName = accountName;
    spec.serviceAccount = accountName;
    if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) this.#mountToken(spec);
    const secrets = account.imagePullSecrets ?? [];
    if (secrets.length > 0 && (spec.imagePullSecrets ?? []).length === 0) spec.imagePullSecrets = secrets;
    const admitted: Draft<Wire<V1Pod>> = { ...pod };
    admitted.spec = spec;
    return admitted;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { object: pod } = attributes;
    if (pod !== undefined && isMirrorPod(pod)) refuseSecretsOfMirrorPod(attributes, pod);
  }

  async #find(attributes: AdmissionAttributes, name: string): Promise<Wire<V1ServiceAccount>> {
    const { namespace } = attributes;
    const { registry, clock } = this.deps;
    const attempts = name === DEFAULT_ACCOUNT ? DEFAULT_ACCOUNT_ATTEMPTS : 1;
    for (let attempt = 1; ; attempt++) {
      try {
        return await registry.store("serviceaccounts").get(namespace, name, FROM_CACHE);
      } catch (error) {
        if (!(error instanceof StatusError) || error.code !== 404) throw error;
        if (attempt >= attempts) {
          const why = `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`;
          throw admissionForbidden(attributes, why);
        }
        await clock.sleep(RETRY_INTERVAL_MS);
      }
    }
  }

  /** Mirrors mountServiceAccountToken: skips containers that already mount something at the path. */
  #mountToken(spec: Draft<V1PodSpec>): void {
    const volumes = spec.volumes ?? [];
    const existing = volumes.find(({ name }) => name.startsWith(VOLUME_PREFIX));
    const name = existing?.name ?? VOLUME_PREFIX + randomSuffix(this.deps.random);
    let isNeeded = false;
    const mount = (containers: readonly V1Container[]): V1Container[] =>
      containers.map((container) => {
        const mounts = container.volumeMounts ?? [];
        if (mounts.some(({ mountPath }) => mountPath === MOUNT_PATH)) return container;
        isNeeded = true;
        const mounting: Draft<V1Container> = { ...container };
        mounting.volumeMounts = [...mounts, { name, readOnly: true, mountPath: MOUNT_PATH }];
        return mounting;
      });
    spec.containers = mount(spec.containers ?? []);
    if (spec.initContainers !== undefined) spec.initContainers = mount(spec.initContainers);
    if (existing === undefined && isNeeded) spec.volumes = [...volumes, tokenVolume(name)];
  }
}

/** Token, CA and namespace in one directory. Mirrors TokenVolumeSource. */
function tokenVolume(name: string): NonNullable<V1PodSpec["volumes"]>[number] {
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: TOKEN_EXPIRATION_SECONDS, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
      defaultMode: READABLE_BY_ALL,
    },
  };
}

/** A node creates its mirror pods. With a reference to a secret, the node could read the secret. */
function refuseSecretsOfMirrorPod(attributes: AdmissionAttributes, pod: Wire<V1Pod>): void {
  const { serviceAccount, secrets } = podReferences(pod);
  if (serviceAccount !== undefined) {
    throw admissionForbidden(attributes, "a mirror pod may not reference service accounts");
  }
  if (secrets.size > 0) throw admissionForbidden(attributes, "a mirror pod may not reference secrets");
  for (const { projected } of pod.spec?.volumes ?? []) {
    if (!(projected?.sources ?? []).some(({ serviceAccountToken }) => serviceAccountToken !== undefined)) continue;
    throw admissionForbidden(attributes, "a mirror pod may not use ServiceAccountToken volume projections");
  }
}
