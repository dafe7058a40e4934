import type { V1NodeSelectorTerm, V1PodTemplateSpec } from "@kubernetes/client-node";
import type { ContainerSpec, V1PodSpec } from "../../../../../staging/apimachinery/api/pod.js";
import { canonicalQuantity } from "../../../../../staging/apimachinery/quantity.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import { isAtLeast } from "../../../../../util/release/facts.js";

/** Mirrors deprecatedNodeLabels in pkg/api/node/util.go. */
const DEPRECATED_NODE_LABELS: Readonly<Record<string, string>> = {
  "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
  "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
  "failure-domain.beta.kubernetes.io/region": 'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
};

const DEPRECATED_ANNOTATIONS: Readonly<Record<string, string>> = {
  "scheduler.alpha.kubernetes.io/critical-pod": 'non-functional in v1.16+; use the "priorityClassName" field instead',
  "security.alpha.kubernetes.io/sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
  "security.alpha.kubernetes.io/unsafe-sysctls": 'non-functional in v1.11+; use the "sysctls" field instead',
};

type VolumeType = keyof NonNullable<V1PodSpec["volumes"]>[number];

/** Each with the release that began to warn; 1.25: that one or before. */
const DEPRECATED_VOLUMES: readonly (readonly [type: VolumeType, shown: string, since: string, message: string])[] = [
  ["photonPersistentDisk", "photonPersistentDisk", "1.25", "deprecated in v1.11, non-functional in v1.16+"],
  ["gitRepo", "gitRepo", "1.25", "deprecated in v1.11"],
  ["scaleIO", "scaleIO", "1.25", "deprecated in v1.16, non-functional in v1.22+"],
  ["flocker", "flocker", "1.25", "deprecated in v1.22, non-functional in v1.25+"],
  ["storageos", "storageOS", "1.25", "deprecated in v1.22, non-functional in v1.25+"],
  ["quobyte", "quobyte", "1.25", "deprecated in v1.22, non-functional in v1.25+"],
  ["glusterfs", "glusterfs", "1.25", "deprecated in v1.25, non-functional in v1.26+"],
  ["cephfs", "cephfs", "1.28", "deprecated in v1.28, non-functional in v1.31+"],
  ["rbd", "rbd", "1.28", "deprecated in v1.28, non-functional in v1.31+"],
];

const POD_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod";
const CONTAINER_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/";
const NO_SELECTOR = "a null labelSelector results in matching no pod";

interface Checked {
  readonly spec: V1PodSpec;
  readonly annotations: Readonly<Record<string, string>>;
  /** `spec.template.`; empty for a pod */
  readonly below: string;
  readonly kubeVersion: string;
}

/**
 * What is accepted of a pod or a template, but will surprise.
 *
 * Mirrors warningsForPodSpecAndMeta in pkg/api/pod/warnings.go. Differs: leaves out duplicate paths of projected volumes and port names.
 * @param field `spec.template`; empty for a pod
 */
export function warningsForPod(
  { metadata, spec }: Wire<V1PodTemplateSpec>,
  field: string,
  kubeVersion: string,
): string[] {
  if (spec === undefined) return [];
  const below = field === "" ? "" : `${field}.`;
  const checked: Checked = { spec, annotations: metadata?.annotations ?? {}, below, kubeVersion };
  const warnings = [
    ...nodeLabels(checked),
    ...spreadConstraints(checked),
    ...annotations(checked),
    ...volumes(checked),
    ...duplicates(checked),
    ...fractions(spec.overhead, `${below}spec.overhead`),
    ...podSeccomp(checked),
    ...containersOf(checked).flatMap(([container, path]) => containerWarnings(checked, container, path)),
  ];
  if (isAtLeast(kubeVersion, "1.28")) warnings.push(...duplicatePorts(checked), ...podAffinity(checked));
  return warnings;
}

