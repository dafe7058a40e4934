import type {
  V1Namespace,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1ReplicaSet,
  V1ReplicationController,
  V1Service,
  V1StatefulSet,
  V1StorageClass,
} from "@kubernetes/client-node";
import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { PodDisruptionBudget } from "../../staging/apimachinery/policyv1/pod-disruption-budget.js";
import { labelSelectorAsSelector } from "../../staging/apimachinery/selector.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import type { SharedReflectors } from "../../staging/client-go/informers/shared-reflector.js";
import type { NamespaceLabels } from "./affinity-terms.js";
import type { SchedulablePod } from "./objects.js";

/** Reports whether a pod with these labels belongs to a group of pods. */
export type PodSelector = (labels: Readonly<Record<string, string>> | undefined) => boolean;

/** The objects besides nodes and pods that plugins look up. */
export interface ClusterLookups {
  readonly namespaceLabels: NamespaceLabels;
  /** @returns undefined if the pod belongs to no Service and no controller */
  defaultSelector(pod: SchedulablePod): PodSelector | undefined;
  claim(namespace: string | undefined, name: string): Wire<V1PersistentVolumeClaim> | undefined;
  volume(name: string): Wire<V1PersistentVolume> | undefined;
  volumes(): readonly Wire<V1PersistentVolume>[];
  storageClass(name: string): Wire<V1StorageClass> | undefined;
  budgets(): readonly PodDisruptionBudget[];
}

/** What decides about the volumes of a pod. */
export type VolumeLookups = Pick<ClusterLookups, "claim" | "volume" | "volumes" | "storageClass">;

/** Reads the shared caches. Resolves when each has its first list. */
export async function clusterLookups(
  reflectors: Pick<SharedReflectors, "of">,
  signal: AbortSignal,
): Promise<ClusterLookups> {
  const namespaces = reflectors.of<Wire<V1Namespace>>("namespaces");
  const services = reflectors.of<Wire<V1Service>>("services");
  const controllers = {
    ReplicationController: reflectors.of<Wire<V1ReplicationController>>("replicationcontrollers"),
    ReplicaSet: reflectors.of<Wire<V1ReplicaSet>>("replicasets.apps"),
    StatefulSet: reflectors.of<Wire<V1StatefulSet>>("statefulsets.apps"),
  };
  const claims = reflectors.of<Wire<V1PersistentVolumeClaim>>("persistentvolumeclaims");
  const volumes = reflectors.of<Wire<V1PersistentVolume>>("persistentvolumes");
  const classes = reflectors.of<Wire<V1StorageClass>>("storageclasses.storage.k8s.io");
  const budgets = reflectors.of<PodDisruptionBudget>("poddisruptionbudgets.policy");
  const all = [namespaces, services, ...Object.values(controllers), claims, volumes, classes, budgets];
  await Promise.all(all.map((one) => one.synced(signal)));
  return {
    namespaceLabels: (namespace) => namespaces.byKey(namespace)?.metadata.labels,
    defaultSelector(pod) {
      const selectors = [
        ...selectorsOfServices(services.list(), pod),
        ...ownerSelector(pod, ({ kind, name }) => {
          if (!Object.hasOwn(controllers, kind)) return undefined;
          return controllers[kind as keyof typeof controllers].get(pod.metadata.namespace, name);
        }),
      ];
      return selectors.length === 0 ? undefined : (labels) => selectors.every((one) => one(labels));
    },
    claim: (namespace, name) => claims.get(namespace, name),
    volume: (name) => volumes.byKey(name),
    volumes: () => volumes.list(),
    storageClass: (name) => classes.byKey(name),
    budgets: () => budgets.list(),
  };
}

/** Mirrors GetPodServices in pkg/scheduler/framework/plugins/helper/spread.go. */
function selectorsOfServices(services: readonly Wire<V1Service>[], { metadata }: SchedulablePod): PodSelector[] {
  return services.flatMap((service) => {
    const matchLabels = service.spec?.selector ?? {};
    if (service.metadata.namespace !== metadata.namespace || Object.keys(matchLabels).length === 0) return [];
    const selector: PodSelector = labelSelectorAsSelector({ matchLabels });
    return selector(metadata.labels) ? [selector] : [];
  });
}

/** Mirrors DefaultSelector in pkg/scheduler/framework/plugins/helper/spread.go. */
function ownerSelector(
  { metadata }: SchedulablePod,
  find: (owner: { readonly kind: string; readonly name: string }) => KubeObject | undefined,
): PodSelector[] {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const found = owner === undefined ? undefined : find(owner);
  if (found === undefined) return [];
  const { selector } = (found["spec"] ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof selector !== "object" || selector === null) return [];
  const asSelector = found.kind === "ReplicationController" ? { matchLabels: selector } : selector;
  return [labelSelectorAsSelector(asSelector as Parameters<typeof labelSelectorAsSelector>[0])];
}
