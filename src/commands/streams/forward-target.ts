import type { V1LabelSelector, V1Service } from "@kubernetes/client-node";
import type { KubeList, KubeObject } from "../../staging/apimachinery/api/meta.js";
import { isPodPhaseTerminal, isPodReady, podReadyTimeMs, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import { selectorText } from "../../staging/apimachinery/selector.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { collectionPath, objectPath, PODS } from "../../staging/client-go/rest/paths.js";
import { LabError } from "../../util/errors.js";
import { type PodName, parsePodName } from "./pod.js";

interface TargetKind {
  readonly kind: string;
  readonly resource: string;
  readonly apiVersion: string;
  readonly shortName: string;
}

/** The kinds that select pods. Mirrors SelectorsForObject in k8s.io/kubectl/pkg/polymorphichelpers/helpers.go. */
const KINDS: readonly TargetKind[] = [
  { kind: "Service", resource: "services", apiVersion: "v1", shortName: "svc" },
  { kind: "Deployment", resource: "deployments", apiVersion: "apps/v1", shortName: "deploy" },
  { kind: "ReplicaSet", resource: "replicasets", apiVersion: "apps/v1", shortName: "rs" },
  { kind: "StatefulSet", resource: "statefulsets", apiVersion: "apps/v1", shortName: "sts" },
  { kind: "DaemonSet", resource: "daemonsets", apiVersion: "apps/v1", shortName: "ds" },
  { kind: "ReplicationController", resource: "replicationcontrollers", apiVersion: "v1", shortName: "rc" },
  { kind: "Job", resource: "jobs", apiVersion: "batch/v1", shortName: "job" },
];

/** The target of forwarded ports: a pod, or one of a workload's or Service's pods. */
export type ForwardTarget =
  | { readonly type: "pod"; readonly name: PodName }
  | { readonly type: "owner"; readonly kind: TargetKind; readonly name: PodName };

/** Parses `web`, `pod/web`, `svc/web`, `deployment/web`. @throws LabError USAGE */
export function parseForwardTarget(text: string, namespace: string): ForwardTarget {
  const [type = "", rest] = text.split("/", 2);
  const kind = KINDS.find(({ resource, shortName }) =>
    [resource, resource.replace(/s$/, ""), shortName].includes(type.split(".", 1)[0]?.toLowerCase() ?? ""),
  );
  if (rest === undefined || /^(pods?|po)$/.test(type)) return { type: "pod", name: parsePodName(text, namespace) };
  if (kind === undefined) {
    const known = ["pod", ...KINDS.map(({ resource }) => resource.replace(/s$/, ""))].join(", ");
    throw new LabError("USAGE", `ports of ${JSON.stringify(text)} cannot be forwarded`, `Types: ${known}.`);
  }
  return { type: "owner", kind, name: parsePodName(rest, namespace) };
}

export interface FoundPod {
  readonly name: PodName;
  /** the Service whose ports are requested */
  readonly service: Wire<V1Service> | undefined;
}

/**
 * Finds the pod for the connections: of several, the one that has been ready the longest.
 * Mirrors attachablePodForObject and GetFirstPod in k8s.io/kubectl/pkg/polymorphichelpers.
 * Differs: does not wait for a first pod.
 * @throws LabError REFUSED if the object is unknown; FAILED if it has no pod
 */
export async function findPod(
  client: Pick<KubeClient, "expect">,
  target: Extract<ForwardTarget, { type: "owner" }>,
  signal: AbortSignal,
): Promise<FoundPod> {
  const { kind, name } = target;
  const { namespace } = name;
  const path = objectPath({ apiVersion: kind.apiVersion, resource: kind.resource, namespace }, name.name);
  const object = await client.expect<KubeObject>({ method: "GET", path, signal });
  const shown = `${kind.kind.toLowerCase()} ${namespace}/${name.name}`;
  const labelSelector = selectorOf(kind, object);
  if (labelSelector === "") {
    const hint = "Name the pod instead: kubelab port-forward POD PORT.";
    throw new LabError("FAILED", `the ${shown} is defined without a selector`, hint);
  }
  const query = { labelSelector };
  const list = await client.expect<KubeList<V1Pod>>({
    method: "GET",
    path: collectionPath({ ...PODS, namespace }),
    query,
    signal,
  });
  const [best] = [...list.items].sort(activeFirst);
  if (best === undefined) {
    throw new LabError(
      "FAILED",
      `the ${shown} has no pods`,
      `See them with: kubectl get pods -n ${namespace} -l ${labelSelector}`,
    );
  }
  const service = kind.kind === "Service" ? (object as Wire<V1Service>) : undefined;
  return { name: { namespace, name: best.metadata.name }, service };
}

function selectorOf({ kind }: TargetKind, { spec }: KubeObject): string {
  const { selector } = (spec ?? {}) as { readonly selector?: unknown };
  const isPlain = kind === "Service" || kind === "ReplicationController";
  return selectorText((isPlain ? { matchLabels: selector } : (selector ?? {})) as Wire<V1LabelSelector>);
}

/** Mirrors ActivePods.Less in k8s.io/kubectl/pkg/util/podutils/podutils.go, the other way round. */
function activeFirst(a: V1Pod, b: V1Pod): number {
  const measures: readonly ((pod: V1Pod) => number)[] = [
    (pod) => Number((pod.spec.nodeName ?? "") !== ""),
    (pod) =>
      isPodPhaseTerminal(pod.status.phase) ? -1 : ["Pending", "Unknown", "Running"].indexOf(pod.status.phase ?? ""),
    (pod) => Number(isPodReady(pod)),
    (pod) => -(podReadyTimeMs(pod) ?? 0),
    (pod) => -Math.max(0, ...(pod.status.containerStatuses ?? []).map(({ restartCount }) => restartCount)),
    (pod) => -Date.parse(pod.metadata.creationTimestamp ?? ""),
  ];
  for (const measure of measures) {
    const order = measure(b) - measure(a);
    if (order !== 0) return order;
  }
  return 0;
}
