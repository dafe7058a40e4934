import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { MIRROR_POD_ANNOTATION } from "../../staging/apimachinery/corev1/pod-references.js";
import { isSuccess, statusMessage, statusReason } from "../../staging/client-go/rest/answers.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { collectionPath, NODES, objectPath, PODS } from "../../staging/client-go/rest/paths.js";
import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import { CONFIG_HASH_ANNOTATION, getPodFullName, podText } from "../types/pod-update.js";
import { MirrorObserver } from "./mirror-observer.js";
import { isMirrorPodOf } from "./pod-manager.js";

export interface MirrorClientDeps {
  readonly client: KubeClient;
  readonly trace: Trace;
  /** in place of the functions below */
  readonly parts?: MirrorPodParts;
}

/** The two decisions about mirror pods. */
export interface MirrorPodParts {
  readonly mirrorPodOf: (pod: V1Pod, node: OwningNode) => object;
  readonly whatToDo: (pod: V1Pod, mirrorPod: V1Pod | undefined) => "create" | "keep" | "replace";
}

interface OwningNode {
  readonly name: string;
  readonly uid: string;
}

/** The result of creating or deleting a mirror pod. After a failure, the pod's next sync tries again. */
export type MirrorOutcome =
  | { readonly type: "created" | "deleted" | "unchanged" }
  | { readonly type: "failed"; readonly why: string };

/**
 * Shows static pods in the API: a mirror pod is a copy that carries the static pod's hash and belongs to the node.
 *
 * Mirrors pkg/kubelet/pod/mirror_client.go (basicMirrorClient) and the part of syncPod in pkg/kubelet/kubelet.go that
 * keeps a mirror pod up to date.
 */
export class MirrorClient {
  readonly #parts: MirrorPodParts;
  /** full names of mirror pods that existed at the last check */
  readonly #shown = new Set<string>();

  constructor(
    readonly deps: MirrorClientDeps,
    readonly nodeName: string,
    readonly observer = new MirrorObserver(deps.trace),
  ) {
    this.#parts = deps.parts ?? { mirrorPodOf, whatToDo };
  }

  /**
   * Brings the mirror pod of a static pod up to date: creates a missing one, and replaces one that is being deleted or
   * that mirrors an older version. A mirror pod is never updated in place, because its spec is immutable.
   *
   * @param mirrorPod as the API server has it; undefined: it does not exist
   */
  async reconcile(pod: V1Pod, mirrorPod: V1Pod | undefined, signal: AbortSignal): Promise<MirrorOutcome> {
    const fullName = getPodFullName(pod);
    const todo = this.#parts.whatToDo(pod, mirrorPod);
    if (mirrorPod === undefined || todo === "create") {
      const isMissed = this.#shown.has(fullName);
      return this.createMirrorPod(pod, isMissed ? "the previous one was deleted" : "there is none yet", signal);
    }
    if (todo === "keep") {
      this.#shown.add(fullName);
      return { type: "unchanged" };
    }
    const why = isDeleting(mirrorPod) ? "it is being deleted, and its static pod still runs" : changeOf(mirrorPod, pod);
    this.observer.replaces(pod, why);
    const outcome = await this.deleteMirrorPod(fullName, mirrorPod.metadata.uid, why, signal);
    if (outcome.type !== "deleted") return outcome;
    return this.createMirrorPod(pod, "the previous one was deleted to replace it", signal);
  }

  /** Mirrors CreateMirrorPod. @param why it is missing, for the trace */
  async createMirrorPod(pod: V1Pod, why: string, signal: AbortSignal): Promise<MirrorOutcome> {
    const node = await this.#node(signal);
    if ("why" in node) return this.#failed("create", podText(pod), node.why);
    const { metadata } = pod;
    const hash = metadata.annotations?.[CONFIG_HASH_ANNOTATION] ?? "";
    const body = this.#parts.mirrorPodOf(pod, { name: this.nodeName, uid: node.uid });
    const path = collectionPath({ ...PODS, namespace: metadata.namespace });
    this.observer.creates(pod, hash, why);
    const answer = await this.#ask({ method: "POST", path, body, signal });
    if (answer.why !== undefined && answer.status === 409) {
      // After a restart the API server's pods are not known yet. The next sync compares the mirror pod when it
      // arrives.
      this.observer.nameTaken(pod, answer.why);
      return { type: "failed", why: answer.why };
    }
    if (answer.why !== undefined) return this.#failed("create", podText(pod), answer.why);
    this.#shown.add(getPodFullName(pod));
    return { type: "created" };
  }

