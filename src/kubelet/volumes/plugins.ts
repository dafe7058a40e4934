import type { V1Volume } from "@kubernetes/client-node";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { isSet } from "../../util/records.js";

const PLUGINS = [
  ["emptyDir", "empty-dir"],
  ["hostPath", "host-path"],
  ["configMap", "configmap"],
  ["secret", "secret"],
  ["downwardAPI", "downward-api"],
  ["projected", "projected"],
] as const;

/**
 * The plugin that sets a volume up: `kubernetes.io/empty-dir`, or `N/A` if this kubelet has none.
 * Mirrors FindPluginBySpec in pkg/volume/plugins.go.
 */
export function pluginOf(volume: Pick<Wire<V1Volume>, (typeof PLUGINS)[number][0]>): string {
  const found = PLUGINS.find(([field]) => isSet(volume[field]));
  return found === undefined ? "N/A" : `kubernetes.io/${found[1]}`;
}

/** Whether a volume's usage is measured: that of a host path is not. Mirrors GetMetrics of the plugins in pkg/volume. */
export function hasMetrics(volume: Wire<V1Volume>): boolean {
  return !["N/A", "kubernetes.io/host-path"].includes(pluginOf(volume));
}

/**
 * Whether a volume counts as its pod's local storage; upstream keeps secrets, tokens and the downward API on a tmpfs.
 * Mirrors IsLocalEphemeralVolume in pkg/volume/util/util.go.
 */
export function isLocalEphemeralVolume({ emptyDir, configMap, gitRepo }: Wire<V1Volume>): boolean {
  const isDefaultMedium = isSet(emptyDir) && (emptyDir.medium ?? "") === "";
  return isDefaultMedium || [configMap, gitRepo].some(isSet);
}
