import { goQuote } from "../../../../../staging/apimachinery/scheme/go-text.js";
import {
  badValues,
  type Check,
  type CheckedPod,
  type CheckPod,
  containersWith,
  counted,
  plural,
  quoted,
  sorted,
  type Violation,
} from "./check.js";
import { seccompAnnotations, seccompFieldCheck } from "./seccomp.js";

const DEFAULT_CAPABILITIES = new Set(
  "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT".split(
    " ",
  ),
);

const SYSCTLS_1_0 = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
];
const SYSCTLS_1_27 = [...SYSCTLS_1_0, "net.ipv4.ip_local_reserved_ports"];
const SYSCTLS_1_29 = [
  ...SYSCTLS_1_27,
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
];
const SYSCTLS_1_32 = [...SYSCTLS_1_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];

const SELINUX_TYPES_1_0 = ["", "container_t", "container_init_t", "container_kvm_t"];
const SELINUX_TYPES_1_31 = [...SELINUX_TYPES_1_0, "container_engine_t"];

const APP_ARMOR_ANNOTATION = "container.apparmor.security.beta.kubernetes.io/";

/** The checks of the baseline level, by their IDs. Mirrors k8s.io/pod-security-admission/policy. */
export const BASELINE: readonly Check[] = [
  { id: "appArmorProfile", versions: [{ since: 0, check: appArmorProfile }] },
  { id: "capabilities_baseline", versions: [{ since: 0, check: capabilities }] },
  { id: "hostNamespaces", versions: [{ since: 0, check: hostNamespaces }] },
  { id: "hostPathVolumes", versions: [{ since: 0, check: hostPathVolumes }] },
  { id: "hostPorts", versions: [{ since: 0, check: hostPorts }] },
  { id: "hostProbesAndHostLifecycle", versions: [{ since: 34, check: probeHosts }] },
  { id: "privileged", versions: [{ since: 0, check: privileged }] },
  { id: "procMount", versions: [{ since: 0, check: procMount }] },
  {
    id: "seLinuxOptions",
    versions: [
      { since: 0, check: seLinuxOptions(SELINUX_TYPES_1_0) },
      { since: 31, check: seLinuxOptions(SELINUX_TYPES_1_31) },
    ],
  },
  {
    id: "seccompProfile_baseline",
    versions: [
      { since: 0, check: seccompAnnotations },
      { since: 19, check: (pod) => seccompFieldCheck(pod, { isRequired: false }) },
    ],
  },
  {
    id: "sysctls",
    versions: [
      { since: 0, check: sysctls(SYSCTLS_1_0) },
      { since: 27, check: sysctls(SYSCTLS_1_27) },
      { since: 29, check: sysctls(SYSCTLS_1_29) },
      { since: 32, check: sysctls(SYSCTLS_1_32) },
    ],
  },
  { id: "windowsHostProcess", versions: [{ since: 0, check: windowsHostProcess }] },
];

function appArmorProfile(pod: CheckedPod): Violation | undefined {
  const bad = badValues(
    pod,
    ({ appArmorProfile: profile }) => profile?.type,
    (type) => type !== "RuntimeDefault" && type !== "Localhost",
  );
  const annotations = Object.entries(pod.annotations)
    .filter(([key, value]) => key.startsWith(APP_ARMOR_ANNOTATION) && !isAllowedProfile(value))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .sort();
  const values = [...sorted(bad.values), ...annotations];
  if (values.length === 0) return undefined;
  const setters = [...bad.setters, ...(annotations.length === 0 ? [] : [plural("annotation", annotations.length)])];
  return {
    reason: plural("forbidden AppArmor profile", values.length),
    detail: `${setters.join(" and ")} must not set AppArmor profile type to ${quoted(values)}`,
  };
}

function isAllowedProfile(profile: string): boolean {
  return profile === "" || profile === "runtime/default" || profile.startsWith("localhost/");
}

function capabilities(pod: CheckedPod): Violation | undefined {
  const forbidden: string[] = [];
  const containers = containersWith(pod, ({ securityContext }) => {
    const added = (securityContext?.capabilities?.add ?? []).filter((one) => !DEFAULT_CAPABILITIES.has(one));
    forbidden.push(...added);
    return added.length > 0;
  });
  if (containers.length === 0) return undefined;
  const what = `must not include ${quoted(sorted(forbidden))} in securityContext.capabilities.add`;
  return { reason: "non-default capabilities", detail: `${counted("container", containers)} ${what}` };
}