  /**
   * Deletes a mirror pod from the API without a grace period. Mirrors DeleteMirrorPod.
   * @param uid delete only this one; undefined: whichever has the name (its static pod is gone)
   * @param why for the trace
   */
  async deleteMirrorPod(
    podFullName: string,
    uid: string | undefined,
    why: string,
    signal: AbortSignal,
  ): Promise<MirrorOutcome> {
    const [name = "", namespace = "", ...more] = podFullName.split("_");
    if (name === "" || namespace === "" || more.length > 0) {
      return { type: "failed", why: `${JSON.stringify(podFullName)} is not the full name of a pod` };
    }
    const path = objectPath({ ...PODS, namespace }, name);
    const body = { gracePeriodSeconds: 0, ...(uid === undefined ? {} : { preconditions: { uid } }) };
    const answer = await this.#ask({ method: "DELETE", path, body, signal });
    if (answer.why === undefined) {
      this.#shown.delete(podFullName);
      this.observer.deleted(namespace, name, why);
      return { type: "deleted" };
    }
    // Gone already, or another pod has its name by now: nothing is left to delete.
    if (answer.status === 404) this.#shown.delete(podFullName);
    if (answer.status === 404 || answer.status === 409) return { type: "unchanged" };
    return this.#failed("delete", `${namespace}/${name}`, answer.why);
  }

  /** A mirror pod's owner is its node, so the node must exist. */
  async #node(signal: AbortSignal): Promise<{ readonly uid: string } | { readonly why: string }> {
    const answer = await this.#ask<KubeObject>({ method: "GET", path: objectPath(NODES, this.nodeName), signal });
    if (answer.why !== undefined) return { why: `the node ${this.nodeName} cannot be read: ${answer.why}` };
    const { uid, deletionTimestamp } = answer.body.metadata;
    if (deletionTimestamp !== undefined) return { why: `the node ${this.nodeName} is being removed from the cluster` };
    return { uid: uid ?? "" };
  }

  async #ask<T>(
    request: Parameters<KubeClient["request"]>[0] & { readonly signal: AbortSignal },
  ): Promise<
    { readonly body: T; readonly why?: undefined } | { readonly status: number | undefined; readonly why: string }
  > {
    try {
      const answer = await this.deps.client.request<T>(request);
      if (isSuccess(answer)) return { body: answer.body };
      const reason = statusReason(answer) ?? String(answer.status);
      return { status: answer.status, why: `${reason}: ${statusMessage(answer)}` };
    } catch (error) {
      if (request.signal.aborted || !(error instanceof LabError)) throw error;
      return { status: undefined, why: error.message };
    }
  }

  #failed(what: "create" | "delete", pod: string, why: string): MirrorOutcome {
    this.observer.failed(what, pod, why);
    return { type: "failed", why };
  }
}

/** The mirror pod of a static pod, as it is sent to the API server. Pure; mirrors CreateMirrorPod. */
export function mirrorPodOf({ metadata, spec, status }: V1Pod, { name, uid }: OwningNode): object {
  const hash = metadata.annotations?.[CONFIG_HASH_ANNOTATION] ?? "";
  return {
    apiVersion: "v1",
    kind: "Pod",
    // The uid is sent, as upstream does; the API server assigns the mirror pod a new one.
    metadata: {
      ...metadata,
      annotations: { ...metadata.annotations, [MIRROR_POD_ANNOTATION]: hash },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid, controller: true }],
    },
    spec,
    status,
  };
}

/** Pure; mirrors the part of syncPod that keeps a mirror pod up to date. */
export function whatToDo(pod: V1Pod, mirrorPod: V1Pod | undefined): "create" | "keep" | "replace" {
  if (mirrorPod === undefined) return "create";
  return !isDeleting(mirrorPod) && isMirrorPodOf(mirrorPod, pod) ? "keep" : "replace";
}

function isDeleting({ metadata }: V1Pod): boolean {
  return metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== null;
}

function changeOf(mirrorPod: V1Pod, pod: V1Pod): string {
  const before = mirrorPod.metadata.annotations?.[MIRROR_POD_ANNOTATION] ?? "none";
  const now = pod.metadata.annotations?.[CONFIG_HASH_ANNOTATION] ?? "none";
  return `its static pod has changed: the mirror pod shows hash ${before}, the static pod has ${now}`;
}
