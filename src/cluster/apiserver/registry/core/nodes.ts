import type { V1Node, V1Taint } from "@kubernetes/client-node";
import { isLabelValue, isQualifiedName } from "../../../../staging/apimachinery/api/names.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { AGE_COLUMN, ageOf, column, NAME_COLUMN, NONE, UNKNOWN } from "../rest/cells.js";
import type { Strategy } from "../rest/definition.js";
import { duplicate, forbidden, goValue, invalidValue, notSupported, required } from "../rest/field-errors.js";
import { action, row, statusOf } from "../rest/rows.js";

const TAINT_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** Mirrors validateNodeTaints in pkg/apis/core/validation/validation.go. Upstream has the same wrong path. */
function validateTaints(taints: readonly Wire<V1Taint>[] | null | undefined): FieldError[] {
  const seen = new Set<string>();
  return (taints ?? []).flatMap((taint, index) => {
    const { key, effect, value = "" } = taint;
    const field = `metadata.taints[${index}]`;
    const errors = isQualifiedName(key).map((message) => invalidValue(`${field}.key`, key, message));
    const valueMessages = isLabelValue(value);
    if (valueMessages.length > 0) errors.push(invalidValue(`${field}.value`, value, valueMessages.join(";")));
    if (effect === "") errors.push(required(`${field}.effect`));
    else if (!TAINT_EFFECTS.includes(effect)) errors.push(notSupported(`${field}.effect`, effect, TAINT_EFFECTS));
    const identity = `${effect} ${key}`;
    if (seen.has(identity)) errors.push(duplicateTaint(field, taint));
    seen.add(identity);
    return errors;
  });
}

function duplicateTaint(field: string, taint: Wire<V1Taint>): FieldError {
  const [key, value, effect] = [taint.key, taint.value, taint.effect].map((one) => JSON.stringify(one ?? ""));
  const shown = goValue(`core.Taint{Key:${key}, Value:${value}, Effect:${effect}, TimeAdded:<nil>}`);
  return duplicate(field, shown, "taints must be unique by key and effect pair");
}

const CIDR = /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-fA-F:.]+)\/\d{1,3}$/;

/** Mirrors ValidateNode. Does not check the status. */
function validateNode(node: Wire<V1Node>): FieldError[] {
  const { taints, podCIDRs } = node.spec ?? {};
  const errors = validateTaints(taints);
  podCIDRs?.forEach((one, index) => {
    if (CIDR.test(one)) return;
    const all = goValue(`[]string{${podCIDRs.map((cidr) => JSON.stringify(cidr)).join(", ")}}`);
    errors.push(invalidValue(`spec.podCIDRs[${index}]`, all, "must be valid CIDR"));
  });
  return errors;
}