function nodeLabels({ spec, below }: Checked): string[] {
  const ofSelector = Object.keys(spec.nodeSelector ?? {}).flatMap((key) =>
    deprecatedLabel(key, (message) => `${below}spec.nodeSelector[${key}]: ${message}`),
  );
  const { nodeAffinity } = spec.affinity ?? {};
  const path = `${below}spec.affinity.nodeAffinity`;
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const preferred = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return [
    ...ofSelector,
    ...required.flatMap((term, index) =>
      ofTerm(term, `${path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[${index}]`),
    ),
    ...preferred.flatMap(({ preference }, index) =>
      ofTerm(preference, `${path}.preferredDuringSchedulingIgnoredDuringExecution[${index}].preference`),
    ),
  ];
}

function ofTerm({ matchExpressions = [] }: Wire<V1NodeSelectorTerm>, path: string): string[] {
  return matchExpressions.flatMap(({ key }, index) =>
    deprecatedLabel(key, (message) => `${path}.matchExpressions[${index}].key: ${key} is ${message}`),
  );
}

function deprecatedLabel(key: string, warning: (message: string) => string): string[] {
  const message = Object.hasOwn(DEPRECATED_NODE_LABELS, key) ? DEPRECATED_NODE_LABELS[key] : undefined;
  return message === undefined ? [] : [warning(message)];
}

function spreadConstraints({ spec, below, kubeVersion }: Checked): string[] {
  return (spec.topologySpreadConstraints ?? []).flatMap(({ topologyKey, labelSelector }, index) => {
    const path = `${below}spec.topologySpreadConstraints[${index}]`;
    const isNull = labelSelector === undefined && isAtLeast(kubeVersion, "1.28");
    return [
      ...deprecatedLabel(topologyKey, (message) => `${path}.topologyKey: ${topologyKey} is ${message}`),
      ...(isNull ? [`${path}.labelSelector: ${NO_SELECTOR}`] : []),
    ];
  });
}

function podAffinity({ spec, below }: Checked): string[] {
  return (["podAffinity", "podAntiAffinity"] as const).flatMap((kind) => {
    const affinity = spec.affinity?.[kind];
    const path = `${below}spec.affinity.${kind}`;
    const required = affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const preferred = affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    return [
      ...required.map(({ labelSelector }, index) => ({
        labelSelector,
        at: `${path}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`,
      })),
      ...preferred.map(({ podAffinityTerm: { labelSelector } }, index) => ({
        labelSelector,
        at: `${path}.preferredDuringSchedulingIgnoredDuringExecution[${index}].podAffinityTerm`,
      })),
    ].flatMap(({ labelSelector, at }) => (labelSelector === undefined ? [`${at}.labelSelector: ${NO_SELECTOR}`] : []));
  });
}

function annotations({ annotations: given, below }: Checked): string[] {
  return Object.entries(DEPRECATED_ANNOTATIONS).flatMap(([key, message]) =>
    given[key] === undefined ? [] : [`${below}metadata.annotations[${key}]: ${message}`],
  );
}

function volumes({ spec, below, kubeVersion }: Checked): string[] {
  return (spec.volumes ?? []).flatMap((volume, index) =>
    DEPRECATED_VOLUMES.flatMap(([type, shown, since, message]) =>
      volume[type] !== undefined && isAtLeast(kubeVersion, since)
        ? [`${below}spec.volumes[${index}].${shown}: ${message}`]
        : [],
    ),
  );
}

function duplicates({ spec, below }: Checked): string[] {
  const secrets = (spec.imagePullSecrets ?? []).map(({ name = "" }) => name);
  const path = `${below}spec.imagePullSecrets`;
  return [
    ...repeated((spec.hostAliases ?? []).map(({ ip = "" }) => ip)).map(
      ([index, ip]) => `${below}spec.hostAliases[${index}].ip: duplicate ip ${JSON.stringify(ip)}`,
    ),
    ...repeated(secrets).map(([index, name]) => `${path}[${index}].name: duplicate name ${JSON.stringify(name)}`),
    ...secrets.flatMap((name, index) => (name === "" ? [`${path}[${index}].name: invalid empty name ""`] : [])),
  ];
}

/** The texts that were there before, with their index. */
function repeated(texts: readonly string[]): [index: number, text: string][] {
  const seen = new Set<string>();
  return [...texts.entries()].filter(([, text]) => seen.size === seen.add(text).size);
}

