import type { V1Container, V1Lease, V1Node, V1Pod } from "@kubernetes/client-node";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { addTo, resourceFrom } from "../../../staging/apimachinery/corev1/pod-requests.js";
import { quantityOf } from "../../../staging/apimachinery/quantity.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { NODE_LEASES, objectPath } from "../../../staging/client-go/rest/paths.js";
import { isNotFound } from "../errors.js";
import type { Session } from "../session.js";
import { ageText, annotationsLines, labelsLines, listLines, tableLines, timeText } from "./text.js";

type Node = Wire<V1Node>;
type Pod = Wire<V1Pod>;
type Amounts = ReadonlyMap<string, number>;

/** Mirrors describeNode in staging/src/k8s.io/kubectl/pkg/describe/describe.go. */
export async function describeNode(session: Session, object: KubeObject): Promise<string> {
  const node = object as Node;
  const { metadata, spec, status } = node;
  const conditions = (status?.conditions ?? []).map((one) => {
    const times = [one.lastHeartbeatTime, one.lastTransitionTime].map((time) => timeText(time));
    return [`${one.type} `, `${one.status} `, ...times.map((time) => `${time} `), `${one.reason} `, one.message];
  });
  const head = ["Type", "Status", "LastHeartbeatTime", "LastTransitionTime", "Reason", "Message"];
  const taints = (spec?.taints ?? []).map(
    ({ key, value = "", effect }) => `${key}${value === "" ? "" : `=${value}`}:${effect}`,
  );
  const addresses = (status?.addresses ?? []).map(({ type, address }) => `  ${type}:\t${address}\n`);
  return [
    `Name:\t${metadata.name}\nRoles:\t${rolesOf(node)}\n`,
    labelsLines("Labels", metadata.labels),
    annotationsLines(metadata.annotations),
    `CreationTimestamp:\t${timeText(metadata.creationTimestamp)}\n`,
    listLines("Taints", taints.sort()),
    `Unschedulable:\t${spec?.unschedulable ?? false}\n`,
    await leaseLines(session, metadata.name ?? ""),
    conditions.length === 0 ? "" : `Conditions:\n${tableLines(head, conditions)}`,
    `Addresses:\n${addresses.join("")}`,
    amountLines("Capacity", status?.capacity),
    amountLines("Allocatable", status?.allocatable),
    systemLines(status?.nodeInfo),
    spec?.podCIDR === undefined ? "" : `PodCIDR:\t${spec.podCIDR}\nPodCIDRs:\t${(spec.podCIDRs ?? []).join(",")}\n`,
    await podLines(session, node),
  ].join("");
}

const ROLE = "node-role.kubernetes.io/";

function rolesOf({ metadata }: Node): string {
  const roles = Object.keys(metadata.labels ?? {}).filter((key) => key.startsWith(ROLE));
  return (
    roles
      .map((key) => key.slice(ROLE.length))
      .sort()
      .join(",") || "<none>"
  );
}

async function leaseLines({ client, signal }: Session, name: string): Promise<string> {
  const request = { method: "GET", path: objectPath(NODE_LEASES, name), signal } as const;
  const lease = await client.expect<Wire<V1Lease>>(request).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  const { holderIdentity, acquireTime, renewTime } = lease?.spec ?? {};
  return `Lease:\n  HolderIdentity:\t${holderIdentity ?? "<unset>"}\n  AcquireTime:\t${timeText(acquireTime)}\n  RenewTime:\t${timeText(renewTime)}\n`;
}

function amountLines(title: string, amounts: Readonly<Record<string, string>> | undefined): string {
  const names = Object.keys(amounts ?? {}).sort();
  return names.length === 0 ? "" : `${title}:\n${names.map((name) => `  ${name}:\t${amounts?.[name]}\n`).join("")}`;
}