/** Fields that cannot change once they are set. Mirrors ValidateNodeUpdate. */
function validateNodeUpdate(node: Wire<V1Node>, old: Wire<V1Node>): FieldError[] {
  const { spec = {} } = node;
  const { spec: before = {} } = old;
  const errors = duplicateAddresses(node);
  if ((before.podCIDRs ?? []).length > 0 && !semanticallyEqual(spec.podCIDRs, before.podCIDRs)) {
    errors.push(forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid'));
  }
  if (before.providerID && spec.providerID !== before.providerID) {
    errors.push(forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid'));
  }
  return [...errors, ...validateTaints(spec.taints)];
}

function duplicateAddresses(node: Wire<V1Node>): FieldError[] {
  const seen = new Set<string>();
  return (node.status?.addresses ?? []).flatMap(({ type, address }, index) => {
    const identity = `core.NodeAddress{Type:${JSON.stringify(type)}, Address:${JSON.stringify(address)}}`;
    if (!seen.has(identity)) {
      seen.add(identity);
      return [];
    }
    return [duplicate(`status.addresses[${index}]`, goValue(identity))];
  });
}

/** `podCIDR` is the first of `podCIDRs`, whichever was sent. Mirrors Convert_v1_NodeSpec_To_core_NodeSpec. */
function withPodCidrs(node: Wire<V1Node>, old?: Wire<V1Node>): Wire<V1Node> {
  const { spec = {} } = node;
  const one = spec.podCIDR ?? "";
  const all = spec.podCIDRs ?? [];
  if (one === "" && all.length === 0) return node;
  if (one !== "" && all.length === 0) return { ...node, spec: { ...spec, podCIDRs: [one] } };
  const wasSingle = old?.spec?.podCIDR ?? "";
  if (one !== "" && one !== all[0] && one !== wasSingle) return { ...node, spec: { ...spec, podCIDRs: [one] } };
  return one === all[0] ? node : { ...node, spec: { ...spec, podCIDR: all[0] ?? "" } };
}

/** Mirrors pkg/registry/core/node/strategy.go. A POST keeps its status; a PUT of the main resource does not. */
const strategy: Strategy = {
  allowUnconditionalUpdate: true,
  prepareForCreate: (node: Wire<V1Node>) => withPodCidrs(node),
  prepareForUpdate: (node: Wire<V1Node>, old: Wire<V1Node>) => ({ ...withPodCidrs(node, old), status: old.status }),
  validate: validateNode,
  validateUpdate: (node: Wire<V1Node>, old: Wire<V1Node>) => [...validateNode(node), ...validateNodeUpdate(node, old)],
};

const ROLE_PREFIX = "node-role.kubernetes.io/";
const ROLE_LABEL = "kubernetes.io/role";

/** Mirrors findNodeRoles. */
function rolesOf(node: Wire<V1Node>): string {
  const roles = new Set<string>();
  for (const [key, value] of Object.entries(node.metadata.labels ?? {})) {
    if (key.startsWith(ROLE_PREFIX) && key.length > ROLE_PREFIX.length) roles.add(key.slice(ROLE_PREFIX.length));
    else if (key === ROLE_LABEL && value !== "") roles.add(value);
  }
  return roles.size === 0 ? NONE : [...roles].sort().join(",");
}

function statusCell(node: Wire<V1Node>): string {
  const ready = node.status?.conditions?.find(({ type }) => type === "Ready");
  const words = [ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady"];
  if (node.spec?.unschedulable === true) words.push("SchedulingDisabled");
  return words.join(",");
}

function addressOf(node: Wire<V1Node>, type: string): string {
  const address = node.status?.addresses?.find((one) => one.type === type);
  return address?.address ?? NONE;
}

/** Mirrors printNode in pkg/printers/internalversion/printers.go. */
function nodeCells(node: Wire<V1Node>, nowMs: number): unknown[] {
  const nodeInfo = node.status?.nodeInfo;
  return [
    nameOf(node),
    statusCell(node),
    rolesOf(node),
    ageOf(node, nowMs),
    nodeInfo?.kubeletVersion ?? "",
    addressOf(node, "InternalIP"),
    addressOf(node, "ExternalIP"),
    nodeInfo?.osImage || UNKNOWN,
    nodeInfo?.kernelVersion || UNKNOWN,
    nodeInfo?.containerRuntimeVersion || UNKNOWN,
  ];
}

export const NODES = row("v1", "Node", "nodes", strategy, {
  namespaced: false,
  shortNames: ["no"],
  subresources: [
    action("proxy", "NodeProxyOptions", ["create", "delete", "get", "patch", "update"]),
    statusOf({
      prepareForUpdate: (node, old) => ({ ...node, spec: old.spec }),
      validateUpdate: validateNodeUpdate,
    }),
  ],
  selectableFields: (node: Wire<V1Node>) => ({ "spec.unschedulable": String(node.spec?.unschedulable ?? false) }),
  table: {
    columns: [
      NAME_COLUMN,
      column("Status", "The status of the node"),
      column("Roles", "The roles of the node"),
      AGE_COLUMN,
      column("Version", "Kubelet Version reported by the node."),
      column("Internal-IP", "The first address of type InternalIP that the node reports.", { wide: true }),
      column("External-IP", "The first address of type ExternalIP that the node reports.", { wide: true }),
      column("OS-Image", "OS Image reported by the node from /etc/os-release (e.g. Debian GNU/Linux 7 (wheezy)).", {
        wide: true,
      }),
      column("Kernel-Version", "Kernel Version reported by the node from 'uname -r' (e.g. 3.16.0-0.bpo.4-amd64).", {
        wide: true,
      }),
      column("Container-Runtime", "The container runtime and its version, as the node reports it.", { wide: true }),
    ],
    cells: nodeCells,
  },
});
