import type { V1CronJob, V1Deployment, V1Pod, V1PodTemplate, V1PodTemplateSpec } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import type { CheckedPod } from "./policy/check.js";

type TemplateOf = (object: KubeObject) => Wire<V1PodTemplateSpec> | undefined;

const ofWorkload: TemplateOf = (object: Wire<V1Deployment>) => object.spec?.template;

/** Where each resource has the spec of its pods. Mirrors defaultPodSpecResources and ExtractPodSpec. */
const TEMPLATES: Readonly<Record<string, TemplateOf>> = {
  pods: ({ metadata, spec }: Wire<V1Pod>) => (spec === undefined ? undefined : { metadata, spec }),
  podtemplates: ({ template }: Wire<V1PodTemplate>) => template,
  replicationcontrollers: ofWorkload,
  "replicasets.apps": ofWorkload,
  "deployments.apps": ofWorkload,
  "statefulsets.apps": ofWorkload,
  "daemonsets.apps": ofWorkload,
  "jobs.batch": ofWorkload,
  "cronjobs.batch": ({ spec }: Wire<V1CronJob>) => spec?.jobTemplate.spec?.template,
};

/** @param resource `pods`, `jobs.batch` */
export function hasPodSpec(resource: string): boolean {
  return Object.hasOwn(TEMPLATES, resource);
}

/** The pod that is checked; undefined if the object has none. */
export function checkedPod(resource: string, object: KubeObject): CheckedPod | undefined {
  const template = TEMPLATES[resource]?.(object);
  if (template?.spec === undefined) return undefined;
  return { annotations: template.metadata?.annotations ?? {}, spec: template.spec };
}
