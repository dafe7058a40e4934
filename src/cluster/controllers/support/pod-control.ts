import type { V1PodTemplateSpec } from "@kubernetes/client-node";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { isDns1123Subdomain } from "../../../staging/apimachinery/api/names.js";
import { nameOf, type PodObject } from "../../../staging/apimachinery/api/objects.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import { typeDefaults } from "../../../staging/apimachinery/scheme/defaults/defaults.js";
import type { MutableStruct } from "../../../staging/apimachinery/scheme/defaults/struct.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import type { LocalClient } from "../../../staging/client-go/dynamic/interface.js";
import type { EventRecorder } from "../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import { defined } from "../../../util/defined.js";
import { messageOf } from "../../../util/errors.js";
import { newControllerRef } from "./controller-ref.js";

export type PodTemplate = Wire<V1PodTemplateSpec>;

/**
 * Creates and deletes the pods of a workload, and records an Event about the workload each time.
 * Mirrors pkg/controller/controller_utils.go (RealPodControl).
 */
export class PodControl {
  constructor(
    readonly client: Pick<LocalClient, "create" | "delete">,
    readonly recorder: EventRecorder,
  ) {}

  /**
   * Creates a pod from the owner's template.
   * @param nodeName binds it at once
   * @throws the API server's refusal, after an event FailedCreate; none is recorded while the namespace terminates
   */
  async create(owner: KubeObject, template: PodTemplate, nodeName?: string): Promise<PodObject> {
    const fromTemplate = podFromTemplate(owner, template);
    return this.createPod(owner, nodeName === undefined ? fromTemplate : onNode(fromTemplate, nodeName));
  }

  /** As `create`, with the beginning of the generated name. Mirrors CreatePodsWithGenerateName. */
  async createWithGenerateName(owner: KubeObject, template: PodTemplate, generateName: string): Promise<PodObject> {
    const pod = podFromTemplate(owner, template);
    return this.createPod(owner, { ...pod, metadata: { ...pod.metadata, generateName } });
  }

  /** As `create`, with a pod that the controller made, for example one with a fixed name. */
  async createPod(owner: KubeObject, pod: PodObject): Promise<PodObject> {
    if (Object.keys(pod.metadata.labels ?? {}).length === 0) throw new Error("unable to create pods, no labels");
    const about = referenceTo(owner);
    try {
      const created = await this.client.create<PodObject>("pods", owner.metadata.namespace, withPodDefaults(pod));
      this.recorder.event(about, "Normal", "SuccessfulCreate", `Created pod: ${nameOf(created)}`);
      return created;
    } catch (error) {
      if (!isNamespaceTerminating(error)) {
        this.recorder.event(about, "Warning", "FailedCreate", `Error creating: ${messageOf(error)}`);
      }
      throw error;
    }
  }

  /**
   * Deletes a pod with its grace period.
   * @returns false if it was gone already, which is no event
   * @throws the API server's refusal, after an event FailedDelete
   */
  async delete(owner: KubeObject, namespace: string | undefined, name: string): Promise<boolean> {
    const about = referenceTo(owner);
    try {
      if (!(await this.client.delete("pods", namespace, name))) return false;
    } catch (error) {
      this.recorder.event(about, "Warning", "FailedDelete", `Error deleting: ${messageOf(error)}`);
      throw new Error(`unable to delete pods: ${messageOf(error)}`, { cause: error });
    }
    this.recorder.event(about, "Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
    return true;
  }
}

/** A pod with a generated name that its owner controls. Mirrors GetPodFromTemplate. */
export function podFromTemplate(owner: KubeObject, { metadata, spec }: PodTemplate): PodObject {
  const { labels, annotations, finalizers } = metadata ?? {};
  const { namespace } = owner.metadata;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...defined({ labels, annotations, finalizers, namespace }),
      generateName: namePrefix(nameOf(owner)),
      ownerReferences: [newControllerRef(owner)],
    },
    ...defined({ spec }),
  };
}

/** A pod has defaults that a template has not: requests by limits, enableServiceLinks. Mirrors SetDefaults_Pod. */
export function withPodDefaults(pod: PodObject): PodObject {
  const copy = structuredClone(pod);
  typeDefaults("Pod")?.(copy as unknown as MutableStruct);
  return copy;
}

function onNode(pod: PodObject, nodeName: string): PodObject {
  return pod.spec === undefined ? pod : { ...pod, spec: { ...pod.spec, nodeName } };
}

/** The dash is only for looks: without it the name of an owner can be longer. Mirrors getPodsPrefix and getEndpointSlicePrefix. */
export function namePrefix(name: string): string {
  const prefix = `${name}-`;
  // The name that follows the dash is generated later.
  return isDns1123Subdomain(`${prefix}a`).length === 0 ? prefix : name;
}

/** Mirrors apierrors.HasStatusCause with NamespaceTerminatingCause. */
export function isNamespaceTerminating(error: unknown): boolean {
  if (!(error instanceof StatusError)) return false;
  return error.status.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true;
}
