import { rm } from "node:fs/promises";
import { join } from "node:path";
import { type Command, Option } from "commander";
import type { CliContext } from "../cli/context.js";
import {
  addOutputOptions,
  addTargetOptions,
  parseDuration,
  parsePath,
  parsePort,
  targetOptions,
} from "../cli/options.js";
import { kubeconfigText } from "../client-go/clientcmd/kubeconfig-text.js";
import { ADMIN_KUBECONFIG } from "../kubelet/certificate/certificate-store.js";
import { lockFolder } from "../kubelet/certificate/folder-lock.js";
import { DEFAULT_LOG_ROTATE_POLICY } from "../kubelet/logs/container-log-manager.js";
import { OLDEST_RELEASE } from "../release/facts.js";
import { openStore } from "../testbed/join.js";
import { type JoinPlan, planJoin } from "../testbed/join-plan.js";
import { type RunningNode, startNode } from "../testbed/node.js";
import { releaseOf } from "../testbed/server-release.js";
import type { Target } from "../testbed/target.js";
import type { Trace } from "../trace/trace.js";
import type { Clock } from "../util/clock.js";
import { defined } from "../util/defined.js";
import { LabError } from "../util/errors.js";
import { writeFileAtomic } from "../util/files.js";
import { allUntilOneEnds, untilAborted } from "../util/loops.js";
import { pathFrom } from "../util/paths.js";
import { joinDefaults } from "./bootstrap.js";
import { addExamples } from "./examples.js";
import { parseAddresses, parseDomain, parseLogFiles, parseLogSize } from "./node/flags.js";
import { checkHandlerOptions, endLeftWork, openHandler } from "./node/handler.js";
import { type NodeCommandOptions, toJoinOptions } from "./node/options.js";

/** `kubelab node`: a small kubelet that joins a cluster and runs its pods. */
export function addNodeCommand(program: Command, context: CliContext): void {
  const command = program
    .command("node")
    .summary("a small kubelet: joins a cluster, runs pods, reports back")
    .description(
      "Joins a cluster as a node and runs what is bound to it: pods from the API server, from files and from a URL, in the embedded container runtime or any other with a CRI. Every decision is told.",
    );
  addExamples(
    command,
    "kubelab node",
    "kubelab node --name n2 --manifest-dir ./manifests -v 2",
    "kubelab node --cri unix:///run/containerd/containerd.sock",
    "kubelab node --server HOST:PORT --token T --ca-cert-hash sha256:...",
    "kubelab node --handler ./examples/handler.mjs --handler-timeout 5m",
  );
  addTargetOptions(addOutputOptions(command))
    .option("--name <name>", "name of the node", "node-1")
    .option("--cpu <quantity>", "capacity that the node claims", "100")
    .option("--memory <quantity>", "capacity that the node claims", "32Gi")
    .option("--pods <number>", "capacity that the node claims", "110")
    .option("--manifest-dir <folder>", "static pods: a folder of manifests, or one manifest", parsePath)
    .option("--manifest-url <url>", "static pods: asked for every 20 s")
    .option("--cri <endpoint>", "container runtime: unix:///path or tcp://host:port (default: embedded)")
    .option("--server <url>", "join the cluster at this address, of which nothing else is known")
    .option("--token <token>", "bootstrap token (default: the administrator makes one)")
    .addOption(
      new Option("--ca-cert-hash <hash...>", "sha256:… of the public key of the cluster's CA, for --server").argParser(
        (value: string, list: readonly string[] = []) => [...list, value],
      ),
    )
    .option(
      "--root-dir <folder>",
      "certificate, logs and pods' files (default: ~/.local/state/kubelab/nodes/<name>)",
      parsePath,
    )
    .addOption(
      new Option("--port <port>", "of the kubelet's server; 0: a free one (default: 10250, if it is free)").argParser(
        parsePort,
      ),
    )
    .addOption(
      new Option("--cluster-dns <ips>", "name servers of pods; '': the node's own (default: 10.96.0.10)").argParser(
        parseAddresses,
      ),
    )
    .addOption(
      new Option("--cluster-domain <domain>", "pods find services below it (default: cluster.local)").argParser(
        parseDomain,
      ),
    )
    .option(
      "--rotate-server-certificates",
      "the cluster signs the server's certificate, when you approve its CSR (default: it signs its own)",
    )
    .addOption(
      new Option("--container-log-max-size <bytes>", "a container's log is rotated at this size")
        .argParser(parseLogSize)
        .default(DEFAULT_LOG_ROTATE_POLICY.maxSize, "10Mi"),
    )
    .addOption(
      new Option("--container-log-max-files <number>", "so many files of it are kept")
        .argParser(parseLogFiles)
        .default(DEFAULT_LOG_ROTATE_POLICY.maxFiles),
    )
    .option(
      "--handler <file>",
      "virtual pods: a module whose function does each pod's work, in place of containers",
      parsePath,
    )
    .option("--handler-command <cmd>", "the same by a shell command: the pod on stdin, logs on stdout, exit code")
    .addOption(
      new Option("--handler-timeout <time>", "of each pod's work (default: the pod's own)").argParser(parseDuration),
    )
    .addOption(new Option("--duration <time>", "end after this long").argParser(parseDuration))
    .action((options: NodeCommandOptions) => runNode(context, options));
}

