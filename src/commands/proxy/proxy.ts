import type { Command } from "commander";
import type { ServiceRule, Verdict } from "../../cluster/netfilter/rules.js";
import { type NodeRules, readNodeRules } from "../../testbed/node/node-rules.js";
import { readClusterState, runningClusterNames } from "../../testbed/target/cluster-state.js";
import { networkFolderOf } from "../../testbed/target/running-cluster.js";
import { alignedLines } from "../../trace/terminal/table.js";
import { LabError } from "../../util/errors.js";
import type { Say } from "../../util/i18n/sentences.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addPlainOptions } from "../cli/options.js";

interface RulesOptions {
  readonly node?: string;
  readonly cluster?: string;
}

/** `kubelab proxy rules`: the rules that kube-proxy has written to the nodes of a running cluster. */
export function addProxyCommand(proxy: Command, context: CliContext): void {
  proxy.description(
    "Each embedded node has a kube-proxy: it watches Services and EndpointSlices, and writes the rules by which connections to a Service reach a pod.",
  );
  const rules = addPlainOptions(proxy.command("rules").description("print the rules that the nodes apply now"))
    .option("--node <name>", "only those of this node")
    .option("--cluster <name>", "of the running cluster of this name (default: the only one that runs)")
    .action((options: RulesOptions) => printRules(context, options));
  addExamples(rules, "kubelab proxy rules", "kubelab proxy rules --node node-1 --json");
}

async function printRules(context: CliContext, options: RulesOptions): Promise<void> {
  const { env, signal } = context;
  const name = await clusterName(context, options.cluster);
  const state = await readClusterState(env, name);
  const all = state === undefined ? [] : await readNodeRules(await networkFolderOf(env, state.url), signal);
  const { node } = options;
  const shown = node === undefined ? all : all.filter((one) => one.node === node);
  if (shown.length === 0)
    throw noNode(
      name,
      node,
      all.map((one) => one.node),
    );
  context.print({ text: (say) => rulesText(shown, say), json: { cluster: name, nodes: shown } });
}

async function clusterName({ env }: CliContext, wanted: string | undefined): Promise<string> {
  const running = await runningClusterNames(env);
  const [only] = running;
  if (wanted === undefined && running.length === 1 && only !== undefined) return only;
  if (wanted !== undefined && running.includes(wanted)) return wanted;
  const what =
    wanted === undefined
      ? `${running.length === 0 ? "no cluster runs" : "several clusters run"}`
      : `no cluster ${wanted} runs`;
  const hint =
    running.length === 0
      ? "Start one: kubelab cluster up --nodes 2"
      : `Name one with --cluster: ${running.join(", ")}.`;
  throw new LabError("USAGE", what, hint);
}

function noNode(cluster: string, node: string | undefined, known: readonly string[]): LabError {
  if (node === undefined || known.length === 0) {
    const hint = "Nodes with an embedded runtime: kubelab cluster up --nodes 2, or kubelab node --node NAME.";
    return new LabError("USAGE", `cluster ${cluster} has no node with rules`, hint);
  }
  return new LabError("USAGE", `cluster ${cluster} has no embedded node ${node}`, `There is ${known.join(", ")}.`);
}

const HEAD = ["SERVICE", "PACKETS TO", "FROM", "VERDICT", "ENDPOINTS"];

/** The rules of each node as a table. An endpoint per line: each is as likely as the others. */
function rulesText(nodes: readonly NodeRules[], say: Say): string {
  return nodes.map(({ node, rules }) => [`${node}:`, ...tableOf(rules, say)].join("\n")).join("\n\n");
}

function tableOf(rules: readonly ServiceRule[], say: Say): string[] {
  if (rules.length === 0) return [`  ${say("no rules yet: kube-proxy writes them when there are Services")}`];
  const rows = rules.flatMap(rowsOf).map((row) => row.map(say));
  return alignedLines([HEAD.map(say), ...rows]).map((line) => `  ${line}`);
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
