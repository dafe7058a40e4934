import { type Command, InvalidArgumentError, Option } from "commander";
import type { NodeLabels } from "../../testbed/cluster/cluster.js";
import { stopCluster } from "../../testbed/target/running-cluster.js";
import { clusterToJoin, DEFAULT_CLUSTER, upCommand } from "../../testbed/target/target.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import type { CliContext } from "../cli/context.js";
import { addDataOptions } from "../cli/data-options.js";
import { addExamples } from "../cli/examples.js";
import { imagesOption } from "../cli/images-option.js";
import { addEtcdOptions, addOutputOptions, addUiOption, parsePath, parsePort, parseSpeed } from "../cli/options.js";
import { parseNodeLabels } from "../node/flags.js";
import { note, printRunning, requireRunning } from "./running.js";
import { MAX_NODES, MAX_SIMULATED_NODES } from "./simulated.js";
import { bringUp, type UpOptions } from "./up.js";

type UpFlags = UpOptions & { readonly withSystemPods?: boolean; readonly images?: "known" | "any" };

/** `kubelab cluster up | down | status`: the embedded control plane for several commands, and for kubectl. */
export function addClusterCommand(cluster: Command, context: CliContext): void {
  cluster.description(
    "Runs the embedded control plane on loopback. Other kubelab commands without a target flag join it; kubectl reaches it with the kubeconfig that `up` writes.",
  );
  const command = (name: string, description: string) =>
    refuseTargets(addOutputOptions(cluster.command(name).description(description)));
  const named = (name: string, description: string) =>
    command(name, description).option("--name <name>", "name of the cluster", parseName, DEFAULT_CLUSTER);

  const up = addDataOptions(addEtcdOptions(addUiOption(named("up", "start a cluster; Ctrl-C ends it"))))
    .option("--port <port>", "port of the API server; 0: a free one", parsePort, 0)
    .option("--detach", "run in the background; `kubelab cluster down` ends it")
    .option("--nodes <count>", "start with node-1 to node-<count>, which run pods", parseNodes, 0)
    .option("--simulated", "its nodes have no containers, and their pods follow stages: for thousands of nodes")
    .option("--stages <file>", "stages that pods of simulated nodes take before the built-in ones", parsePath)
    .option(
      "--with-system-pods",
      "show the control plane, kube-proxy and DNS as pods, as kubeadm lays them out, with a control-plane node",
    )
    .option(
      "--node-labels <labels>",
      "labels of the nodes: disk=ssd,size=big for all, node-2:zone=b for one; can be repeated",
      collectNodeLabels,
    )
    .option("--kube-version <release>", "behave like this release", "1.25")
    .option("--kubelet-version <release>", "its nodes are of this release, up to two older (default: the cluster's)")
    .option(
      "--verify-kubelets",
      "verify nodes' serving certificates, as kube-apiserver does with --kubelet-certificate-authority: logs and exec then need `kubelab node --rotate-server-certificates`",
    )
    .option("--http2", "serve HTTP/2 to clients that offer it, such as kubectl: one connection for all their watches")
    .addOption(imagesOption())
    .option("--speed <factor>", "run its clock this many times as fast (default: 1)", parseSpeed)
    .action(({ withSystemPods: systemPods, images, ...options }: UpFlags) =>
      bringUp(context, { ...options, ...defined({ systemPods, anyImage: images === "any" }) }),
    );
  addExamples(
    up,
    "kubelab cluster up --detach --nodes 3",
    "kubelab cluster up --nodes 2 --with-system-pods --node-labels node-1:disk=ssd",
    "kubelab cluster up --data ~/my-cluster --nodes 2",
    "kubelab cluster up --nodes 1000 --simulated",
  );
  named("down", "end a running cluster").action(({ name }: { name: string }) => bringDown(context, name));
  command("status", "show whether a cluster runs, its address and its nodes")
    .option("--name <name>", "name of the cluster (default: the one that other commands join)", parseName)
    .action(({ name }: { name?: string }) => printStatus(context, name));
}

/** Answers the flags with which other commands name a cluster. */
function refuseTargets(command: Command): Command {
  for (const flag of ["--kubeconfig", "--context"]) {
    const refuse = () => {
      const hint = `kubelab cluster ${command.name()} --name NAME names it; \`up\` and \`status\` print the path of its kubeconfig, to copy.`;
      throw new LabError(
        "USAGE",
        `${flag} names another cluster, and this command is about one of kubelab's own`,
        hint,
      );
    };
    command.addOption(new Option(`${flag} [value]`).argParser(refuse).preset("").hideHelp());
  }
  return command;
}

/** @throws LabError FAILED if it does not run; TIMED_OUT if it does not end */
async function bringDown(context: CliContext, name: string): Promise<void> {
  const state = await requireRunning(context, name, "There is nothing to end.");
  const { isKilled } = await stopCluster(context, state);
  if (isKilled) {
    note(
      context,
      `cluster ${name} (pid ${state.pid}) did not end within 5 s of SIGTERM: ended with SIGKILL, its files removed`,
    );
  }
  context.print({ text: `cluster ${name} is down`, json: { name, running: false }, isProse: true });
}

/** @throws LabError FAILED if it does not run, because scripts read the exit code */
async function printStatus(context: CliContext, given: string | undefined): Promise<void> {
  const name = given ?? (await clusterToJoin(context.env)) ?? DEFAULT_CLUSTER;
  const state = await requireRunning(context, name, `Start it: ${upCommand(name)}`);
  const { clock, trace } = context.session({});
  const { loadKubeconfig } = await import("../../staging/client-go/clientcmd/kubeconfig.js");
  const { listNodes } = await import("../../testbed/node/cluster-nodes.js");
  const { electedClusters, listLeaders, listServers } = await import("../../testbed/target/leaders.js");
  const { config } = await loadKubeconfig(state.kubeconfig);
  const deps = { clock, trace, random: context.random };
  const nodes = await listNodes(config, deps, context.signal);
  const isElected = state.etcd !== undefined;
  if (!isElected) return printRunning(context, state, "is running", { nodes });
  const clusters = await electedClusters(context.env);
  const leaders = await listLeaders(config, deps, { clusters, own: name }, context.signal);
  const servers = await listServers(config, deps, context.signal);
  printRunning(context, state, "is running", { nodes, leaders, servers });
}

function parseNodes(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count <= MAX_SIMULATED_NODES) return count;
  throw new InvalidArgumentError(
    `expected a number of nodes from 0 to ${MAX_NODES}, or to ${MAX_SIMULATED_NODES} with --simulated.`,
  );
}

/** Adds the labels of `zone=a`, or of `node-2:zone=a`, to those of earlier flags. */
function collectNodeLabels(text: string, before: readonly NodeLabels[] = []): readonly NodeLabels[] {
  const [, node, labels = ""] = /^(?:([^:=]*):)?(.*)$/.exec(text) ?? [];
  return [...before, { node, labels: parseNodeLabels(labels) }];
}

function parseName(text: string): string {
  if (/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/.test(text)) return text;
  throw new InvalidArgumentError("expected up to 40 lower-case letters, digits and '-'.");
}
