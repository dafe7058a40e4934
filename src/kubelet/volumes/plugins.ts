import type { V1Volume } from "@kubernetes/client-node";
import type { Wire } from "../../apimachinery/wire.js";
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
export function pluginOf(volume: Wire<V1Volume>): string {
  const found = PLUGINS.find(([field]) => isSet(volume[field]));
  return found === undefined ? "N/A" : `kubernetes.io/${found[1]}`;
}
