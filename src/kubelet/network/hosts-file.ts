import { chmodSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { V1HostAlias } from "@kubernetes/client-node";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { makeFolder } from "../../util/os/files.js";

/**
 * The /etc/hosts of a pod's containers, managed by the kubelet.
 *
 * Mirrors makeHostsMount, ensureHostsFile and managedHostsFileContent in pkg/kubelet/kubelet_pods.go.
 */

const MANAGED_HOSTS_HEADER = "# Kubernetes-managed hosts file.\n";
const MANAGED_HOSTS_HEADER_WITH_HOST_NETWORK = "# Kubernetes-managed hosts file (host network).\n";

/** Pure. */
export function managedHostsFileContent(
  hostIps: readonly string[],
  hostName: string,
  hostDomain: string,
  aliases: readonly Wire<V1HostAlias>[],
): string {
  const names = hostDomain === "" ? hostName : `${hostName}.${hostDomain}\t${hostName}`;
  const lines = [
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
    ...hostIps.map((ip) => `${ip}\t${names}`),
  ];
  return `${MANAGED_HOSTS_HEADER}${lines.join("\n")}\n${hostsEntriesFromHostAliases(aliases)}`;
}

/** @param nodeHosts the node's own file */
function nodeHostsFileContent(nodeHosts: string, aliases: readonly Wire<V1HostAlias>[]): string {
  return `${MANAGED_HOSTS_HEADER_WITH_HOST_NETWORK}${nodeHosts}${hostsEntriesFromHostAliases(aliases)}`;
}

function hostsEntriesFromHostAliases(aliases: readonly Wire<V1HostAlias>[]): string {
  if (aliases.length === 0) return "";
  const lines = aliases.map(({ ip, hostnames }) => `${ip}\t${(hostnames ?? []).join("\t")}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join("")}`;
}

export interface HostsFileOptions {
  /** `<root>/pods/<uid>`: the file is `etc-hosts` in it */
  readonly podDir: string;
  /** the node's own: upstream `/etc/hosts` */
  readonly nodeHostsFile: string;
}

/**
 * Rewrites the file: it lives as long as the pod, and each container that starts sees its initial content.
 * @returns its path
 * @throws the file system's error
 */
export async function ensureHostsFile(
  options: HostsFileOptions,
  pod: V1Pod,
  podIps: readonly string[],
  hostName: string,
  hostDomain: string,
): Promise<string> {
  const path = join(options.podDir, "etc-hosts");
  const aliases = pod.spec.hostAliases ?? [];
  const content =
    pod.spec.hostNetwork === true
      ? nodeHostsFileContent(await readFile(options.nodeHostsFile, "utf8"), aliases)
      : managedHostsFileContent(podIps, hostName, hostDomain, aliases);
  await makeFolder(options.podDir);
  // In place: running containers have this very file mounted.
  await writeFile(path, content);
  chmodSync(path, 0o644);
  return path;
}