function hostNamespaces({ spec }: CheckedPod): Violation | undefined {
  const fields = (["hostNetwork", "hostPID", "hostIPC"] as const).filter((field) => spec[field] === true);
  if (fields.length === 0) return undefined;
  return { reason: "host namespaces", detail: fields.map((field) => `${field}=true`).join(", ") };
}

function hostPathVolumes({ spec }: CheckedPod): Violation | undefined {
  const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name);
  return names.length === 0 ? undefined : { reason: "hostPath volumes", detail: counted("volume", names) };
}

function hostPorts(pod: CheckedPod): Violation | undefined {
  const used: string[] = [];
  const containers = containersWith(pod, ({ ports = [] }) => {
    const ofHost = ports.flatMap(({ hostPort = 0 }) => (hostPort === 0 ? [] : [String(hostPort)]));
    used.push(...ofHost);
    return ofHost.length > 0;
  });
  if (containers.length === 0) return undefined;
  const ports = sorted(used);
  const verb = containers.length === 1 ? "uses" : "use";
  const detail = `${counted("container", containers)} ${verb} ${plural("hostPort", ports.length)} ${ports.join(", ")}`;
  return { reason: "hostPort", detail };
}

function probeHosts(pod: CheckedPod): Violation | undefined {
  const used: string[] = [];
  const containers = containersWith(pod, (container) => {
    const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
    const handlers = [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop];
    const hosts = handlers
      .flatMap((handler) => [handler?.httpGet?.host ?? "", handler?.tcpSocket?.host ?? ""])
      .filter((host) => host !== "");
    used.push(...hosts);
    return hosts.length > 0;
  });
  if (containers.length === 0) return undefined;
  const verb = containers.length === 1 ? "uses" : "use";
  const hosts = counted("probe or lifecycle host", sorted(used));
  return { reason: "probe or lifecycle host", detail: `${counted("container", sorted(containers))} ${verb} ${hosts}` };
}

function privileged(pod: CheckedPod): Violation | undefined {
  const containers = containersWith(pod, ({ securityContext }) => securityContext?.privileged === true);
  if (containers.length === 0) return undefined;
  const detail = `${counted("container", containers)} must not set securityContext.privileged=true`;
  return { reason: "privileged", detail };
}

function procMount(pod: CheckedPod): Violation | undefined {
  const types: string[] = [];
  const containers = containersWith(pod, ({ securityContext }) => {
    const type = securityContext?.procMount ?? "Default";
    if (type !== "Default") types.push(type);
    return type !== "Default";
  });
  if (containers.length === 0) return undefined;
  const what = `must not set securityContext.procMount to ${quoted(sorted(types))}`;
  return { reason: "procMount", detail: `${counted("container", containers)} ${what}` };
}

function seLinuxOptions(allowedTypes: readonly string[]): CheckPod {
  return (pod) => {
    const isTypeBad = (type = "") => !allowedTypes.includes(type);
    const bad = badValues(
      pod,
      ({ seLinuxOptions: options }) => options,
      ({ type, user = "", role = "" }) => isTypeBad(type) || user !== "" || role !== "",
    );
    if (bad.setters.length === 0) return undefined;
    const types = sorted(bad.values.flatMap(({ type = "" }) => (isTypeBad(type) ? [type] : [])));
    const data = [
      ...(types.length === 0 ? [] : [counted("type", types)]),
      ...(bad.values.some(({ user = "" }) => user !== "") ? ["user may not be set"] : []),
      ...(bad.values.some(({ role = "" }) => role !== "") ? ["role may not be set"] : []),
    ];
    const setters = bad.setters.join(" and ");
    const detail = `${setters} set forbidden securityContext.seLinuxOptions: ${data.join("; ")}`;
    return { reason: "seLinuxOptions", detail };
  };
}

function sysctls(allowed: readonly string[]): CheckPod {
  return ({ spec }) => {
    const names = (spec.securityContext?.sysctls ?? []).map(({ name }) => name);
    const forbidden = names.filter((name) => !allowed.includes(name));
    return forbidden.length === 0 ? undefined : { reason: "forbidden sysctls", detail: forbidden.join(", ") };
  };
}

function windowsHostProcess(pod: CheckedPod): Violation | undefined {
  const { setters } = badValues(
    pod,
    ({ windowsOptions }) => windowsOptions?.hostProcess,
    (isHostProcess) => isHostProcess,
  );
  if (setters.length === 0) return undefined;
  const what = "must not set securityContext.windowsOptions.hostProcess=true";
  return { reason: "hostProcess", detail: `${setters.join(" and ")} ${what}` };
}
