// `npm run bench:simulated [-- --nodes N] [--pods N] [--watchers N] [--cli FILE] [--cpu-prof DIR]`: a cluster of simulated nodes.
//
// The cluster is a process of its own, which prints as little as with --detach; the client is this one. The pods are those of
// Deployments of 100 replicas. While they start, the client asks /readyz again and again: its slowest answer shows whether the API
// server kept its turn. Then the cluster rests under clients that watch all pods.
import { parseArgs } from "node:util";
import { embeddedTarget, type Usage, usageOf } from "./apiserver/target.js";
import { median, printTable } from "./measure.js";
import { SimulatedLoad } from "./simulated/load.js";

const { values: flags } = parseArgs({
  options: {
    nodes: { type: "string", default: "1000" },
    pods: { type: "string", default: "10000" },
    watchers: { type: "string", default: "50" },
    "rest-s": { type: "string", default: "30" },
    cli: { type: "string", default: "dist/cli.js" },
    "cpu-prof": { type: "string" },
  },
});
const [nodes, pods, watchers] = [Number(flags.nodes), Number(flags.pods), Number(flags.watchers)];
/** After a storm, the server still writes events and counts. */
const SETTLE_S = 10;
const LISTS = 7;

const profile = flags["cpu-prof"] === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${flags["cpu-prof"]}`];
const target = await embeddedTarget(flags.cli, profile, ["-v", "0", "--nodes", String(nodes), "--simulated"]);
const rows: string[][] = [["what", "takes", "server's CPU", "asked"]];
const usage = (): Usage => usageOf(target.pids) ?? { cpuMs: Number.NaN, residentMb: Number.NaN, peakMb: Number.NaN };
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;

try {
  const load = await SimulatedLoad.open(target.config, watchers);
  const readyMs = (target.readyMs ?? 0) + (await load.untilNodesReady(nodes));
  rows.push([`${nodes} nodes Ready, from the start of the process`, seconds(readyMs), seconds(usage().cpuMs), "10 s"]);

  const before = usage();
  const { ms, slowestAnswerMs } = await load.startPods(pods);
  rows.push([`${pods} pods Running`, seconds(ms), seconds(usage().cpuMs - before.cpuMs), "30 s"]);
  rows.push(["slowest answer of /readyz meanwhile", seconds(slowestAnswerMs), "", ""]);

  await load.sleep(SETTLE_S);
  const lists: number[] = [];
  const beforeLists = usage();
  for (let i = 0; i < LISTS; i++) lists.push(await load.listPods());
  const cpuMs = (usage().cpuMs - beforeLists.cpuMs) / LISTS;
  rows.push([`a list of ${pods} pods, median of ${LISTS}`, seconds(median(lists)), seconds(cpuMs), "0.15 s"]);

  load.watchPods();
  await load.sleep(SETTLE_S);
  const restS = Number(flags["rest-s"]);
  const atRest = usage();
  await load.sleep(restS);
  const { cpuMs: endMs, residentMb, peakMb } = usage();
  const core = `${((endMs - atRest.cpuMs) / restS / 1000).toFixed(2)} cores`;
  rows.push([`at rest, with ${watchers} watchers`, core, "", "0.5 cores"]);
  rows.push(["resident memory then", `${residentMb.toFixed(0)} MB`, "", "500 MB"]);
  rows.push(["highest", `${peakMb.toFixed(0)} MB`, "", ""]);
  load.close();
} finally {
  await target.close();
}
printTable(rows);
