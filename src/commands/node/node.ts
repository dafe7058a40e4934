import { type Command, Option } from "commander";
import { lockFolder } from "../../kubelet/certificate/folder-lock.js";
import { endLeftWork, loadHandler, startHandler } from "../../lab/virtual/open-handler.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { openStore } from "../../testbed/node/join.js";
import { joinDefaults, serverOf } from "../../testbed/node/join-plan.js";
import { type RunningNode, startNode } from "../../testbed/node/node.js";
import { proxyIdentity, startNodeProxy } from "../../testbed/node/node-proxy.js";
import { openAdminKubeconfig } from "../../testbed/target/admin-kubeconfig.js";
import { isOwnServer, networkFolderOf } from "../../testbed/target/running-cluster.js";
import type { Target } from "../../testbed/target/target.js";
import type { Ctx } from "../../trace/ctx.js";
import { keysRule } from "../../trace/story/rules.js";
import { tellStory } from "../../trace/story/teller.js";
import { quieterTrace, traceOfNode } from "../../trace/view.js";
import { untilAborted } from "../../util/async/concurrency.js";
import { type Clock, SystemClock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { isAbortError } from "../../util/errors.js";
import { OffsetClock } from "../../util/offset-clock.js";
import { pathFrom } from "../../util/os/paths.js";
import { OLDEST_RELEASE, parseKubeletVersion } from "../../util/release/facts.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { imagesOption } from "../cli/images-option.js";
import { openJoinTarget, withBootstrapIdentity } from "../cli/join-target.js";
import {
  addKubeletCapacityOptions,
  addKubeletOptions,
  addOutputOptions,
  addPlainOptions,
  addServerOptions,
  addTargetOptions,
  addUiOption,
  parseDuration,
  parsePath,
  parsePort,
} from "../cli/options.js";
import { stay } from "../cli/stay.js";
import { hasKeys } from "../cli/terminal-keys.js";
import { serveKeyTable, withStatus } from "../inspector/key-table.js";
import { kubeletTables } from "../inspector/kubelet-tables.js";
import { futureOf, timeKeys } from "../inspector/time-keys.js";
import { readConfiguration, readNode, reportConfiguration } from "./configuration.js";
import { addContainerGcFlags, gcPolicyOf } from "./container-gc-flags.js";
import { parseAddresses, parseBoolean, parseDomain, parseNodeLabels, parseOffset, parseTaints } from "./flags.js";
import { nodeKeys } from "./keys.js";
import { addKubeletFlags } from "./kubelet-flags.js";
import { NodeLife } from "./life.js";
import { checkNodeOptions, type NodeCommandOptions } from "./options.js";
import { announceNode, nodeResult, podsOf } from "./result.js";

/** `kubelab node`: a small kubelet that joins a cluster and runs its pods. */
export function addNodeCommand(command: Command, context: CliContext): void {
  // Flags after `config` belong to it, though node has flags of the same names.
  command
    .enablePositionalOptions()
    .description(
      "Joins a cluster as a node and runs what is bound to it: pods from the API server, from files and from a URL, in the embedded container runtime or in another one (--cri). Prints every decision.",
    );
  addExamples(
    command,
    "kubelab node",
    "kubelab node --node n2 --manifest-dir ./manifests -v 2",
    "kubelab node --cri unix:///run/containerd/containerd.sock",
    "kubelab node --server HOST:PORT --token T --ca-cert-hash sha256:...",
    "kubelab node --handler ./examples/handler.mjs --handler-timeout 5m",
  );
  const output = addUiOption(addOutputOptions(command));
  addServerOptions(addKubeletCapacityOptions(addKubeletOptions(addTargetOptions(output), "node-1")));
  addKubeletFlags(addContainerGcFlags(addNodeOptions(command))).action((options: NodeCommandOptions) =>
    runNode(context, options),
  );
  addConfigCommand(command, context);
}

/** `kubelab node config`: the kubelet's defaults, and how a file differs from them. */
function addConfigCommand(node: Command, context: CliContext): void {
  const config = node
    .command("config")
    .description(
      "Prints the kubelet's configuration (KubeletConfiguration) with a release's defaults, as a file for --config. Given a file, checks it and prints how it differs from them.",
    )
    .argument("[file]", "a file for --config", parsePath)
    .addOption(new Option("--kube-version <release>", "the kubelet's release").default(OLDEST_RELEASE));
  addPlainOptions(config).action(async (file: string | undefined, options: { readonly kubeVersion: string }) => {
    const { defaultsResult, fileResult } = await import("./config.js");
    const kubeVersion = parseKubeletVersion(options.kubeVersion);
    context.print(
      file === undefined ? defaultsResult(kubeVersion) : await fileResult(pathFrom(context.cwd, file), kubeVersion),
    );
  });
  addExamples(config, "kubelab node config > kubelet.yaml", "kubelab node config kubelet.yaml --kube-version 1.30");
}

function addNodeOptions(command: Command): Command {
  return command
    .option("--config <file>", "KubeletConfiguration; flags win over it (see `kubelab node config`)", parsePath)
    .option("--manifest-url <url>", "static pods: manifests from this URL, read every 20 s")
    .option(
      "--root-dir <folder>",
      "folder of certificate, logs and pods' files (default: ~/.local/state/kubelab/nodes/<name>)",
      parsePath,
    )
    .option("--port <port>", "port of the kubelet's server; 0: a free one (default: 10250, if it is free)", parsePort)
    .addOption(imagesOption())
    .addOption(booleanOption("--register-node [bool]", "false: another creates the Node (default: true)"))
    .option("--clock-offset <time>", "the machine's clock is wrong by this: -10m, 2h", parseOffset)
    .option("--node-labels <labels>", "labels to register with: zone=a,disk=ssd", parseNodeLabels)
    .option("--register-with-taints <taints>", "taints to register with: dedicated=db:NoSchedule", parseTaints)
    .option("--cluster-dns <ips>", "name servers of pods; '': the node's own (default: 10.96.0.10)", parseAddresses)
    .option("--cluster-domain <domain>", "DNS domain of services (default: cluster.local)", parseDomain)
    .addOption(
      booleanOption(
        "--rotate-server-certificates [bool]",
        "the cluster signs the kubelet's serving certificate once you approve its CSR (default: self-signed)",
      ),
    )
    .option(
      "--handler <file>",
      "virtual pods: a function of this module does each pod's work, without containers",
      parsePath,
    )
    .option("--handler-command <cmd>", "virtual pods by a shell command: it reads the pod on stdin and logs to stdout")
    .option("--handler-timeout <time>", "time limit of each pod's work (default: the pod's own)", parseDuration);
}

/** As Go's flags: `--register-node` and `--register-node=false`. */
function booleanOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(parseBoolean);
}

