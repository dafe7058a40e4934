import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { DEVICE_PLUGINS_FOLDER, KUBELET_SOCKET } from "../../kubelet/apis/deviceplugin/v1beta1.js";
import { DevicePluginStub, noKubelet } from "../../testbed/fixtures/device-plugin.js";
import { joinDefaults } from "../../testbed/node/join-plan.js";
import { clusterNodesFolder, runningClusterNames } from "../../testbed/target/cluster-state.js";
import { traceOfNode } from "../../trace/view.js";
import { LabError } from "../../util/errors.js";
import { pathFrom } from "../../util/os/paths.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addDurationOption, addNodeNameOption, addOutputOptions, parseDuration, parsePath } from "../cli/options.js";
import { stay } from "../cli/stay.js";

interface DevicePluginCommandOptions {
  readonly resource: string;
  readonly count: number;
  readonly unhealthy?: readonly string[];
  /** ms */
  readonly after?: number;
  readonly node: string;
  readonly rootDir?: string;
  /** ms */
  readonly duration?: number;
}

const MAX_COUNT = 1_000;

/** `kubelab device-plugin`: a plugin with made-up devices, for a running node. */
export function addDevicePluginCommand(command: Command, context: CliContext): void {
  command.description(
    "Runs a device plugin for a node of this machine: registers a resource, lists its devices, and answers when the kubelet gives some to a container. The devices are made up: /dev/gpu-0 is /dev/null.",
  );
  addExamples(
    command,
    "kubelab device-plugin",
    "kubelab device-plugin --resource example.com/fpga --count 1 -v 2",
    "kubelab device-plugin --unhealthy gpu-1 --after 30s",
  );
  addNodeNameOption(addDurationOption(addOutputOptions(command)), "node-1")
    .option("--resource <name>", "an extended resource", "example.com/gpu")
    .option("--count <number>", "how many devices it has", parseCount, 2)
    .option("--unhealthy <ids>", "devices that fail: gpu-0,gpu-1", (text: string) => text.split(","))
    .option("--after <time>", "when they fail (default: at the start)", parseDuration)
    .option("--root-dir <folder>", "the node's folder (default: that of a node or cluster of kubelab)", parsePath)
    .action((options: DevicePluginCommandOptions) => runDevicePlugin(context, options));
}

function parseCount(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && count <= MAX_COUNT) return count;
  throw new InvalidArgumentError(`expected a number from 1 to ${MAX_COUNT}.`);
}

async function runDevicePlugin(context: CliContext, options: DevicePluginCommandOptions): Promise<void> {
  const { clock, trace: own } = context.session({});
  const trace = traceOfNode(own, options.node);
  const { resource: resourceName, count, unhealthy = [], after, duration: durationMs } = options;
  const folder = join(await nodeFolder(context, options), DEVICE_PLUGINS_FOLDER);
  const plugin = new DevicePluginStub({ clock, trace }, { folder, resourceName, count });
  const unknown = unhealthy.find((id) => !plugin.deviceIds.includes(id));
  if (unknown !== undefined) {
    throw new LabError("USAGE", `--unhealthy ${unknown}: no such device`, `There are ${plugin.deviceIds.join(", ")}.`);
  }
  if (after === undefined) plugin.fail(unhealthy);
  let isFirst = true;
  const onRegistered = () => {
    if (isFirst)
      context.print({ text: plugin.socketPath, json: { resource: resourceName, socket: plugin.socketPath } });
    isFirst = false;
  };
  const failLater = async (signal: AbortSignal) => {
    if (after === undefined) return;
    await clock.sleep(after, signal);
    plugin.fail(unhealthy);
  };
  await trace.chapter("device-plugin", () =>
    stay(context, { clock, durationMs, status: `the device plugin of ${resourceName} runs` }, [
      (signal) => Promise.all([plugin.run(onRegistered, signal), failLater(signal)]).then(() => undefined),
    ]),
  );
}

/** The node's folder; without --root-dir that of `kubelab node`, or of a running cluster. @throws LabError RUNTIME_UNREACHABLE */
async function nodeFolder(context: CliContext, { node, rootDir }: DevicePluginCommandOptions): Promise<string> {
  if (rootDir !== undefined) return pathFrom(context.cwd, rootDir);
  const clusters = await runningClusterNames(context.env);
  const own = join(joinDefaults(context).home, node);
  const folders = [own, ...clusters.map((cluster) => join(clusterNodesFolder(context.env, cluster), node))];
  const socketIn = (folder: string) => join(folder, DEVICE_PLUGINS_FOLDER, KUBELET_SOCKET);
  const found = folders.find((folder) => existsSync(socketIn(folder)));
  if (found === undefined) throw noKubelet(socketIn(own));
  return found;
}
