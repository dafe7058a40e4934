import type { V1Deployment, V1Pod, V1PodTemplateSpec, V1ReplicaSet } from "@kubernetes/client-node";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { selectorText } from "../../../staging/apimachinery/selector.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { collectionPath, PODS } from "../../../staging/client-go/rest/paths.js";
import { replicaSetsOf } from "../replica-sets.js";
import type { Session } from "../session.js";
import { containersLines } from "./containers.js";
import { tolerationsLines } from "./pod.js";
import { annotationsLines, controllerText, labelsLines, tableLines, timeText } from "./text.js";
import { volumesLines } from "./volumes.js";

/** Mirrors describeDeployment in staging/src/k8s.io/kubectl/pkg/describe/describe.go. */
export async function describeDeployment(session: Session, object: KubeObject): Promise<string> {
  const deployment = object as Wire<V1Deployment>;
  const { metadata, spec, status } = deployment;
  if (spec === undefined) return "";
  const { replicas, updatedReplicas = 0, availableReplicas = 0, unavailableReplicas = 0 } = status ?? {};
  const { type, rollingUpdate } = spec.strategy ?? {};
  const conditions = (status?.conditions ?? []).map(({ type, status, reason }) => [type, status, reason]);
  return [
    `Name:\t${metadata.name}\nNamespace:\t${metadata.namespace}\n`,
    `CreationTimestamp:\t${timeText(metadata.creationTimestamp)}\n`,
    labelsLines("Labels", metadata.labels),
    annotationsLines(metadata.annotations),
    `Selector:\t${selectorText(spec.selector)}\n`,
    `Replicas:\t${spec.replicas} desired | ${updatedReplicas} updated | ${replicas ?? 0} total | ${availableReplicas} available | ${unavailableReplicas} unavailable\n`,
    `StrategyType:\t${type}\nMinReadySeconds:\t${spec.minReadySeconds ?? 0}\n`,
    rollingUpdate === undefined
      ? ""
      : `RollingUpdateStrategy:\t${rollingUpdate.maxUnavailable} max unavailable, ${rollingUpdate.maxSurge} max surge\n`,
    templateLines(spec.template),
    conditions.length === 0 ? "" : `Conditions:\n${tableLines(["Type", "Status", "Reason"], conditions)}`,
    await setsLines(session, deployment),
  ].join("");
}

/** The set of the current template is the one with the highest revision. */
async function setsLines(session: Session, deployment: Wire<V1Deployment>): Promise<string> {
  const sets = await replicaSetsOf(session, deployment);
  const text = (list: readonly Wire<V1ReplicaSet>[]) =>
    list
      .map(
        ({ metadata, spec, status }) =>
          `${metadata.name} (${status?.replicas ?? 0}/${spec?.replicas} replicas created)`,
      )
      .join(", ") || "<none>";
  const isNew = (set: Wire<V1ReplicaSet>) => set === sets.at(-1);
  const age = ({ metadata }: Wire<V1ReplicaSet>) => `${metadata.creationTimestamp} ${metadata.name}`;
  const old = sets.filter((set) => !isNew(set)).sort((a, b) => (age(a) < age(b) ? -1 : 1));
  return `OldReplicaSets:\t${text(old)}\nNewReplicaSet:\t${text(sets.filter(isNew))}\n`;
}

/** Mirrors describeReplicaSet. */
export async function describeReplicaSet(session: Session, object: KubeObject): Promise<string> {
  const { metadata, spec, status } = object as Wire<V1ReplicaSet>;
  const { client, signal } = session;
  const selector = selectorText(spec?.selector ?? {});
  const path = collectionPath({ ...PODS, namespace: metadata.namespace ?? "" });
  const query = { labelSelector: selector };
  const { items } = await client.expect<{ items: readonly Wire<V1Pod>[] }>({ method: "GET", path, query, signal });
  const pods = items.filter((pod) => pod.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid));
  const count = (phase: string) => pods.filter(({ status }) => status?.phase === phase).length;
  return [
    `Name:\t${metadata.name}\nNamespace:\t${metadata.namespace}\nSelector:\t${selector}\n`,
    labelsLines("Labels", metadata.labels),
    annotationsLines(metadata.annotations),
    controllerText(metadata),
    `Replicas:\t${status?.replicas ?? 0} current / ${spec?.replicas} desired\n`,
    `Pods Status:\t${count("Running")} Running / ${count("Pending")} Waiting / ${count("Succeeded")} Succeeded / ${count("Failed")} Failed\n`,
    templateLines(spec?.template),
    conditionLines(status?.conditions),
  ].join("");
}

function conditionLines(conditions: NonNullable<Wire<V1ReplicaSet>["status"]>["conditions"] = []): string {
  if (conditions.length === 0) return "";
  const rows = conditions.map(({ type, status, reason }) => [type, status, reason ?? ""]);
  return `Conditions:\n${tableLines(["Type", "Status", "Reason"], rows)}`;
}

/** Mirrors DescribePodTemplate. */
function templateLines(template: Wire<V1PodTemplateSpec> | undefined): string {
  const { spec } = template ?? {};
  if (spec === undefined) return "Pod Template:\n  <unset>\n";
  const { metadata } = template ?? {};
  const { initContainers = [] } = spec;
  const annotations = metadata?.annotations;
  return [
    `Pod Template:\n${labelsLines("Labels", metadata?.labels, "  ")}`,
    annotations === undefined ? "" : labelsLines("Annotations", annotations, "  ", ": "),
    spec.serviceAccountName ? `  Service Account:\t${spec.serviceAccountName}\n` : "",
    initContainers.length === 0 ? "" : containersLines("Init Containers", initContainers, { indent: "  " }),
    containersLines("Containers", spec.containers, { indent: "  " }),
    volumesLines(spec.volumes, "  "),
    labelsLines("Node-Selectors", spec.nodeSelector, "  "),
    tolerationsLines(spec.tolerations, "  "),
  ].join("");
}
