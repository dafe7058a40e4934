import type { KubeObject } from "../../apimachinery/api/meta.js";
import { StatusError } from "../../apimachinery/errors.js";
import type { Clock } from "../../util/clock.js";
import type { Draft } from "../../util/draft.js";
import { type Random, randomSuffix } from "../../util/random.js";
import { isSet } from "../../util/records.js";
import { admissionForbidden } from "../auth/admission/refuse.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../auth/contracts.js";
import type { Registry } from "../registry/registry.js";
import { bool, type Fields, fields, items, text } from "../registry/resources/access.js";
import { MIRROR_POD_ANNOTATION } from "../registry/resources/pods/validation.js";
import { isNewPod } from "./attributes.js";

const DEFAULT_ACCOUNT = "default";
const VOLUME_PREFIX = "kube-api-access-";
const MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";
/** An hour and a bit: kubelets recognize the odd number, and warn of pods that keep an old token. */
const TOKEN_EXPIRATION_SECONDS = 3607;
const READABLE_BY_ALL = 0o644;

/** A new namespace has no default account for a moment: its controller is waited for. */
const DEFAULT_ACCOUNT_ATTEMPTS = 10;
const RETRY_INTERVAL_MS = 100;

export interface ServiceAccountDeps {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Gives each pod a service account and its token, mounted where clients look for it.
 *
 * Mirrors plugin/pkg/admission/serviceaccount/admission.go (Plugin.Admit). Mirror pods are left alone: the API server only
 * checks that they do without.
 */
export class ServiceAccount implements AdmissionPlugin {
  readonly name = "ServiceAccount";
  readonly handles = isNewPod;

  constructor(readonly deps: ServiceAccountDeps) {}

  async admit(attributes: AdmissionAttributes): Promise<KubeObject | undefined> {
    const { object: pod } = attributes;
    if (pod === undefined) return pod;
    if (isMirrorPod(pod)) {
      refuseSecretsOfMirrorPod(attributes, pod);
      return pod;
    }
    const asked = text(fields(pod.spec).serviceAccountName);
    const accountName = asked === "" ? DEFAULT_ACCOUNT : asked;
    const account = await this.#find(attributes, accountName);
    const spec: Draft<Fields> = { ...fields(pod.spec) };
    spec.serviceAccountName = accountName;
    spec.serviceAccount = accountName;
    if (shouldAutomount(account, spec)) this.#mountToken(spec);
    addPullSecrets(account, spec);
    const admitted: Draft<KubeObject> = { ...pod };
    admitted.spec = spec;
    return admitted;
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { object: pod } = attributes;
    if (pod !== undefined && isMirrorPod(pod)) refuseSecretsOfMirrorPod(attributes, pod);
  }

  async #find(attributes: AdmissionAttributes, name: string): Promise<KubeObject> {
    const { namespace } = attributes;
    const { registry, clock } = this.deps;
    const attempts = name === DEFAULT_ACCOUNT ? DEFAULT_ACCOUNT_ATTEMPTS : 1;
    for (let attempt = 1; ; attempt++) {
      try {
        return await registry.store("serviceaccounts").get(namespace, name);
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

  /** Mirrors mountServiceAccountToken: containers that mount something there already are left alone. */
  #mountToken(spec: Draft<Fields>): void {
    const volumes = items(spec.volumes).map(fields);
    const existing = volumes.find((one) => text(one.name).startsWith(VOLUME_PREFIX));
    const name = existing === undefined ? VOLUME_PREFIX + randomSuffix(this.deps.random) : text(existing.name);
    let isNeeded = false;
    const mount = (containers: unknown): Fields[] =>
      items(containers).map((one) => {
        const container = fields(one);
        const mounts = items(container.volumeMounts);
        if (mounts.some((other) => fields(other).mountPath === MOUNT_PATH)) return container;
        isNeeded = true;
        const mounting: Draft<Fields> = { ...container };
        mounting.volumeMounts = [...mounts, { name, readOnly: true, mountPath: MOUNT_PATH }];
        return mounting;
      });
    spec.containers = mount(spec.containers);
    if (isSet(spec.initContainers)) spec.initContainers = mount(spec.initContainers);
    if (existing === undefined && isNeeded) spec.volumes = [...volumes, tokenVolume(name)];
  }
}

function isMirrorPod(pod: KubeObject): boolean {
  return pod.metadata.annotations?.[MIRROR_POD_ANNOTATION] !== undefined;
}

function shouldAutomount(account: KubeObject, spec: Fields): boolean {
  return bool(spec.automountServiceAccountToken) ?? bool(account.automountServiceAccountToken) ?? true;
}

function addPullSecrets(account: KubeObject, spec: Draft<Fields>): void {
  const secrets = items(account.imagePullSecrets);
  if (secrets.length > 0 && items(spec.imagePullSecrets).length === 0) spec.imagePullSecrets = secrets;
}

/** Token, CA and namespace in one folder. Mirrors TokenVolumeSource. */
function tokenVolume(name: string): Fields {
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

/** A node could read with a mirror pod what it makes the pod refer to. */
function refuseSecretsOfMirrorPod(attributes: AdmissionAttributes, pod: KubeObject): void {
  const spec = fields(pod.spec);
  if (text(spec.serviceAccountName) !== "") {
    throw admissionForbidden(attributes, "a mirror pod may not reference service accounts");
  }
  if (refersToSecrets(spec)) throw admissionForbidden(attributes, "a mirror pod may not reference secrets");
  for (const volume of items(spec.volumes)) {
    const sources = items(fields(fields(volume).projected).sources);
    if (!sources.some((one) => isSet(fields(one).serviceAccountToken))) continue;
    throw admissionForbidden(attributes, "a mirror pod may not use ServiceAccountToken volume projections");
  }
}

/** Mirrors VisitPodSecretNames: pull secrets, environment, volumes and what storage drivers log in with. */
function refersToSecrets(spec: Fields): boolean {
  if (items(spec.imagePullSecrets).length > 0) return true;
  const containers = [...items(spec.containers), ...items(spec.initContainers), ...items(spec.ephemeralContainers)];
  const isInEnvironment = containers.some((one) => {
    const { env, envFrom } = fields(one);
    const fromVariables = items(env).some((variable) => isSet(fields(fields(variable).valueFrom).secretKeyRef));
    return fromVariables || items(envFrom).some((source) => isSet(fields(source).secretRef));
  });
  return isInEnvironment || items(spec.volumes).some((one) => mentionsSecret(fields(one)));
}

function mentionsSecret(volume: Fields): boolean {
  if (isSet(volume.secret)) return true;
  const sources = items(fields(volume.projected).sources);
  if (sources.some((one) => isSet(fields(one).secret))) return true;
  return Object.values(volume).some((source) => {
    const { secretRef, secretName, nodePublishSecretRef } = fields(source);
    return isSet(secretRef) || isSet(secretName) || isSet(nodePublishSecretRef);
  });
}
