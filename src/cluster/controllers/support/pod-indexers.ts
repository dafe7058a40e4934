import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import type { PodObject } from "../../../staging/apimachinery/api/objects.js";
import type { SharedReflector } from "../../../staging/client-go/informers/shared-reflector.js";
import { controllerOf } from "./controller-ref.js";

/** Mirrors AddPodControllerIndexer in pkg/controller/controller_utils.go. */
function controllerKey(pod: PodObject): string {
  return controllerOf(pod)?.uid ?? orphanKey(pod.metadata.namespace);
}

function orphanKey(namespace = ""): string {
  return `orphans of ${namespace}`;
}

/**
 * The pods that the owner controls, and those of its namespace that it could adopt. Mirrors FilterPodsByOwner in
 * pkg/controller/controller_utils.go.
 */
export function podsOfOwner(pods: SharedReflector<PodObject>, { metadata }: KubeObject): readonly PodObject[] {
  const orphans = pods.byIndex(controllerKey, orphanKey(metadata.namespace));
  return [...pods.byIndex(controllerKey, metadata.uid ?? ""), ...orphans];
}

function nodeKey({ spec }: PodObject): string {
  return spec?.nodeName ?? "";
}

/** Mirrors AddPodNodeNameIndexer in pkg/controller/controller_utils.go. */
export function podsOnNode(pods: SharedReflector<PodObject>, nodeName: string): readonly PodObject[] {
  return pods.byIndex(nodeKey, nodeName);
}