function podSeccomp({ spec, annotations: given, below, kubeVersion }: Checked): string[] {
  if (given[POD_SECCOMP] === undefined || spec.securityContext?.seccompProfile !== undefined) return [];
  return [seccompWarning(below, POD_SECCOMP, kubeVersion)];
}

function seccompWarning(below: string, key: string, kubeVersion: string): string {
  const what = isAtLeast(kubeVersion, "1.27")
    ? "non-functional in v1.27+"
    : "deprecated since v1.19, non-functional in v1.25+";
  return `${below}metadata.annotations[${key}]: ${what}; use the "seccompProfile" field instead`;
}

type ContainerPath = readonly [container: ContainerSpec, path: string];

function containersOf({ spec, below }: Checked): readonly ContainerPath[] {
  return (["initContainers", "containers", "ephemeralContainers"] as const).flatMap((list) =>
    (spec[list] ?? []).map((container, index): ContainerPath => [container, `${below}spec.${list}[${index}]`]),
  );
}

function containerWarnings(
  { annotations: given, below, kubeVersion }: Checked,
  { name, env = [], resources, securityContext }: ContainerSpec,
  path: string,
): string[] {
  const seccomp = `${CONTAINER_SECCOMP}${name}`;
  const hasSeccomp = given[seccomp] !== undefined && securityContext?.seccompProfile === undefined;
  return [
    ...(hasSeccomp ? [seccompWarning(below, seccomp, kubeVersion)] : []),
    ...fractions(resources?.limits, `${path}.resources.limits`),
    ...fractions(resources?.requests, `${path}.resources.requests`),
    ...duplicateVariables(env, `${path}.env`, kubeVersion),
  ];
}

/** A byte cannot be divided: `100m` of memory is a tenth of one. */
function fractions(resources: Readonly<Record<string, unknown>> | undefined, path: string): string[] {
  return ["memory", "ephemeral-storage"].flatMap((resource) => {
    const quantity = canonicalQuantity(resources?.[resource]) ?? "";
    if (!/[mun]$/.test(quantity)) return [];
    return [`${path}[${resource}]: fractional byte value "${quantity}" is invalid, must be an integer`];
  });
}

/** From 1.28 on, a variable can extend its earlier value, and the warning says what apply does. */
function duplicateVariables(env: NonNullable<ContainerSpec["env"]>, path: string, kubeVersion: string): string[] {
  return repeated(env.map(({ name }) => name)).flatMap(([index, name]) => {
    if (!isAtLeast(kubeVersion, "1.28")) return [`${path}[${index}].name: duplicate name ${JSON.stringify(name)}`];
    const { value = "", valueFrom } = env[index] ?? {};
    const reference = `$(${name})`;
    if (valueFrom === undefined && value !== reference && value.includes(reference)) return [];
    return isAtLeast(kubeVersion, "1.30")
      ? [
          `${path}[${index}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`,
        ]
      : [`${path}[${index}]: \`${name}\` hides previous definition`];
  });
}

interface DefinedPort {
  readonly hostIP: string;
  readonly hostPort: number;
  readonly path: string;
}

function duplicatePorts(checked: Checked): string[] {
  const defined = new Map<string, DefinedPort[]>();
  const warnings: string[] = [];
  for (const [{ ports = [] }, container] of containersOf(checked)) {
    for (const [index, { containerPort, protocol = "TCP", hostIP = "", hostPort = 0 }] of ports.entries()) {
      const port: DefinedPort = { hostIP, hostPort, path: `${container}.ports[${index}]` };
      const key = `${containerPort}/${protocol}`;
      const others = defined.get(key) ?? [];
      for (const other of others) {
        const how = overlap(port, other);
        if (how !== undefined) warnings.push(`${port.path}: ${how} port definition with ${other.path}`);
      }
      defined.set(key, others);
      others.push(port);
    }
  }
  return warnings;
}

function overlap(port: DefinedPort, other: DefinedPort): string | undefined {
  if (port.hostIP === other.hostIP && port.hostPort === other.hostPort) return "duplicate";
  if (port.hostPort === 0 || other.hostPort === 0) return "overlapping";
  const isOneOpen = (port.hostIP === "") !== (other.hostIP === "");
  return port.hostPort === other.hostPort && isOneOpen ? "dangerously ambiguous" : undefined;
}
