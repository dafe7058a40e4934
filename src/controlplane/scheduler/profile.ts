import { factFor } from "../../release/facts.js";
import type { FilterPlugin, Rejection, ScorePlugin } from "./framework.js";
import type { NodeInfo, PodInfo } from "./node-info.js";
import type { Nominator } from "./nominator.js";
import { BALANCED_ALLOCATION } from "./plugins/balanced-allocation.js";
import { NODE_AFFINITY } from "./plugins/node-affinity.js";
import { NODE_NAME } from "./plugins/node-name.js";
import { NODE_PORTS } from "./plugins/node-ports.js";
import { nodeResourcesFit } from "./plugins/node-resources-fit.js";
import { NODE_UNSCHEDULABLE } from "./plugins/node-unschedulable.js";
import { TAINT_TOLERATION } from "./plugins/taint-toleration.js";

/** The plugins of one scheduler, each kind in the order of its calls. */
export interface Profile {
  readonly filters: readonly FilterPlugin[];
  readonly scores: readonly ScorePlugin[];
}

/**
 * The plugins of the default profile, in upstream's order and with its weights.
 *
 * Mirrors pkg/scheduler/apis/config/v1beta3/default_plugins.go (getDefaultPlugins).
 * Differs: without PodTopologySpread, InterPodAffinity, ImageLocality and the plugins for volumes (VolumeRestrictions,
 * NodeVolumeLimits, VolumeBinding, VolumeZone). The trace reports the ignored fields of a pod.
 */
export function defaultProfile(kubeVersion: string): Profile {
  const fit = nodeResourcesFit({ tooBigIsUnresolvable: factFor("fitTooBigIsUnresolvable", kubeVersion) });
  return {
    filters: [NODE_UNSCHEDULABLE, NODE_NAME, TAINT_TOLERATION, NODE_AFFINITY, NODE_PORTS, fit],
    scores: [TAINT_TOLERATION, NODE_AFFINITY, fit, BALANCED_ALLOCATION],
  };
}

/** Calls the plugins in order until one rejects the node. Mirrors frameworkImpl.RunFilterPlugins. */
function runFilters({ filters }: Profile, pod: PodInfo, node: NodeInfo): Rejection | undefined {
  for (const plugin of filters) {
    const rejection = plugin.filter(pod, node);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

/**
 * The pod must fit together with the pods nominated to the node, and also without them, because they might never come.
 * Mirrors RunFilterPluginsWithNominatedPods in pkg/scheduler/framework/runtime/framework.go.
 */
export function runFiltersWithNominated(
  profile: Profile,
  nominator: Nominator,
  pod: PodInfo,
  node: NodeInfo,
): Rejection | undefined {
  const ahead = nominator.ahead(pod, node.name);
  if (ahead.length > 0) {
    const crowded = node.clone();
    for (const one of ahead) crowded.addPod(one);
    const rejection = runFilters(profile, pod, crowded);
    if (rejection !== undefined) return rejection;
  }
  return runFilters(profile, pod, node);
}
