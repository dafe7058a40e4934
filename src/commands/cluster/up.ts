import { rmSync } from "node:fs";
import { type ClusterOptions, runCluster } from "../../testbed/cluster/cluster.js";
import { startDetached } from "../../testbed/detached-process.js";
import {
  type ClusterState,
  clusterLog,
  makeClustersFolder,
  readClusterState,
} from "../../testbed/target/cluster-state.js";
import { type EtcdOptions, etcdConfig, etcdFlags } from "../../testbed/target/etcd-options.js";
import { claimClusterName, runningCluster } from "../../testbed/target/running-cluster.js";
import type { Ctx } from "../../trace/ctx.js";
import { WRITES_RULE } from "../../trace/story/rules.js";
import { tellStory } from "../../trace/story/teller.js";
import { type Level, Trace } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";
import { LAB_ERRORS, LabError } from "../../util/errors.js";
import { parseKubeletVersion, parseKubeVersion } from "../../util/release/facts.js";
import { oldestKubelet, skewProblem } from "../../util/release/skew.js";
import type { CliContext } from "../cli/context.js";
import { type DataOptions, dataConfig, dataFlags } from "../cli/data-options.js";
import { type ComparableOptions, note, printIfSame, printRunning } from "./running.js";
import { type SimulationFlags, simulatedNodes, simulationFlags } from "./simulated.js";

export interface UpOptions
  extends Omit<ClusterOptions, "etcd" | "disk" | "simulated">,
    EtcdOptions,
    DataOptions,
    SimulationFlags {
  readonly detach?: boolean;
  readonly verbosity?: Level;
  /** a file for the trace of the cluster's own process */
  readonly trace?: string;
  readonly ui?: number | true;
}

const READY_TIMEOUT_S = 20;
/** The time that each node adds: a process for its runtime, and its join. */
const READY_TIMEOUT_PER_NODE_S = 2;
/** Some requests. */
const READY_TIMEOUT_PER_SIMULATED_NODE_S = 0.05;
/** With etcd, the nodes' certificates may wait for the lease of a leader that was killed. */
const ELECTION_TIMEOUT_S = 20;

/**
 * Runs a cluster until Ctrl-C, or in the background. A running cluster of the same name is only printed.
 * @throws LabError USAGE for an unknown release, labels of a missing node, or a busy port; FAILED if it does not start
 */
export async function bringUp(context: CliContext, given: UpOptions): Promise<void> {
  checkNodeLabels(given);
  const options = await clusterOptions(given);
  if (given.detach === true) return bringUpDetached(context, given, options);
  const claim = await claimClusterName(context, options.name, (text) => note(context, text));
  if ("running" in claim) return printIfSame(context, claim.running, options);
  await using _lock = claim.lock;
  const session = context.session(defined({ speed: options.speed }));
  using _story = tellStory(session.trace, WRITES_RULE);
  using line = context.progress(`starting cluster ${options.name}`);
  let shown: Promise<void> | undefined;
  const isReady = (state: ClusterState) => {
    printRunning(context, state, "is ready");
    if (context.ui !== undefined) shown = showCluster(context, context.ui, session, state);
    line.update(`cluster ${options.name} runs; Ctrl-C ends it`);
  };
  // From here on, the cluster's facts belong to its servers, not to the user.
  const onProgress = (text: string) => line.update(`starting cluster ${options.name}: ${text}`);
  await session.trace.origin("start", () => runCluster({ context, ...session, onProgress }, options, isReady));
  await shown;
  note(context, `cluster ${options.name} is down`);
}

/** @throws LabError USAGE when a label is for a node that the cluster will not have */
function checkNodeLabels({ nodes, nodeLabels = [] }: UpOptions): void {
  const names = new Set(Array.from({ length: nodes }, (_, i) => `node-${i + 1}`));
  for (const { node } of nodeLabels) {
    if (node === undefined ? nodes > 0 : names.has(node)) continue;
    const message =
      node === undefined
        ? "--node-labels has labels for nodes, and the cluster starts without any"
        : `--node-labels has labels for ${JSON.stringify(node)}, which the cluster does not start`;
    throw new LabError("USAGE", message, "`--nodes N` starts node-1 to node-N.");
  }
}

