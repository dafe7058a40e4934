import type { V1LimitRange, V1Pod } from "@kubernetes/client-node";
import type { V1Container, V1PodSpec } from "../../../../staging/apimachinery/api/pod.js";
import { resourcesOf } from "../../../../staging/apimachinery/corev1/container-resources.js";
import type { ResourceList } from "../../../../staging/apimachinery/quantity.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";

const ANNOTATION = "kubernetes.io/limit-ranger";

interface Defaults {
  readonly requests: ResourceList;
  readonly limits: ResourceList;
}

/**
 * Returns the pod with the limit range's default amounts in its containers, and an annotation that lists them.
 * Mirrors PodMutateLimitFunc and mergePodResourceRequirements in plugin/pkg/admission/limitranger/admission.go.
 */
export function withDefaults(pod: Wire<V1Pod>, { spec }: Wire<V1LimitRange>): Wire<V1Pod> {
  const items = (spec?.limits ?? []).filter(({ type }) => type === "Container");
  const defaults: Defaults = {
    requests: Object.assign({}, ...items.map(({ defaultRequest }) => defaultRequest)),
    limits: Object.assign({}, ...items.map((item) => item.default)),
  };
  const set: string[] = [];
  const merge = (containers: readonly V1Container[], kind: string) =>
    containers.map((container) => mergeContainer(container, kind, defaults, set));
  const { containers = [], initContainers } = pod.spec ?? {};
  const merged = {
    ...pod.spec,
    containers: merge(containers, "container"),
    ...(initContainers ? { initContainers: merge(initContainers, "init container") } : {}),
  } as V1PodSpec;
  if (set.length === 0) return pod;
  const annotations = { ...pod.metadata.annotations, [ANNOTATION]: `LimitRanger plugin set: ${set.join("; ")}` };
  return { ...pod, metadata: { ...pod.metadata, annotations }, spec: merged };
}

/** Mirrors mergeContainerResources. @param set gets what was added: `cpu, memory request for container web` */
function mergeContainer(container: V1Container, kind: string, defaults: Defaults, set: string[]): V1Container {
  const own = resourcesOf(container);
  const missing = (list: "requests" | "limits") => Object.keys(defaults[list]).filter((name) => !(name in own[list]));
  const requests = missing("requests").sort();
  const limits = missing("limits").sort();
  if (requests.length > 0) set.push(`${requests.join(", ")} request for ${kind} ${container.name}`);
  if (limits.length > 0) set.push(`${limits.join(", ")} limit for ${kind} ${container.name}`);
  if (requests.length === 0 && limits.length === 0) return container;
  const resources = {
    ...container.resources,
    ...(requests.length > 0 ? { requests: { ...defaults.requests, ...own.requests } } : {}),
    ...(limits.length > 0 ? { limits: { ...defaults.limits, ...own.limits } } : {}),
  };
  return { ...container, resources } as V1Container;
}
