import type { V1EnvVar, V1Pod, V1Toleration } from "@kubernetes/client-node";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { getPodQos } from "../../../staging/apimachinery/corev1/qos.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { findValues } from "../../../staging/client-go/jsonpath/jsonpath.js";
import type { Session } from "../session.js";
import { containersLines } from "./containers.js";
import { ageText, annotationsLines, controllerText, labelsLines, listLines, timeText } from "./text.js";
import { volumesLines } from "./volumes.js";

type Pod = Wire<V1Pod>;

/** Mirrors describePod in staging/src/k8s.io/kubectl/pkg/describe/describe.go. */
export async function describePod({ serverNow }: Session, object: KubeObject): Promise<string> {
  const pod = object as Pod;
  const { spec, status } = pod;
  if (spec === undefined) return "";
  const valueFor = ({ valueFrom }: Wire<V1EnvVar>) => {
    const path = valueFrom?.fieldRef?.fieldPath;
    // kubectl resolves only what it finds in the metadata.
    return path?.startsWith("metadata.") === true ? findValues(path, pod).join("") : "";
  };
  const containers = { indent: "", valueFor };
  const { initContainers = [] } = spec;
  const inits =
    initContainers.length === 0
      ? ""
      : containersLines("Init Containers", initContainers, {
          ...containers,
          statuses: status?.initContainerStatuses ?? [],
        });
  return (
    headLines(pod, await serverNow()) +
    inits +
    containersLines("Containers", spec.containers, { ...containers, statuses: status?.containerStatuses ?? [] }) +
    conditionLines(pod) +
    volumesLines(spec.volumes) +
    `QoS Class:\t${status?.qosClass ?? getPodQos(spec)}\n` +
    labelsLines("Node-Selectors", spec.nodeSelector) +
    tolerationsLines(spec.tolerations)
  );
}

function headLines({ metadata, spec, status }: Pod, nowMs: number): string {
  const line = (title: string, value: unknown) => (value === undefined || value === "" ? "" : `${title}:\t${value}\n`);
  const isEnded = ["Failed", "Succeeded"].includes(status?.phase ?? "");
  const isTerminating = metadata.deletionTimestamp !== undefined && !isEnded;
  const ips = (status?.podIPs ?? []).map(({ ip }) => `  IP:\t${ip}\n`);
  return [
    line("Name", metadata.name),
    line("Namespace", metadata.namespace),
    line("Priority", spec?.priority),
    line("Priority Class Name", spec?.priorityClassName),
    line("Service Account", spec?.serviceAccountName),
    `Node:\t${spec?.nodeName === undefined ? "<none>" : `${spec.nodeName}/${status?.hostIP ?? ""}`}\n`,
    status?.startTime ? line("Start Time", timeText(status.startTime)) : "",
    labelsLines("Labels", metadata.labels),
    annotationsLines(metadata.annotations),
    isTerminating
      ? `Status:\tTerminating (lasts ${ageText(metadata.deletionTimestamp, nowMs)})\nTermination Grace Period:\t${metadata.deletionGracePeriodSeconds}s\n`
      : `Status:\t${status?.phase ?? ""}\n`,
    line("Reason", status?.reason),
    line("Message", status?.message),
    `IP:\t${status?.podIP ?? ""}\n`,
    ips.length === 0 ? "IPs:\t<none>\n" : `IPs:\n${ips.join("")}`,
    controllerText(metadata),
  ].join("");
}

function conditionLines({ spec, status }: Pod): string {
  const conditions = status?.conditions ?? [];
  const rows = (list: readonly (readonly [string, string])[]) =>
    list.map(([type, value]) => `  ${type} \t${value} \n`).join("");
  const gates = (spec?.readinessGates ?? []).map(
    ({ conditionType }) =>
      [conditionType, conditions.find(({ type }) => type === conditionType)?.status ?? "<none>"] as const,
  );
  return (
    (gates.length === 0 ? "" : `Readiness Gates:\n  Type\tStatus\n${rows(gates)}`) +
    (conditions.length === 0
      ? ""
      : `Conditions:\n  Type\tStatus\n${rows(conditions.map(({ type, status }) => [type, status] as const))}`)
  );
}

/** Mirrors printPodTolerationsMultiline. */
export function tolerationsLines(tolerations: readonly Wire<V1Toleration>[] = [], indent = ""): string {
  const texts = tolerations.map(({ key = "", value = "", effect = "", operator, tolerationSeconds }) => {
    const pair = `${key}${value === "" ? "" : `=${value}`}${effect === "" ? "" : `:${effect}`}`;
    const exists = operator === "Exists" && value === "" ? `${key === "" && effect === "" ? "" : " "}op=Exists` : "";
    return `${pair}${exists}${tolerationSeconds === undefined ? "" : ` for ${tolerationSeconds}s`}`;
  });
  return listLines("Tolerations", texts.sort(), indent);
}
