import { isDeepStrictEqual } from "node:util";
import type { AuthenticationV1TokenRequest, V1Node, V1PersistentVolumeClaim, V1Pod } from "@kubernetes/client-node";
import type { KubeObject, OwnerReference } from "../../../../staging/apimachinery/api/meta.js";
import { FROM_CACHE } from "../../../../staging/apimachinery/api/options.js";
import {
  isMirrorPod,
  MIRROR_POD_ANNOTATION,
  podReferences,
} from "../../../../staging/apimachinery/corev1/pod-references.js";
import { notFound, StatusError } from "../../../../staging/apimachinery/errors.js";
import { goQuote } from "../../../../staging/apimachinery/scheme/go-text.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { admissionForbidden, admittedName } from "../../../../staging/server/admission/errors.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../../../../staging/server/admission/interfaces.js";
import { nodeNameOf } from "../../auth/authorization/node-identity.js";
import type { Registry } from "../../registry/rest/registry.js";
import { forbiddenLabelChanges } from "./node-labels.js";

const NODE_LEASE_NAMESPACE = "kube-node-lease";

/**
 * Restricts a kubelet to its own node, lease and CSINode, to the pods bound to it, and to mirror pods.
 *
 * Mirrors plugin/pkg/admission/noderestriction/admission.go (Admit).
 * Differs: reads pods and nodes from the store; upstream reads a cache that can lag behind.
 */
export class NodeRestriction implements AdmissionPlugin {
  readonly name = "NodeRestriction";

  constructor(readonly registry: Pick<Registry, "store">) {}

  admit(attributes: AdmissionAttributes): KubeObject | undefined | Promise<KubeObject | undefined> {
    const nodeName = nodeNameOf(attributes.user);
    if (nodeName === undefined || attributes.operation === "CONNECT") return attributes.object;
    if (nodeName === "") {
      const user = goQuote(attributes.user.username);
      throw admissionForbidden(attributes, `could not determine node from user ${user}`);
    }
    return this.#check(nodeName, attributes).then(() => attributes.object);
  }

