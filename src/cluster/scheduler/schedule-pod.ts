import type { Random } from "../../util/random.js";
import type { SchedulerCache } from "./cache.js";
import type { Diagnosis } from "./fit-error.js";
import type { Rejection } from "./framework.js";
import type { NodeInfo, PodInfo } from "./node-info.js";
import type { Nominator } from "./nominator.js";
import { FilterRun, type Profile } from "./profile.js";

/** One node's scores, weighted, in the order of the profile's score plugins. */
export interface NodeScore {
  readonly nodeName: string;
  readonly byPlugin: readonly number[];
  readonly total: number;
}

/** The result of a cycle. In each case `rejections` maps the filtered nodes to the plugin that rejected them. */
export type ScheduleResult =
  | {
      readonly outcome: "fits";
      readonly nodeName: string;
      readonly feasible: readonly string[];
      readonly allNodes: number;
      /** empty if only one node fits, because there is nothing to compare */
      readonly scores: readonly NodeScore[];
      readonly rejections: ReadonlyMap<string, Rejection>;
    }
  | ({ readonly outcome: "no-fit" } & Diagnosis)
  | { readonly outcome: "no-nodes" };

/** A cluster with fewer nodes than this is searched completely. */
const MIN_FEASIBLE_NODES = 100;
const MIN_FEASIBLE_PERCENTAGE = 5;

/**
 * Chooses a node for a pod: filters, scores, takes the best. Synchronous and without side effects on the cache.
 *
 * Mirrors pkg/scheduler/schedule_one.go (schedulePod, findNodesThatFitPod, prioritizeNodes, selectHost).
 */
export class Algorithm {
  /** where the search for the next pod starts, so that all nodes of a large cluster have their turn */
  #nextStart = 0;

  constructor(
    readonly profile: Profile,
    readonly cache: SchedulerCache,
    readonly nominator: Nominator,
    readonly random: Random,
  ) {}

  schedule(pod: PodInfo): ScheduleResult {
    const all = this.cache.nodes();
    if (all.length === 0) return { outcome: "no-nodes" };
    const rejections = new Map<string, Rejection>();
    const { nodes, rejection } = this.#preFilter(pod, all);
    if (rejection !== undefined) {
      for (const { name } of all) rejections.set(name, rejection);
      const preFilterReasons = this.profile.countsPreFilterReasons ? undefined : rejection.reasons;
      return { outcome: "no-fit", allNodes: all.length, rejections, preFilterReasons };
    }
    const run = new FilterRun(this.profile, this.nominator, pod, all);
    const feasible = this.#nominatedNode(run) ?? this.#findPassing(run, nodes, rejections);
    const names = feasible.map(({ name }) => name);
    const [first] = names;
    if (first === undefined) return { outcome: "no-fit", allNodes: all.length, rejections };
    const found = { outcome: "fits", feasible: names, allNodes: all.length, rejections } as const;
    if (names.length === 1) return { ...found, nodeName: first, scores: [] };
    const scores = this.#prioritize(pod, feasible, all);
    return { ...found, nodeName: this.#selectHost(scores), scores };
  }

  /** @returns the nodes that the filters check, or why there are none */
  #preFilter(pod: PodInfo, all: readonly NodeInfo[]): { nodes: readonly NodeInfo[]; rejection?: Rejection } {
    let nodes = all;
    for (const plugin of this.profile.filters) {
      const result = "filter" in plugin ? plugin.preFilter?.(pod) : undefined;
      if (result === undefined) continue;
      if ("rejection" in result) return { nodes: [], rejection: result.rejection };
      nodes = nodes.filter(({ name }) => result.nodeNames.has(name));
    }
    return { nodes };
  }

  /** Mirrors evaluateNominatedNode: if the node that was freed for the pod fits, no other node is checked. */
  #nominatedNode(run: FilterRun): readonly NodeInfo[] | undefined {
    const nominated = run.pod.pod.status?.["nominatedNodeName"];
    const node = typeof nominated === "string" ? this.cache.node(nominated) : undefined;
    if (node === undefined || run.reject(node) !== undefined) return undefined;
    return [node];
  }

  #findPassing(run: FilterRun, nodes: readonly NodeInfo[], rejections: Map<string, Rejection>): readonly NodeInfo[] {
    const enough = numFeasibleNodesToFind(nodes.length);
    const feasible: NodeInfo[] = [];
    let processed = 0;
    for (; processed < nodes.length && feasible.length < enough; processed++) {
      const node = nodes[(this.#nextStart + processed) % nodes.length];
      if (node === undefined) continue;
      const rejection = run.reject(node);
      if (rejection === undefined) feasible.push(node);
      else rejections.set(node.name, rejection);
    }
    if (nodes.length > 0) this.#nextStart = (this.#nextStart + processed) % nodes.length;
    return feasible;
  }

  #prioritize(pod: PodInfo, nodes: readonly NodeInfo[], all: readonly NodeInfo[]): readonly NodeScore[] {
    const columns = this.profile.scores.map((plugin) => {
      const scorer = "score" in plugin ? plugin : plugin.scoreAmong(pod, nodes, all);
      if (scorer === undefined) return [];
      const raw = nodes.map((node) => scorer.score(pod, node));
      return (scorer.normalize?.(raw) ?? raw).map((one) => one * plugin.weight);
    });
    return nodes.map(({ name }, i) => {
      const byPlugin = columns.map((column) => column[i] ?? 0);
      return { nodeName: name, byPlugin, total: byPlugin.reduce((sum, one) => sum + one, 0) };
    });
  }

  /** Picks the best node; equal nodes have equal chances. */
  #selectHost(scores: readonly NodeScore[]): string {
    let best: NodeScore | undefined;
    let equals = 1;
    for (const one of scores) {
      if (best === undefined || one.total > best.total) {
        best = one;
        equals = 1;
      } else if (one.total === best.total) {
        equals++;
        if (Math.floor(this.random.float() * equals) === 0) best = one;
      }
    }
    return best?.nodeName ?? "";
  }
}

/** The search stops at this many fitting nodes. Mirrors numFeasibleNodesToFind, with the default percentage. Pure. */
export function numFeasibleNodesToFind(allNodes: number): number {
  if (allNodes < MIN_FEASIBLE_NODES) return allNodes;
  const percentage = Math.max(50 - Math.floor(allNodes / 125), MIN_FEASIBLE_PERCENTAGE);
  return Math.max(Math.floor((allNodes * percentage) / 100), MIN_FEASIBLE_NODES);
}
