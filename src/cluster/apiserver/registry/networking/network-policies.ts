import { BlockList, isIP } from "node:net";
import type {
  V1IPBlock,
  V1NetworkPolicy,
  V1NetworkPolicyPeer,
  V1NetworkPolicyPort,
  V1NetworkPolicySpec,
} from "@kubernetes/client-node";
import { isPortName, isPortNumber } from "../../../../staging/apimachinery/api/names.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../util/records.js";
import { AGE_COLUMN, ageOf, column, formatLabelSelector, NAME_COLUMN } from "../rest/cells.js";
import type { Strategy } from "../rest/definition.js";
import { forbidden, goValue, invalidValue, notSupported, required } from "../rest/field-errors.js";
import { validateLabelSelector } from "../rest/label-selector-validation.js";
import { row, statusOf } from "../rest/rows.js";
import { specAndStatus } from "../rest/stored.js";

type PolicyObject = Wire<V1NetworkPolicy>;

const PROTOCOLS = ["TCP", "UDP", "SCTP"];
const POLICY_TYPES = ["Ingress", "Egress"];

const NOT_ENFORCED =
  "kubelab stores NetworkPolicies, but its network does not enforce them: all connections stay allowed";

/** Mirrors ValidateNetworkPolicySpec in pkg/apis/networking/validation/validation.go. */
function validatePolicy({ spec }: PolicyObject): FieldError[] {
  const { podSelector, ingress, egress, policyTypes } = spec ?? ({} as Wire<V1NetworkPolicySpec>);
  const errors = [
    ...validateLabelSelector(podSelector, "spec.podSelector"),
    ...(ingress ?? []).flatMap((rule, index) => validateRule(`spec.ingress[${index}]`, rule.ports, "from", rule.from)),
    ...(egress ?? []).flatMap((rule, index) => validateRule(`spec.egress[${index}]`, rule.ports, "to", rule.to)),
  ];
  const types = policyTypes ?? [];
  if (types.length > POLICY_TYPES.length) {
    const shown = goValue(`[]networking.PolicyType{${types.map((one) => JSON.stringify(one)).join(", ")}}`);
    return [...errors, invalidValue("spec.policyTypes", shown, "may not specify more than two policyTypes")];
  }
  types.forEach((type, index) => {
    if (!POLICY_TYPES.includes(type)) errors.push(notSupported(`spec.policyTypes[${index}]`, type, POLICY_TYPES));
  });
  return errors;
}

function validateRule(
  field: string,
  ports: readonly Wire<V1NetworkPolicyPort>[] | null | undefined,
  peersName: string,
  peers: readonly Wire<V1NetworkPolicyPeer>[] | null | undefined,
): FieldError[] {
  return [
    ...(ports ?? []).flatMap((port, index) => validatePort(port, `${field}.ports[${index}]`)),
    ...(peers ?? []).flatMap((peer, index) => validatePeer(peer, `${field}.${peersName}[${index}]`)),
  ];
}

function validatePort({ protocol, port, endPort }: Wire<V1NetworkPolicyPort>, field: string): FieldError[] {
  const errors: FieldError[] = [];
  if (isSet(protocol) && !PROTOCOLS.includes(protocol)) {
    errors.push(notSupported(`${field}.protocol`, protocol, PROTOCOLS));
  }
  if (typeof port === "number") {
    errors.push(...isPortNumber(port).map((one) => invalidValue(`${field}.port`, port, one)));
    if (isSet(endPort)) {
      if (endPort < port) {
        errors.push(invalidValue(`${field}.endPort`, endPort, "must be greater than or equal to `port`"));
      }
      errors.push(...isPortNumber(endPort).map((one) => invalidValue(`${field}.endPort`, endPort, one)));
    }
  } else if (isSet(port)) {
    if (isSet(endPort)) {
      errors.push(invalidValue(`${field}.endPort`, endPort, "may not be specified when `port` is non-numeric"));
    }
    errors.push(...isPortName(String(port)).map((one) => invalidValue(`${field}.port`, port, one)));
  } else if (isSet(endPort)) {
    errors.push(invalidValue(`${field}.endPort`, endPort, "may not be specified when `port` is not specified"));
  }
  return errors;
}