  async #check(nodeName: string, attributes: AdmissionAttributes): Promise<void> {
    switch (`${attributes.resource}.${attributes.group}`) {
      case "pods.":
        return this.#checkPod(nodeName, attributes);
      case "nodes.":
        return checkNode(nodeName, attributes);
      case "persistentvolumeclaims.":
        if (attributes.subresource !== "status") throw admissionForbidden(attributes, "may only update PVC status");
        return checkClaimStatus(nodeName, attributes);
      case "serviceaccounts.":
        return this.#checkTokenRequest(nodeName, attributes);
      case "leases.coordination.k8s.io":
        return checkLease(nodeName, attributes);
      case "csinodes.storage.k8s.io":
        if (admittedName(attributes) === nodeName) return;
        throw admissionForbidden(attributes, "can only access CSINode with the same name as the requesting node");
    }
  }

  async #checkPod(nodeName: string, attributes: AdmissionAttributes): Promise<void> {
    switch (attributes.subresource) {
      case "":
        return this.#checkPodItself(nodeName, attributes);
      case "status":
        return checkPodStatus(nodeName, attributes);
      case "eviction":
        if (attributes.operation !== "CREATE") throw unexpected(attributes, attributes.operation);
        if ((await this.#boundTo(attributes)) === nodeName) return;
        throw admissionForbidden(attributes, `node ${nodeName} can only evict pods with spec.nodeName set to itself`);
      default: {
        const subresource = goQuote(attributes.subresource);
        const why = `unexpected pod subresource ${subresource}, only 'status' and 'eviction' are allowed`;
        throw admissionForbidden(attributes, why);
      }
    }
  }

  async #checkPodItself(nodeName: string, attributes: AdmissionAttributes): Promise<void> {
    const node = goQuote(nodeName);
    switch (attributes.operation) {
      case "CREATE":
        return this.#checkMirrorPod(nodeName, attributes);
      case "DELETE":
        if ((await this.#boundTo(attributes)) === nodeName) return;
        throw admissionForbidden(attributes, `node ${node} can only delete pods with spec.nodeName set to itself`);
      default: {
        const operation = goQuote(attributes.operation);
        const why = `unexpected operation ${operation}, node ${node} can only create and delete mirror pods`;
        throw admissionForbidden(attributes, why);
      }
    }
  }

  /** The node that the named pod is bound to. @throws StatusError when the pod does not exist */
  async #boundTo(attributes: AdmissionAttributes): Promise<string> {
    const pod = await this.#get("pods", attributes.namespace, admittedName(attributes));
    return boundNode(pod);
  }

  /** Mirrors admitPodCreate. */
  async #checkMirrorPod(nodeName: string, attributes: AdmissionAttributes): Promise<void> {
    const { object: pod } = attributes;
    const node = goQuote(nodeName);
    const refuse = (why: string) => admissionForbidden(attributes, why);
    if (pod === undefined) throw refuse("unexpected type");
    if (!isMirrorPod(pod)) {
      throw refuse(`pod does not have "${MIRROR_POD_ANNOTATION}" annotation, node ${node} can only create mirror pods`);
    }
    if (boundNode(pod) !== nodeName) {
      throw refuse(`node ${node} can only create pods with spec.nodeName set to itself`);
    }
    const ownerProblem = mirrorPodOwnerProblem(pod.metadata.ownerReferences ?? [], nodeName);
    if (ownerProblem !== undefined) throw refuse(ownerProblem);
    const [owner] = pod.metadata.ownerReferences ?? [];
    const { uid } = (await this.#get("nodes", undefined, nodeName)).metadata;
    if (owner?.uid !== uid) throw refuse(`node ${nodeName} UID mismatch: expected ${owner?.uid} got ${uid}`);
    const kind = referencedKind(pod);
    if (kind !== undefined) throw refuse(`node ${node} can not create pods that reference ${kind}`);
  }

  /** Mirrors admitServiceAccount. */
  async #checkTokenRequest(nodeName: string, attributes: AdmissionAttributes): Promise<void> {
    if (attributes.operation !== "CREATE" || attributes.subresource !== "token") return;
    const refuse = (why: string) => admissionForbidden(attributes, why);
    const request = (attributes.object ?? attributes.options) as Wire<AuthenticationV1TokenRequest> | undefined;
    const { apiVersion, kind, name = "", uid = "" } = request?.spec?.boundObjectRef ?? {};
    if (apiVersion !== "v1" || kind !== "Pod" || name === "") {
      throw refuse("node requested token not bound to a pod");
    }
    if (uid === "") throw refuse("node requested token with a pod binding without a uid");
    const pod = await this.#get("pods", attributes.namespace, name);
    if (pod.metadata.uid !== uid) {
      const mismatch = `the UID in the bound object reference (${uid}) does not match the UID in record`;
      throw refuse(`${mismatch}. The object might have been deleted and then recreated`);
    }
    if (boundNode(pod) !== nodeName) {
      throw refuse("node requested token bound to a pod scheduled on a different node");
    }
  }

  /** @throws StatusError that names the resource in the singular, like upstream's listers */
  async #get(resource: "pods" | "nodes", namespace: string | undefined, name: string): Promise<KubeObject> {
    try {
      return await this.registry.store(resource).get(namespace, name, FROM_CACHE);
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) {
        throw notFound({ group: "", resource: resource.slice(0, -1) }, name);
      }
      throw error;
    }
  }
}

function boundNode(pod: Wire<V1Pod> | undefined): string {
  return pod?.spec?.nodeName ?? "";
}

function unexpected(attributes: AdmissionAttributes, operation: string): StatusError {
  return admissionForbidden(attributes, `unexpected operation ${operation}`);
}

/** Requires exactly one owner: the node, as a controller that does not block its own deletion. */
function mirrorPodOwnerProblem(owners: readonly OwnerReference[], nodeName: string): string | undefined {
  const node = goQuote(nodeName);
  const [owner] = owners;
  if (owners.length > 1) return `node ${node} can only create pods with a single owner reference set to itself`;
  if (owner === undefined || owner.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== nodeName) {
    return `node ${node} can only create pods with an owner reference set to itself`;
  }
  if (owner.controller !== true) {
    return `node ${node} can only create pods with a controller owner reference set to itself`;
  }
  if (owner.blockOwnerDeletion === true) return `node ${node} must not set blockOwnerDeletion on an owner reference`;
  return undefined;
}

