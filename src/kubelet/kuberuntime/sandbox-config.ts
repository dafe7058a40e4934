import { isIP } from "node:net";
import type { V1ContainerPort } from "@kubernetes/client-node";
import { containersOf, type V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Init } from "../../staging/apimachinery/protobuf/fields.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { Protocol } from "../../staging/cri/messages/enums.js";
import type { PodSandboxConfig } from "../../staging/cri/messages/sandbox.js";
import type { PortMapping } from "../../staging/cri/messages/values.js";
import { defined } from "../../util/defined.js";
import type { PodDns, RuntimeHelper } from "../container/runtime-helper.js";
import { dottedSysctl } from "../lifecycle/sysctl-allowlist.js";
import { newPodLabels } from "./labels.js";
import { calculateSandboxResources, overheadResources } from "./linux-resources.js";
import { buildPodLogsDirectory } from "./logs/log-paths.js";
import { sandboxSecurityContext } from "./security-context.js";

export type SandboxConfig = Init<typeof PodSandboxConfig>;

export type SandboxConfigResult =
  | { readonly outcome: "ok"; readonly config: SandboxConfig; readonly logDirectory: string; readonly dns: PodDns }
  | { readonly outcome: "failed"; readonly message: string };

export interface SandboxConfigOptions {
  readonly podLogsDirectory: string;
  readonly cpuCfsQuota: boolean;
}

/**
 * The CRI configuration of a pod's sandbox.
 *
 * Mirrors generatePodSandboxConfig and generatePodSandboxLinuxConfig in pkg/kubelet/kuberuntime/kuberuntime_sandbox.go.
 */
export async function generatePodSandboxConfig(
  pod: V1Pod,
  attempt: number,
  helper: RuntimeHelper,
  options: SandboxConfigOptions,
  signal: AbortSignal,
): Promise<SandboxConfigResult> {
  const { name, namespace, uid } = pod.metadata;
  const dns = await helper.getPodDNS(pod, signal);
  if (dns.outcome === "failed") return dns;
  const hostname = podHostname(pod, helper);
  if (hostname.outcome === "failed") return hostname;
  const logDirectory = buildPodLogsDirectory(options.podLogsDirectory, pod.metadata);
  const portMappings = containersOf(pod).flatMap(({ ports }) => makePortMappings(ports ?? []));
  const overhead = overheadResources(pod, options.cpuCfsQuota);
  const config: SandboxConfig = {
    metadata: { name, namespace, uid, attempt },
    labels: newPodLabels(pod),
    annotations: pod.metadata.annotations ?? {},
    dnsConfig: dns.dns,
    hostname: hostname.hostname,
    logDirectory,
    portMappings,
    linux: {
      cgroupParent: helper.getPodCgroupParent(pod),
      securityContext: sandboxSecurityContext(pod, helper.getExtraSupplementalGroupsForPod(pod)),
      sysctls: sysctlsOf(pod),
      resources: calculateSandboxResources(pod, options.cpuCfsQuota),
      ...defined({ overhead }),
    },
  };
  return { outcome: "ok", config, logDirectory, dns: dns.dns };
}

/** The maximum length of a host name: pkg/kubelet/util/util_linux.go (fqdnMaxLen). */
const FQDN_MAX_LENGTH = 64;

/** A pod in the host's network has the host's name. Mirrors GetNodenameForKernel in pkg/kubelet/util/util_linux.go. */
function podHostname(pod: V1Pod, helper: RuntimeHelper): ReturnType<RuntimeHelper["generatePodHostNameAndDomain"]> {
  const { hostNetwork, setHostnameAsFQDN } = pod.spec;
  if (hostNetwork === true) return { outcome: "ok", hostname: "", domain: "" };
  const result = helper.generatePodHostNameAndDomain(pod);
  if (result.outcome === "failed" || setHostnameAsFQDN !== true || result.domain === "") return result;
  const fqdn = `${result.hostname}.${result.domain}`;
  if (fqdn.length <= FQDN_MAX_LENGTH) return { ...result, hostname: fqdn };
  const limit = `maximum characters (${FQDN_MAX_LENGTH})`;
  return {
    outcome: "failed",
    message: `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (${fqdn.length} is more than ${limit})`,
  };
}

/** Slashes become dots, as runc wants them. Mirrors ConvertPodSysctlsVariableToDotsSeparator. */
function sysctlsOf(pod: V1Pod): Record<string, string> {
  const sysctls = pod.spec.securityContext?.sysctls ?? [];
  return Object.fromEntries(sysctls.map(({ name, value }) => [dottedSysctl(name), value]));
}

/** Mirrors MakePortMappings in pkg/kubelet/container/helpers.go: a duplicate port counts once. */
export function makePortMappings(ports: readonly Wire<V1ContainerPort>[]): Init<typeof PortMapping>[] {
  const names = new Set<string>();
  return ports.flatMap(({ name, containerPort, hostPort = 0, hostIP = "", protocol = "TCP" }) => {
    const family = hostIP === "" ? "any" : isIP(hostIP) === 6 ? "v6" : "v4";
    const key = name ?? `${family}-${protocol}-${hostIP}:${containerPort}:${hostPort}`;
    if (names.has(key)) return [];
    names.add(key);
    return [{ hostIp: hostIP, hostPort, containerPort, protocol: protocolOf(protocol) }];
  });
}

function protocolOf(protocol: string): number {
  return protocol === "UDP" ? Protocol.UDP : protocol === "SCTP" ? Protocol.SCTP : Protocol.TCP;
}