const SYSTEM_INFO = {
  machineID: "Machine ID",
  systemUUID: "System UUID",
  bootID: "Boot ID",
  kernelVersion: "Kernel Version",
  osImage: "OS Image",
  operatingSystem: "Operating System",
  architecture: "Architecture",
  containerRuntimeVersion: "Container Runtime Version",
  kubeletVersion: "Kubelet Version",
  kubeProxyVersion: "Kube-Proxy Version",
} as const;

function systemLines(info: NonNullable<Node["status"]>["nodeInfo"]): string {
  const fields = Object.entries(SYSTEM_INFO) as [keyof typeof SYSTEM_INFO, string][];
  return `System Info:\n${fields.map(([field, title]) => `  ${title}:\t${info?.[field] ?? ""}\n`).join("")}`;
}

/** Mirrors describeNodeResource: what the pods that have not ended request. */
async function podLines({ client, serverNow, signal }: Session, { metadata, status }: Node): Promise<string> {
  const terms = [`spec.nodeName=${metadata.name}`, "status.phase!=Succeeded", "status.phase!=Failed"];
  const query = { fieldSelector: terms.join(",") };
  const { items } = await client.expect<{ items: readonly Pod[] }>({
    method: "GET",
    path: "/api/v1/pods",
    query,
    signal,
  });
  const nowMs = await serverNow();
  const allocatable = resourceFrom(status?.allocatable ?? status?.capacity);
  const cell = (amounts: Amounts, name: string) => {
    const amount = amounts.get(name) ?? 0;
    const percent = Math.trunc((amount / (allocatable.get(name) || Number.POSITIVE_INFINITY)) * 100);
    return `${amountText(name, amount)} (${percent}%)`;
  };
  const total = { requests: new Map<string, number>(), limits: new Map<string, number>() };
  const rows = items.map((pod) => {
    const requests = amountsOf(pod, "requests");
    const limits = amountsOf(pod, "limits");
    addTo(total.requests, requests);
    addTo(total.limits, limits);
    const cells = ["cpu", "memory"].flatMap((name) => [cell(requests, name), cell(limits, name)]);
    return [pod.metadata.namespace, pod.metadata.name, "", ...cells, ageText(pod.metadata.creationTimestamp, nowMs)];
  });
  const head = ["Namespace", "Name", "", "CPU Requests", "CPU Limits", "Memory Requests", "Memory Limits", "Age"];
  const known = ["cpu", "memory", "ephemeral-storage"];
  const names = [...allocatable.keys()].filter((name) => ![...known, "pods"].includes(name)).sort();
  const isPages = (name: string) => name.startsWith("hugepages-");
  const sums = [...known, ...names.filter(isPages)].map((name) => [
    name,
    cell(total.requests, name),
    cell(total.limits, name),
  ]);
  const others = names
    .filter((name) => !isPages(name))
    .map((name) => [
      name,
      amountText(name, total.requests.get(name) ?? 0),
      amountText(name, total.limits.get(name) ?? 0),
    ]);
  return [
    `Non-terminated Pods:\t(${items.length} in total)\n${tableLines(head, rows)}`,
    "Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)\n",
    tableLines(["Resource", "Requests", "Limits"], [...sums, ...others]),
  ].join("");
}

function amountText(name: string, amount: number): string {
  if (name === "cpu") return amount % 1000 === 0 ? String(amount / 1000) : `${amount}m`;
  return quantityOf(
    amount,
    name === "memory" || name.endsWith("storage") || name.startsWith("hugepages-") ? "bytes" : "count",
  );
}

/** The sum of the containers' resources, or those of the largest init container. Mirrors PodRequestsAndLimits in pkg/util/resource. */
function amountsOf({ spec }: Pod, which: "requests" | "limits"): Amounts {
  const of = (container: Wire<V1Container>) => resourceFrom(container.resources?.[which]);
  const sum = new Map<string, number>();
  for (const container of spec?.containers ?? []) addTo(sum, of(container));
  for (const container of spec?.initContainers ?? []) {
    if (container.restartPolicy === "Always") addTo(sum, of(container));
    else for (const [name, amount] of of(container)) sum.set(name, Math.max(sum.get(name) ?? 0, amount));
  }
  return sum;
}
