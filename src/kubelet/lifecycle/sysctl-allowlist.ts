import { isAtLeast } from "../../util/release/facts.js";
import type { PodAdmitAttributes, PodAdmitHandler, PodAdmitResult } from "./admit.js";

/** The kernel namespace that has its own value of a sysctl. */
type Namespace = "ipc" | "net";

/** Sysctls that influence no other pod of the node, by their first release. */
const SAFE: Readonly<Record<string, string>> = {
  "1.25": `kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range
    net.ipv4.ip_unprivileged_port_start`,
  "1.27": "net.ipv4.ip_local_reserved_ports",
  "1.29":
    "net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes",
  "1.32": "net.ipv4.tcp_rmem net.ipv4.tcp_wmem",
};

const PATTERN = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]$";
const PATTERN_REGEXP = new RegExp(PATTERN);
const MAX_LENGTH = 253;

/** Mirrors NamespacedBy in pkg/kubelet/sysctl/namespace.go. */
function namespacedBy(name: string): Namespace | undefined {
  if (name === "kernel.sem" || /^(kernel\.shm|kernel\.msg|fs\.mqueue\.)/.test(name)) return "ipc";
  return name.startsWith("net.") ? "net" : undefined;
}

/**
 * Writes a sysctl's name with dots: `net/ipv4/conf/eth0.1/arp` is net.ipv4.conf.eth0/1.arp, because the first separator is
 * the one between names. Mirrors ConvertSysctlVariableToDotsSeparator in k8s.io/component-helpers/node/util/sysctl.
 */
export function dottedSysctl(name: string): string {
  const first = /[./]/.exec(name)?.[0];
  if (first !== "/") return name;
  return name.replace(/[./]/g, (separator) => (separator === "/" ? "." : "/"));
}

/** Mirrors NewAllowlist. @param patterns allowedUnsafeSysctls. @returns the first problem */
export function allowedSysctlsProblem(patterns: readonly string[]): string | undefined {
  for (const pattern of patterns) {
    if (pattern.length > MAX_LENGTH || !PATTERN_REGEXP.test(pattern)) {
      return `sysctl ${JSON.stringify(pattern)} must have at most ${MAX_LENGTH} characters and match regex ${PATTERN}`;
    }
    const name = dottedSysctl(pattern);
    const what = name.endsWith("*") ? "sysctls" : "sysctl";
    if (namespacedBy(name.replace(/\*$/, "")) === undefined) {
      return `the ${what} ${JSON.stringify(name)} are not known to be namespaced`;
    }
  }
  return undefined;
}

/**
 * Refuses pods with sysctls that are neither safe nor allowed by `allowedUnsafeSysctls`, and those of a namespace that the pod
 * shares with the host.
 *
 * Mirrors patternAllowlist in pkg/kubelet/sysctl/allowlist.go, and its safe_sysctls.go.
 * Differs: the kernel is new enough for every safe sysctl.
 */
export class SysctlAllowlist implements PodAdmitHandler {
  readonly #patterns: readonly string[];

  /** @param allowedUnsafe names, or beginnings of names that end in `*` */
  constructor(allowedUnsafe: readonly string[], kubeVersion: string) {
    const safe = Object.entries(SAFE).flatMap(([since, names]) =>
      isAtLeast(kubeVersion, since) ? names.split(/\s+/) : [],
    );
    this.#patterns = [...safe, ...allowedUnsafe.map(dottedSysctl)];
  }

  async admit({ pod }: PodAdmitAttributes): Promise<PodAdmitResult> {
    const { securityContext, hostNetwork, hostIPC } = pod.spec;
    for (const { name } of securityContext?.sysctls ?? []) {
      const problem = this.#problemOf(dottedSysctl(name), hostNetwork === true, hostIPC === true);
      if (problem !== undefined)
        return { admit: false, reason: "SysctlForbidden", message: `forbidden sysctl: ${problem}` };
    }
    return { admit: true };
  }

  #problemOf(name: string, hostNetwork: boolean, hostIpc: boolean): string | undefined {
    const quoted = JSON.stringify(name);
    const isAllowed = this.#patterns.some((one) =>
      one.endsWith("*") ? name.startsWith(one.slice(0, -1)) : one === name,
    );
    if (!isAllowed) return `${quoted} not allowlisted`;
    const namespace = namespacedBy(name);
    const isShared = namespace === "ipc" ? hostIpc : hostNetwork;
    return isShared ? `${quoted} not allowed with host ${namespace} enabled` : undefined;
  }
}