/** The kind of API object that the pod refers to, as named in the refusal. */
function referencedKind(pod: Wire<V1Pod>): string | undefined {
  const { serviceAccount, secrets, configMaps } = podReferences(pod);
  if (serviceAccount !== undefined) return "a service account";
  if (secrets.size > 0) return "secrets";
  if (configMaps.size > 0) return "configmaps";
  const claims = (pod.spec?.volumes ?? []).some(({ persistentVolumeClaim }) => persistentVolumeClaim !== undefined);
  return claims ? "persistentvolumeclaims" : undefined;
}

/** Mirrors admitPodStatus. */
function checkPodStatus(nodeName: string, attributes: AdmissionAttributes): void {
  const { operation, object, oldObject } = attributes;
  if (operation !== "UPDATE") throw unexpected(attributes, goQuote(operation));
  const node = goQuote(nodeName);
  if (boundNode(oldObject) !== nodeName) {
    const why = `node ${node} can only update pod status for pods with spec.nodeName set to itself`;
    throw admissionForbidden(attributes, why);
  }
  if (!isDeepStrictEqual(oldObject?.metadata.labels ?? {}, object?.metadata.labels ?? {})) {
    throw admissionForbidden(attributes, `node ${node} cannot update labels through pod status`);
  }
}

/** Mirrors admitNode. */
function checkNode(nodeName: string, attributes: AdmissionAttributes): void {
  const { operation } = attributes;
  const object = attributes.object as Wire<V1Node> | undefined;
  const oldObject = attributes.oldObject as Wire<V1Node> | undefined;
  const node = goQuote(nodeName);
  const refuse = (why: string) => admissionForbidden(attributes, why);
  const asked = admittedName(attributes);
  if (asked !== nodeName) throw refuse(`node ${node} is not allowed to modify node ${goQuote(asked)}`);
  const configSource = object?.spec?.configSource ?? undefined;
  if (operation === "CREATE") {
    if (configSource !== undefined) {
      throw refuse(`node ${node} is not allowed to create pods with a non-nil configSource`);
    }
    const labels = forbiddenLabelChanges(object?.metadata.labels);
    if (labels.length > 0)
      throw refuse(`node ${node} is not allowed to set the following labels: ${labels.join(", ")}`);
  }
  if (operation !== "UPDATE") return;
  if (configSource !== undefined && !isDeepStrictEqual(configSource, oldObject?.spec?.configSource)) {
    throw refuse(`node ${node} is not allowed to update configSource to a new non-nil configSource`);
  }
  if (!isDeepStrictEqual(object?.spec?.taints ?? [], oldObject?.spec?.taints ?? [])) {
    throw refuse(`node ${node} is not allowed to modify taints`);
  }
  const labels = forbiddenLabelChanges(object?.metadata.labels, oldObject?.metadata.labels);
  if (labels.length > 0) throw refuse(`is not allowed to modify labels: ${labels.join(", ")}`);
}

/** Mirrors admitPVCStatus. Differs: the message does not show what changed. */
function checkClaimStatus(nodeName: string, attributes: AdmissionAttributes): void {
  const { operation, object, oldObject } = attributes;
  if (operation !== "UPDATE") throw unexpected(attributes, goQuote(operation));
  if (isDeepStrictEqual(withoutCapacity(object), withoutCapacity(oldObject))) return;
  const why = `node ${goQuote(nodeName)} is not allowed to update fields other than status.capacity and status.conditions`;
  throw admissionForbidden(attributes, why);
}

function withoutCapacity(claim: Wire<V1PersistentVolumeClaim> | undefined): unknown {
  const { resourceVersion: _version, ...metadata } = claim?.metadata ?? {};
  const status = Object.entries(claim?.status ?? {});
  return { ...claim, metadata, status: status.filter(([field]) => field !== "capacity" && field !== "conditions") };
}

/** Mirrors admitLease. */
function checkLease(nodeName: string, attributes: AdmissionAttributes): void {
  if (attributes.namespace !== NODE_LEASE_NAMESPACE) {
    const why = `can only access leases in the "${NODE_LEASE_NAMESPACE}" system namespace`;
    throw admissionForbidden(attributes, why);
  }
  if (admittedName(attributes) === nodeName) return;
  throw admissionForbidden(attributes, "can only access node lease with the same name as the requesting node");
}
