import type { ServiceRule, Verdict } from "../../cluster/netfilter/rules.js";
import type { NodeRules } from "../../testbed/node/node-rules.js";
import { alignedLines } from "../../trace/terminal/table.js";

const HEAD = ["SERVICE", "PACKETS TO", "FROM", "VERDICT", "ENDPOINTS"];

/** The rules of each node as a table. Each endpoint has a line; all are equally likely. */
export function rulesText(nodes: readonly NodeRules[]): string {
  return nodes.map(({ node, rules }) => [`${node}:`, ...tableOf(rules)].join("\n")).join("\n\n");
}

function tableOf(rules: readonly ServiceRule[]): string[] {
  if (rules.length === 0) return ["  no rules yet: kube-proxy writes them when there are Services"];
  return alignedLines([HEAD, ...rules.flatMap(rowsOf)]).map((line) => `  ${line}`);
}

function rowsOf({ service, protocol, address, ip = "", port, from, verdict }: ServiceRule): string[][] {
  const to = `${ip}:${port}/${protocol}${address === "cluster IP" ? "" : ` (${address})`}`;
  const [first = "", ...others] = verdict.kind === "dnat" ? verdict.endpoints : [verdict.why];
  const sender = from === undefined ? "all" : from === "node" ? "this node" : from;
  return [[service, to, sender, verdictText(verdict), first], ...others.map((one) => ["", "", "", "", one])];
}

function verdictText(verdict: Verdict): string {
  if (verdict.kind !== "dnat") return verdict.kind;
  const { chain, masquerade, affinitySeconds } = verdict;
  const sticky = affinitySeconds === undefined ? "" : `, ClientIP ${affinitySeconds} s`;
  return `${chain}${masquerade === true ? ", masquerade" : ""}${sticky}`;
}