async function runNode(context: CliContext, given: NodeCommandOptions): Promise<void> {
  checkNodeOptions(given);
  const options = await withBootstrapIdentity(context, given);
  const gcPolicy = gcPolicyOf(options);
  const assumed = parseKubeletVersion(options.kubeVersion ?? OLDEST_RELEASE);
  const { plan, ...early } = await readNode(options, joinDefaults(context), assumed);
  const store = await openStore(plan);
  await using _lock = await lockFolder(plan.folder);
  const { cwd, env, random, signal } = context;
  const handler = await loadHandler({ cwd, env, signal, clock: new SystemClock() }, options, plan.folder);
  await using opened = await openJoinTarget(context, "node", plan, options);
  const { target, trace, kubeVersion } = opened;
  const clock = machineClock(opened.clock, options.clockOffset);
  using _story = tellStory(trace, keysRule(`node ${plan.nodeName} joins`));
  await trace.chapter("node", async () => {
    const configuration = kubeVersion === assumed ? early : await readConfiguration(context, options, kubeVersion);
    await reportConfiguration(configuration, trace);
    await endLeftWork(trace, plan.folder);
    await using virtual =
      handler === undefined
        ? undefined
        : await startHandler({ handler, random, clock, trace: traceOfNode(trace, plan.nodeName) }, options);
    const { port, cri } = options;
    const { config, fixedPorts } = configuration;
    const server = serverOf(plan, target);
    const isOwnCluster = target?.kind === "embedded" || (await isOwnServer(env, server));
    using life = new NodeLife(context, config);
    await using node = await startNode(
      { context: life.context, clock, trace },
      {
        plan,
        kubeVersion,
        target,
        store,
        config,
        fixedPorts,
        networkFolder: await networkFolderOf(env, server),
        isOwnCluster,
        gcPolicy,
        ...defined({ port, cri, anyImage: options.images === "any" }),
        ...(virtual === undefined ? {} : { cri: virtual.endpoint, hooks: virtual.hooks, isSimulated: true }),
      },
    );
    await using admin = await openAdminKubeconfig(plan.folder, target);
    // With --server there is no administrator's kubeconfig, so kubectl gets the node's own.
    const kubeconfig = target === undefined ? store.kubeconfigPath : admin.path;
    announceNode(trace, node, target !== undefined);
    await using _proxy = startProxy({ clock, trace, random }, node, isOwnCluster ? target : undefined, signal);
    context.print(nodeResult(node, target?.kind ?? "server", kubeconfig));
    const pods = () => podsOf(node);
    const { runtime } = node;
    const parts = node.kubelet.kubelet;
    const ctx = { clock, trace: quieterTrace(trace, 2), random };
    await using client = target && createClient(target.admin, { ...ctx, actor: "user" });
    const keys = await nodeKeys({
      node,
      trace,
      admin: client,
      folder: plan.folder,
      time: timeKeys(clock, target?.kind, cri),
    });
    using _page = context.ui?.present({
      tables: async () => [pods(), ...(await kubeletTables({ parts, runtime }))],
      keys: () => keys.buttons,
      future: futureOf(clock, target?.kind),
      relist: () => parts.pleg.times,
      press: (key) => keys.press(key, context.signal),
    });
    const { stdin } = context.streams;
    const serveKeys = async (inner: AbortSignal) => {
      await serveKeyTable({ keys, stdin, progress: context, status: pods }, inner).catch((error: unknown) => {
        if (inner.aborted || !isAbortError(error)) throw error;
        // In raw mode, Ctrl-C is only a key. A node can take time to shut down; a second Ctrl-C ends it at once.
        process.kill(process.pid, "SIGINT");
        return untilAborted(inner);
      });
    };
    const isPlayed = hasKeys(context.streams);
    const said = (text: string) => context.say?.(text) ?? text;
    const status = (columns: number) => withStatus(pods, columns, said(`${plan.nodeName} runs; Ctrl-C ends it`));
    await life.stay(node, () =>
      stay(context, { clock, durationMs: options.duration, ...(isPlayed ? {} : { status }) }, [
        (inner) => Promise.race([node.done, untilAborted(inner)]),
        ...(isPlayed ? [serveKeys] : []),
      ]),
    );
    if (signal.aborted || options.duration === undefined) return;
    const text = `node ${plan.nodeName} stops: --duration is over`;
    trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
  });
}

/** The kubelet and its runtime read the machine's clock; the trace keeps the cluster's. */
function machineClock(clock: Clock, offsetMs = 0): Clock {
  return offsetMs === 0 ? clock : new OffsetClock(clock, offsetMs);
}

/**
 * Only for a cluster of kubelab: pods on other nodes of a real cluster cannot be reached from here.
 * @param target undefined: a real cluster, or one without an administrator who gives kube-proxy an identity
 */
function startProxy(
  deps: Ctx,
  node: RunningNode,
  target: Target | undefined,
  signal: AbortSignal,
): AsyncDisposable | undefined {
  if (node.runtime === undefined) return undefined;
  if (target === undefined) {
    const text = `No kube-proxy runs for ${node.nodeName}: its pods reach other pods of kubelab's nodes, but no Services.`;
    deps.trace.emit({ kind: "note", text }, { actor: "proxy" });
    return undefined;
  }
  const identity = proxyIdentity(deps, target, signal);
  return startNodeProxy(deps, { node, kubeVersion: target.kubeVersion, identity }, signal);
}
