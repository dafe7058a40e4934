import { factFor } from "../../util/release/facts.js";
import type {
  ClusterFilterPlugin,
  ClusterScorePlugin,
  FilterPlugin,
  NodeFilter,
  PreBindPlugin,
  Rejection,
  ScorePlugin,
} from "./framework.js";
import type { ClusterLookups } from "./lookups.js";
import type { NodeInfo, PodInfo } from "./node-info.js";
import type { Nominator } from "./nominator.js";
import { BALANCED_ALLOCATION } from "./plugins/balanced-allocation.js";
import { IMAGE_LOCALITY } from "./plugins/image-locality.js";
import { interPodAffinity } from "./plugins/inter-pod-affinity.js";
import { NODE_AFFINITY } from "./plugins/node-affinity.js";
import { NODE_NAME } from "./plugins/node-name.js";
import { NODE_PORTS } from "./plugins/node-ports.js";
import { nodeResourcesFit } from "./plugins/node-resources-fit.js";
import { NODE_UNSCHEDULABLE } from "./plugins/node-unschedulable.js";
import { podTopologySpread } from "./plugins/pod-topology-spread.js";
import { TAINT_TOLERATION } from "./plugins/taint-toleration.js";
import type { VolumeBinder } from "./plugins/volume-binder.js";
import { volumeBinding } from "./plugins/volume-binding.js";

/** The plugins of one scheduler, each kind in the order of its calls. */
export interface Profile {
  readonly filters: readonly (FilterPlugin | ClusterFilterPlugin)[];
  readonly preBinds: readonly PreBindPlugin[];
  readonly scores: readonly (ScorePlugin | ClusterScorePlugin)[];
  /** whether a message names a reason of PreFilter once for each node, as before v1.26 */
  readonly countsPreFilterReasons: boolean;
}

/**
 * The plugins of the default profile, in upstream's order and with its weights.
 *
 * Mirrors pkg/scheduler/apis/config/v1beta3/default_plugins.go (getDefaultPlugins).
 * Differs: of the plugins for volumes it has VolumeBinding only (without VolumeRestrictions, NodeVolumeLimits, VolumeZone).
 */
export function defaultProfile(kubeVersion: string, lookups: ClusterLookups, binder: VolumeBinder): Profile {
  const fit = nodeResourcesFit({ tooBigIsUnresolvable: factFor("fitTooBigIsUnresolvable", kubeVersion) });
  const spread = podTopologySpread(lookups, { minDomains: factFor("minDomainsInPodTopologySpread", kubeVersion) });
  const volumes = volumeBinding(lookups, binder);
  const interPod = interPodAffinity(lookups);
  return {
    filters: [
      NODE_UNSCHEDULABLE,
      NODE_NAME,
      TAINT_TOLERATION,
      NODE_AFFINITY,
      NODE_PORTS,
      fit,
      volumes,
      spread,
      interPod,
    ],
    preBinds: [volumes],
    scores: [TAINT_TOLERATION, NODE_AFFINITY, fit, spread, interPod, BALANCED_ALLOCATION, IMAGE_LOCALITY],
    countsPreFilterReasons: factFor("preFilterReasonsAreCounted", kubeVersion),
  };
}

/**
 * The filters of one pod on one state of the cluster.
 * Mirrors RunPreFilterPlugins and RunFilterPluginsWithNominatedPods in pkg/scheduler/framework/runtime/framework.go.
 * Differs: where upstream adjusts the counts of PreFilter (AddPod, RemovePod), the counts are made again.
 */
export class FilterRun {
  readonly #checks: readonly NodeFilter[];
  readonly #comparesNodes: boolean;

  constructor(
    readonly profile: Profile,
    readonly nominator: Nominator,
    readonly pod: PodInfo,
    readonly nodes: readonly NodeInfo[],
  ) {
    const checks = profile.filters.map((plugin) => {
      if (!("filter" in plugin)) return plugin.filterAmong(pod, nodes);
      return plugin.skips?.(pod) === true ? undefined : (node: NodeInfo) => plugin.filter(pod, node);
    });
    this.#checks = checks.filter((check) => check !== undefined);
    this.#comparesNodes = profile.filters.some((plugin, i) => !("filter" in plugin) && checks[i] !== undefined);
  }

  /** The same pod after a trial change of one node. */
  with(changed: NodeInfo): FilterRun {
    if (!this.#comparesNodes) return this;
    const nodes = this.nodes.map((node) => (node.name === changed.name ? changed : node));
    return new FilterRun(this.profile, this.nominator, this.pod, nodes);
  }

  /** The pod must fit together with the pods nominated to the node, and also without them: they might never come. */
  reject(node: NodeInfo): Rejection | undefined {
    const ahead = this.nominator.ahead(this.pod, node.name);
    if (ahead.length > 0) {
      const crowded = node.clone();
      for (const one of ahead) crowded.addPod(one);
      const rejection = this.with(crowded).#firstRejection(crowded);
      if (rejection !== undefined) return rejection;
    }
    return this.#firstRejection(node);
  }

  #firstRejection(node: NodeInfo): Rejection | undefined {
    for (const check of this.#checks) {
      const rejection = check(node);
      if (rejection !== undefined) return rejection;
    }
    return undefined;
  }
}
