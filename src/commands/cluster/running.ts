import type { ClusterOptions } from "../../testbed/cluster/cluster.js";
import type { NodeLine } from "../../testbed/node/cluster-nodes.js";
import { type ClusterState, runningClusterNames } from "../../testbed/target/cluster-state.js";
import type { LeaderLine } from "../../testbed/target/leaders.js";
import { runningCluster } from "../../testbed/target/running-cluster.js";
import { alignedLines } from "../../trace/terminal/table.js";
import { defined } from "../../util/defined.js";
import { LabError } from "../../util/errors.js";
import type { Say } from "../../util/i18n/sentences.js";
import { counted } from "../../util/text/counted.js";
import type { CliContext } from "../cli/context.js";

/** Emits a note that is always shown. */
export function note(context: CliContext, text: string): void {
  context.session({}).trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
}

/** @param hint what to do when no cluster runs @throws LabError FAILED if the cluster does not run */
export async function requireRunning(context: CliContext, name: string, hint: string): Promise<ClusterState> {
  const state = await runningCluster(context, name, (text) => note(context, text));
  if (state !== undefined) return state;
  const others = await runningClusterNames(context.env);
  const help = others.length === 0 ? hint : `Running: ${others.join(", ")}. Name one with --name.`;
  throw new LabError("FAILED", `no cluster named ${name} is running`, help);
}

interface RunningDetails {
  readonly nodes?: readonly NodeLine[];
  readonly leaders?: readonly LeaderLine[];
  /** addresses of all API servers of the same etcd */
  readonly servers?: readonly string[];
}

/**
 * Prints a running cluster. stdout gets what a script needs: the command line for kubectl.
 * @param details printed when they were asked for
 */
export function printRunning(
  context: CliContext,
  state: ClusterState,
  what: string,
  { nodes, leaders, servers }: RunningDetails = {},
): void {
  const speed = state.speed === 1 ? "" : `, time runs ${state.speed}x`;
  const parts = [
    ...(state.systemPods === true ? ["a control-plane node"] : []),
    // The nodes of other servers of its etcd are not counted.
    ...(state.nodes === 0 ? [] : [`${countNodes(state)}${state.etcd === undefined ? "" : " of its own"}`]),
  ];
  const count = parts.length === 0 ? "" : `, with ${parts.join(" and ")}`;
  note(
    context,
    `cluster ${state.name} ${what}: v${state.kubeVersion} at ${state.url}${count}${speed} (pid ${state.pid})`,
  );
  const rowsIn = (say: Say) => [
    ...(nodes ?? []).map(({ name, status }) => [name, status]),
    ...(leaders ?? []).map((leader) => [leader.component, say(leaderText(leader))]),
    ...(servers ?? []).filter((url) => url !== state.url).map((url) => [say("another server"), url]),
  ];
  context.print({
    text: (say) => [`kubectl --kubeconfig ${state.kubeconfig}`, ...alignedLines(rowsIn(say))].join("\n"),
    json: { ...state, running: true, ...defined({ nodes, leaders, servers }) },
  });
}

function leaderText({ holder, isHere, cluster }: LeaderLine): string {
  if (holder === "") return "no leader";
  if (isHere) return "led by this server";
  return cluster === undefined ? `led by another server, ${holder}` : `led by cluster ${cluster}`;
}

function countNodes({ nodes, simulated }: ClusterState): string {
  const kind = simulated === true ? "simulated " : "";
  return nodes === 0 ? "no nodes" : counted(nodes, `${kind}node`);
}

/** The options that a running cluster is compared with. */
export type ComparableOptions = ClusterOptions & { readonly trace?: string; readonly ui?: number | true };

/** Prints a cluster that runs already. @throws LabError USAGE when it differs from the options */
export function printIfSame(context: CliContext, running: ClusterState, options: ComparableOptions): void {
  const { kubeVersion, speed, verifyKubelets, trace, ui, port, nodes, nodeLabels, systemPods, etcd, disk, http2 } =
    options;
  const { simulated, kubeletVersion, anyImage } = options;
  const wantsOtherNodes = nodes !== 0 && nodes !== running.nodes;
  const differences = [
    kubeVersion !== running.kubeVersion && `v${running.kubeVersion}, not v${kubeVersion}`,
    kubeletVersion !== undefined &&
      kubeletVersion !== (running.kubeletVersion ?? running.kubeVersion) &&
      `without kubelets of v${kubeletVersion}`,
    speed !== undefined && speed !== running.speed && `at speed ${running.speed}`,
    verifyKubelets === true && running.verifyKubelets !== true && "without --verify-kubelets",
    anyImage === true && running.anyImage !== true && "without --images any",
    http2 === true && running.http2 !== true && "without --http2",
    systemPods === true && running.systemPods !== true && "without --with-system-pods",
    simulated !== undefined && running.simulated !== true && "without --simulated",
    (simulated?.stages ?? []).length > 0 && running.simulated === true && "and began without this --stages",
    nodeLabels !== undefined && "and its nodes have registered without these --node-labels",
    trace !== undefined && "and began without this --trace",
    ui !== undefined && "and began without --ui",
    etcd !== undefined && etcd.servers.join() !== running.etcd?.join() && stateOf(running),
    disk !== undefined && disk.folder !== running.data && stateOf(running),
    port !== 0 && !running.url.endsWith(`:${port}`) && `at ${running.url}`,
    wantsOtherNodes && `with ${countNodes(running)}, not ${nodes}`,
  ].filter((one) => one !== false);
  if (differences.length === 0) {
    printRunning(context, running, "is running already");
    return;
  }
  const more = wantsOtherNodes ? " Or let `kubelab node --node NAME` join it as one node more." : "";
  throw new LabError(
    "USAGE",
    `cluster ${running.name} is running already, ${differences.join(", ")}`,
    `End it first (\`kubelab cluster down\`), or give this one a --name of its own.${more}`,
  );
}

function stateOf({ etcd, data }: ClusterState): string {
  if (data !== undefined) return `with its state in ${data}`;
  return etcd === undefined ? "with its state in memory" : `with its state in etcd at ${etcd.join(", ")}`;
}
