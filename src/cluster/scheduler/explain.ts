import type { DecisionFact } from "../../trace/events.js";
import type { Rejection } from "./framework.js";
import type { Profile } from "./profile.js";
import type { NodeScore, ScheduleResult } from "./schedule-pod.js";

const UPSTREAM = { file: "pkg/scheduler/schedule_one.go", func: "schedulePod" } as const;
/** At most this many nodes are named; the others are counted. */
const MAX_NAMED = 10;

/** Describes a cycle: the nodes that each plugin filtered out, the scores of the others, and the chosen node. Pure. */
export function explain(profile: Profile, key: string, result: ScheduleResult): DecisionFact {
  const parts: string[] = [];
  if (result.outcome === "no-nodes") {
    parts.push("there are no nodes");
  } else {
    if (result.outcome === "fits") {
      const unchecked = result.allNodes - result.feasible.length - result.rejections.size;
      const alone = unchecked === 0 ? "it is the only node that fits" : "it fits";
      parts.push(result.scores.length === 0 ? alone : scores(profile, result.scores));
      if (unchecked > 0) parts.push(`nodes not checked: ${unchecked} of ${result.allNodes}`);
    }
    parts.push(...filtered(result.rejections));
  }
  const what = result.outcome === "fits" ? `${key} goes to ${result.nodeName}` : `find no node for ${key}`;
  const compared = result.outcome === "no-nodes" ? {} : { compared: comparison(profile, result) };
  return { kind: "decision", what, why: parts.join("; "), ...compared, upstream: UPSTREAM };
}

/** A row for each node: the filter that it did not pass and why, its scores, and their sum; the best node first. */
function comparison(profile: Profile, result: Exclude<ScheduleResult, { readonly outcome: "no-nodes" }>) {
  const filters = profile.filters.map(({ name }) => name).join(" ");
  const all = result.outcome === "fits" ? result.scores : [];
  const scored = [...all].sort((a, b) => b.total - a.total);
  const fitting = result.outcome === "fits" && all.length === 0 ? result.feasible.map((node) => [node, ""]) : [];
  const rows = [
    ...scored.map(({ nodeName, byPlugin, total }) => [nodeName, "", ...[...byPlugin, total].map(String)]),
    ...fitting,
    ...[...result.rejections].map(([node, { plugin, reasons }]) => [node, `${plugin}: ${reasons.join(", ")}`]),
  ];
  return {
    columns: ["node", filters, ...profile.scores.map(({ name }) => name), "score"],
    rows: rows.slice(0, MAX_NAMED),
  };
}

/** `TaintToleration + NodeAffinity + ...: node-2 300+0+91+99 = 490, node-1 ...`, the best first; equal ones leave the choice to chance. */
function scores(profile: Profile, all: readonly NodeScore[]): string {
  const sorted = [...all].sort((a, b) => b.total - a.total);
  const text = ({ nodeName, byPlugin, total }: NodeScore) => `${nodeName} ${byPlugin.join("+")} = ${total}`;
  const best = sorted.filter(({ total }) => total === sorted[0]?.total).length;
  const chance = best > 1 ? `; chance chose among the ${best} best` : "";
  return `scores of ${profile.scores.map(({ name }) => name).join(" + ")}: ${listed(sorted, text)}${chance}`;
}

/** One text for each plugin and reason: `TaintToleration filtered node-1, node-2: node(s) had ...`. */
function filtered(rejections: ReadonlyMap<string, Rejection>): readonly string[] {
  const groups = new Map<string, { readonly plugin: string; readonly reason: string; readonly nodes: string[] }>();
  for (const [node, { plugin, reasons }] of rejections) {
    const reason = reasons.join(", ");
    const group = groups.get(`${plugin}/${reason}`) ?? { plugin, reason, nodes: [] };
    group.nodes.push(node);
    groups.set(`${plugin}/${reason}`, group);
  }
  return [...groups.values()].map(
    ({ plugin, reason, nodes }) => `${plugin} filtered out ${listed(nodes, String)}: ${reason}`,
  );
}

function listed<T>(all: readonly T[], text: (one: T) => string): string {
  const named = all.slice(0, MAX_NAMED).map(text).join(", ");
  return all.length <= MAX_NAMED ? named : `${named} and ${all.length - MAX_NAMED} more`;
}