async function runNode(context: CliContext, options: NodeCommandOptions): Promise<void> {
  const plan = planJoin(toJoinOptions(options), joinDefaults(context));
  checkUrl(options.manifestUrl);
  checkHandlerOptions(options);
  const store = await openStore(plan);
  await using _lock = await lockFolder(plan.folder);
  await using target =
    plan.discovery.kind === "by-target" ? await context.openTarget("node", targetOptions(options)) : undefined;
  const { clock, trace } = context.session({});
  if (target === undefined && plan.discovery.kind !== "by-target") {
    trace.emit({ kind: "note", text: `kubelab node on the cluster at ${plan.discovery.server}` }, { actor: "user" });
  }
  const deps = { clock, trace, random: context.random };
  const kubeVersion = target === undefined ? OLDEST_RELEASE : await releaseOf(target, deps);
  await trace.chapter("node", async () => {
    await endLeftWork(trace, plan.folder);
    await using handler = await openHandler(context, { clock, trace }, options, plan.folder);
    await using node = await startNode(
      { context, clock, trace },
      {
        plan,
        kubeVersion,
        target,
        store,
        rotateServerCertificates: options.rotateServerCertificates === true,
        logRotatePolicy: { maxSize: options.containerLogMaxSize, maxFiles: options.containerLogMaxFiles },
        ...defined({
          port: options.port,
          cri: options.cri,
          clusterDns: options.clusterDns,
          clusterDomain: options.clusterDomain,
          manifestUrl: options.manifestUrl,
        }),
        ...(handler === undefined ? {} : { cri: handler.endpoint, hooks: handler.hooks, isSimulated: true }),
        ...(options.manifestDir === undefined ? {} : { manifestDir: pathFrom(context.cwd, options.manifestDir) }),
      },
    );
    await using kubeconfig = await openKubeconfig(plan, target);
    // With --server nothing is known of an administrator: the node's own identity is what there is.
    announce(context, trace, node, target, target === undefined ? store.kubeconfigPath : kubeconfig.path);
    await stay(context, clock, node, options.duration);
  });
}

/** Until Ctrl-C, until the time is over, or until the kubelet cannot go on. */
async function stay(
  context: CliContext,
  clock: Clock,
  { done }: RunningNode,
  durationMs: number | undefined,
): Promise<void> {
  const loops: ((signal: AbortSignal) => Promise<void>)[] = [(signal) => Promise.race([done, untilAborted(signal)])];
  if (durationMs !== undefined) loops.push((signal) => clock.sleep(durationMs, signal));
  await allUntilOneEnds(context.signal, loops);
}

export interface OpenKubeconfig extends AsyncDisposable {
  /** undefined: it is the one that kubectl takes by itself, or this process has no identity but the node's */
  readonly path: string | undefined;
}

/** For a cluster of this process, which nobody else has a kubeconfig of, one is written; it goes with the cluster. */
export async function openKubeconfig(plan: JoinPlan, target: Target | undefined): Promise<OpenKubeconfig> {
  if (target?.kind !== "embedded") {
    return { path: target?.kubeconfigPath, [Symbol.asyncDispose]: async () => {} };
  }
  const path = join(plan.folder, ADMIN_KUBECONFIG);
  const names = { cluster: "kubelab", user: "kubelab-admin", context: "kubelab" };
  await writeFileAtomic(path, kubeconfigText(target.admin, names), { mode: 0o600 });
  return { path, [Symbol.asyncDispose]: () => rm(path, { force: true }) };
}

/** What a script needs is on stdout: the line that kubectl is called with. */
function announce(
  context: CliContext,
  trace: Trace,
  node: RunningNode,
  target: Target | undefined,
  kubeconfig: string | undefined,
): void {
  const { nodeName, kubelet, cri } = node;
  const { runtimeName, runtimeVersion } = cri.version;
  const where = node.runtime === undefined ? cri.endpoint : "embedded: its containers end with this command";
  const ready = kubelet.isReady() ? "is Ready" : "has registered, but is not Ready yet";
  const text = `node ${nodeName} ${ready}; runtime ${runtimeName} ${runtimeVersion} (${where})`;
  trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
  if (target === undefined) {
    const rights = "kubectl has the node's own rights here: it sees this Node and its pods. Others need a kubeconfig.";
    trace.emit({ kind: "note", text: rights }, { actor: "user" });
  }
  const kubectl = kubeconfig === undefined ? "kubectl" : `kubectl --kubeconfig ${kubeconfig}`;
  context.print({
    text: kubectl,
    json: {
      node: nodeName,
      server: kubelet.apiServer,
      kubeconfig: kubeconfig ?? null,
      cluster: target?.kind ?? "server",
      kubelet: kubelet.url,
      runtime: { endpoint: cri.endpoint, name: runtimeName, version: runtimeVersion },
      certificate: { notAfter: new Date(node.certificateNotAfterMs).toISOString().replace(".000", "") },
    },
  });
}

function checkUrl(url: string | undefined): void {
  if (url === undefined || (URL.canParse(url) && /^https?:\/\//.test(url))) return;
  const hint = "Write it as http://HOST:PORT/PATH.";
  throw new LabError("USAGE", `--manifest-url ${JSON.stringify(url)} is not a URL that can be asked`, hint);
}