function validatePeer(peer: Wire<V1NetworkPolicyPeer>, field: string): FieldError[] {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  const count = [podSelector, namespaceSelector, ipBlock].filter(isSet).length;
  const errors = [
    ...validateLabelSelector(podSelector, `${field}.podSelector`),
    ...validateLabelSelector(namespaceSelector, `${field}.namespaceSelector`),
    ...(ipBlock ? validateIpBlock(ipBlock, `${field}.ipBlock`) : []),
  ];
  if (count === 0) errors.push(required(field, "must specify a peer"));
  else if (count > 1 && ipBlock) errors.push(forbidden(field, "may not specify both ipBlock and another peer"));
  return errors;
}

function validateIpBlock({ cidr = "", except }: Wire<V1IPBlock>, field: string): FieldError[] {
  if (cidr === "") return [required(`${field}.cidr`)];
  const range = parseCidr(cidr);
  if (range === undefined) return [invalidValue(`${field}.cidr`, cidr, "not a valid CIDR")];
  const errors: FieldError[] = [];
  for (const [index, one] of (except ?? []).entries()) {
    const inner = parseCidr(one);
    if (inner === undefined) return [...errors, invalidValue(`${field}.except[${index}]`, one, "not a valid CIDR")];
    if (!isStrictSubset(inner, range)) {
      errors.push(invalidValue(`${field}.except[${index}]`, one, "must be a strict subset of `cidr`"));
    }
  }
  return errors;
}

/** Mirrors pkg/registry/networking/networkpolicy/strategy.go. Differs: says that nothing enforces the policy. */
const strategy: Strategy = specAndStatus({
  counted: true,
  freshStatus: () => ({}),
  strategy: {
    allowUnconditionalUpdate: true,
    prepareForCreate(policy, { warn, report }) {
      warn(NOT_ENFORCED);
      report(`store NetworkPolicy ${policy.metadata.namespace}/${nameOf(policy)} and enforce nothing`, NOT_ENFORCED);
      return policy;
    },
    validate: validatePolicy,
    validateUpdate: validatePolicy,
  },
});

export const NETWORK_POLICIES = row("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", strategy, {
  shortNames: ["netpol"],
  subresources: [statusOf()],
  table: {
    columns: [NAME_COLUMN, column("Pod-Selector", "The pods that the policy is for."), AGE_COLUMN],
    cells: (policy: PolicyObject, nowMs) => [
      nameOf(policy),
      formatLabelSelector(policy.spec?.podSelector),
      ageOf(policy, nowMs),
    ],
  },
});

/** A range of addresses. */
interface Cidr {
  readonly address: string;
  readonly family: "ipv4" | "ipv6";
  readonly prefixLength: number;
}

/** Mirrors ValidateCIDR in pkg/apis/core/validation/validation.go. @returns undefined for any other text */
function parseCidr(text: string): Cidr | undefined {
  const [address = "", length = "", ...more] = text.split("/");
  const version = isIP(address);
  if (version === 0 || more.length > 0 || !/^\d{1,3}$/.test(length)) return undefined;
  const prefixLength = Number(length);
  if (prefixLength > (version === 4 ? 32 : 128)) return undefined;
  return { address, family: version === 4 ? "ipv4" : "ipv6", prefixLength };
}

/** Reports whether `inner` is a smaller part of `outer`. */
function isStrictSubset(inner: Cidr, outer: Cidr): boolean {
  if (inner.family !== outer.family || inner.prefixLength <= outer.prefixLength) return false;
  const range = new BlockList();
  range.addSubnet(outer.address, outer.prefixLength, outer.family);
  return range.check(inner.address, inner.family);
}