/** Shows the cluster's objects and its clock's timers on the live page, which holds its time, until the command ends. */
async function showCluster(
  { random, signal }: CliContext,
  ui: NonNullable<CliContext["ui"]>,
  { clock, trace }: Pick<Ctx, "clock" | "trace">,
  { kubeconfig }: ClusterState,
): Promise<void> {
  const [{ loadKubeconfig }, { createClient }, { ClusterTables }, { InspectorKeys }, { futureOf, timeKeys }] =
    await Promise.all([
      import("../../staging/client-go/clientcmd/kubeconfig.js"),
      import("../../staging/client-go/rest/create-client.js"),
      import("../inspector/cluster-tables.js"),
      import("../inspector/key-table.js"),
      import("../inspector/time-keys.js"),
    ]);
  const deps = { clock, random, trace: new Trace(clock) };
  const { config } = await loadKubeconfig(kubeconfig);
  await using client = createClient(config, { ...deps, actor: "user" });
  const cluster = new ClusterTables({ ...deps, client });
  const keys = new InspectorKeys(timeKeys(clock, "embedded"), trace);
  using _page = ui.present({
    tables: () => cluster.tables(),
    keys: () => keys.buttons,
    press: (key) => keys.press(key, signal),
    future: futureOf(clock, "embedded"),
  });
  await cluster.run(signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/** @throws LabError USAGE for an unknown release, or flags without their storage; BAD_FILE for stages */
async function clusterOptions({ etcd, simulated, stages, ...given }: UpOptions): Promise<ComparableOptions> {
  const places = { ...given, ...defined({ etcd }) };
  const disk = dataConfig(places);
  const state = defined({
    etcd: etcdConfig(places),
    disk,
    simulated: await simulatedNodes({ ...given, ...defined({ simulated, stages, disk }) }),
  });
  return { ...given, ...releasesOf(given), ...state };
}

/** The releases of the cluster and of its nodes. @throws LabError USAGE for a skew that upstream does not allow */
function releasesOf(given: Pick<UpOptions, "kubeVersion" | "kubeletVersion">) {
  const kubeVersion = parseKubeVersion(given.kubeVersion);
  if (given.kubeletVersion === undefined) return { kubeVersion };
  const kubeletVersion = parseKubeletVersion(given.kubeletVersion);
  const problem = skewProblem(kubeletVersion, kubeVersion);
  if (problem === undefined) return { kubeVersion, kubeletVersion };
  throw new LabError("USAGE", problem, `Use --kubelet-version ${oldestKubelet(kubeVersion)} to ${kubeVersion}.`);
}

async function bringUpDetached(context: CliContext, given: UpOptions, options: ComparableOptions): Promise<void> {
  const { name, verbosity = 1, ui } = given;
  if (ui !== undefined) {
    const hint = "Leave out --detach: the cluster then runs in this terminal.";
    throw new LabError("USAGE", "--ui shows what this command does, and --detach ends it at once", hint);
  }
  if (verbosity > 1) {
    const hint = "Keep it in a file: --trace trace.ndjson. Or leave out --detach.";
    throw new LabError("USAGE", `--detach shows no trace, and -v ${verbosity} asks for one`, hint);
  }
  const trace = context.handOverTrace();
  const findRunning = () => runningCluster(context, name, (text) => note(context, text));
  const printRunningIfSame = async () => {
    const running = await findRunning();
    if (running === undefined) return false;
    printIfSame(context, running, options);
    return true;
  };
  if (await printRunningIfSame()) return;
  const logFile = clusterLog(context.env, name);
  await makeClustersFolder(context.env);
  using _line = context.progress(`starting cluster ${name} in the background`);
  const nodes = given.nodes + (given.systemPods === true ? 1 : 0);
  const electionS = options.etcd === undefined ? 0 : ELECTION_TIMEOUT_S;
  const perNodeS = given.simulated === true ? READY_TIMEOUT_PER_SIMULATED_NODE_S : READY_TIMEOUT_PER_NODE_S;
  const timeoutS = Math.ceil(READY_TIMEOUT_S + nodes * perNodeS + electionS);
  const outcome = await startDetached(context, {
    args: ["cluster", "up", "-v", "0", ...flagsOf(given, trace)],
    logFile,
    timeoutMs: timeoutS * 1_000,
    // A starting cluster writes its state file last.
    ready: async (pid) => {
      const state = await readClusterState(context.env, name);
      return state?.pid === pid ? state : undefined;
    },
  });
  if (outcome.type === "ready") {
    for (const problem of outcome.value.startProblems ?? []) note(context, problem);
    return printRunning(context, outcome.value, "is ready, in the background");
  }
  if (outcome.type === "timed-out")
    throw didNotStart(name, `it was not ready within ${timeoutS} s`, `Its log is ${logFile}.`);
  if (outcome.code !== 0) {
    // The error repeats the log.
    rmSync(logFile, { force: true });
    const [, message, hint] = /^error: (.*)(?:\n(.+))?$/m.exec(outcome.log) ?? [];
    const fallback = outcome.log || `exit code ${outcome.code} without a message (is the disk full?)`;
    const help = hint ?? "Run `kubelab cluster up` without --detach to see more.";
    throw didNotStart(name, message ?? fallback, help, outcome.code);
  }
  // Another process started the cluster in the meantime.
  if (await printRunningIfSame()) return;
  throw new LabError("FAILED", `cluster ${name} ended as soon as it was ready`, "Start it again.");
}

/** Failures of the cluster's process that this command reports as its own: wrong usage, an etcd that refuses or is silent. */
const HANDED_ON = ["USAGE", "CLUSTER_UNREACHABLE", "FORBIDDEN"] as const;

/** @param exitCode of the cluster's process */
function didNotStart(name: string, why: string, hint: string, exitCode?: number | null): LabError {
  const code = HANDED_ON.find((one) => LAB_ERRORS[one].exitCode === exitCode) ?? "FAILED";
  return new LabError(code, `cluster ${name} did not start: ${why}`, hint);
}

/** @param trace path of the file that the cluster's own process writes */
function flagsOf(options: UpOptions, trace: string | undefined): string[] {
  const { name, port, kubeVersion, kubeletVersion, speed, nodes, nodeLabels = [] } = options;
  const { systemPods, verifyKubelets, http2, anyImage } = options;
  return [
    ...etcdFlags(options),
    ...dataFlags(options),
    ...simulationFlags(options),
    ...["--name", name, "--port", String(port), "--kube-version", kubeVersion, "--nodes", String(nodes)],
    ...(kubeletVersion === undefined ? [] : ["--kubelet-version", kubeletVersion]),
    ...nodeLabels.flatMap(({ node, labels }) => {
      const text = Object.entries(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(",");
      return ["--node-labels", node === undefined ? text : `${node}:${text}`];
    }),
    ...(systemPods === true ? ["--with-system-pods"] : []),
    ...(verifyKubelets === true ? ["--verify-kubelets"] : []),
    ...(http2 === true ? ["--http2"] : []),
    ...(anyImage === true ? ["--images", "any"] : []),
    ...(trace === undefined ? [] : ["--trace", trace]),
    ...(speed === undefined ? [] : ["--speed", String(speed)]),
  ];
}
