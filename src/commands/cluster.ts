import { type Command, InvalidArgumentError, Option } from "commander";
import type { CliContext } from "../cli/context.js";
import { addOutputOptions, parsePort, parseSpeed } from "../cli/options.js";
import { DEFAULT_CLUSTER } from "../testbed/target.js";
import type { Level } from "../trace/trace.js";
import { bringDown, bringUp, clusterStatus } from "./cluster/cluster.js";
import { startDetached } from "./cluster/detach.js";
import { addExamples } from "./examples.js";

interface UpOptions {
  readonly name: string;
  readonly port: number;
  readonly detach?: boolean;
  readonly nodes: number;
  readonly kubeVersion: string;
  readonly speed?: number;
  readonly verifyKubelets?: boolean;
  readonly verbosity: Level;
  readonly trace?: string;
}

/** `kubelab cluster up | down | status`: the embedded control plane for several commands, and for kubectl. */
export function addClusterCommand(program: Command, context: CliContext): void {
  const cluster = program
    .command("cluster")
    .summary("run the embedded control plane for other commands and kubectl")
    .description(
      "Runs the embedded control plane on loopback. Other kubelab commands without a target flag join it; kubectl reaches it with the kubeconfig that `up` writes.",
    );
  const named = (name: string, description: string) =>
    addOutputOptions(cluster.command(name).description(description)).addOption(
      new Option("--name <name>", "which one, when there are several").argParser(parseName).default(DEFAULT_CLUSTER),
    );

  const up = named("up", "start it; Ctrl-C ends it")
    .addOption(new Option("--port <port>", "port of the API server; 0: a free one").argParser(parsePort).default(0))
    .option("--detach", "run in the background; `kubelab cluster down` ends it")
    .addOption(
      new Option("--nodes <count>", "join node-1 to node-<count>, which run pods").argParser(parseNodes).default(0),
    )
    .option("--kube-version <release>", "behave like this release", "1.25")
    .option(
      "--verify-kubelets",
      "check nodes' serving certificates, as kube-apiserver with --kubelet-certificate-authority: logs and exec need `kubelab node --rotate-server-certificates`",
    )
    .addOption(
      new Option("--speed <factor>", "run its clock this many times as fast (default: 1)").argParser(parseSpeed),
    )
    .action((options: UpOptions) =>
      options.detach === true ? startDetached(context, options) : bringUp(context, options),
    );
  addExamples(
    up,
    "kubelab cluster up",
    "kubelab cluster up --detach --nodes 3",
    "kubelab cluster up --name fast --speed 10 --kube-version 1.32",
  );
  named("down", "end it").action((options: { name: string }) => bringDown(context, options.name));
  named("status", "say whether it runs, where, and how its nodes are").action((options: { name: string }) =>
    clusterStatus(context, options.name),
  );
}

const MAX_NODES = 100;

function parseNodes(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count <= MAX_NODES) return count;
  throw new InvalidArgumentError(`expected a number of nodes from 0 to ${MAX_NODES}.`);
}

function parseName(text: string): string {
  if (/^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$/.test(text)) return text;
  throw new InvalidArgumentError("expected up to 40 lower-case letters, digits and '-'.");
}
