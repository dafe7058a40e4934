// `npm run bench:workloads [-- PART ...] [--cli FILE ...] [--cpu-prof DIR]`: what Deployments cost on `kubelab cluster up`.
//
// The cluster is a process of its own, with another for its nodes' runtimes; the client, which watches as kubectl does, is this
// process. CPU times are of the cluster's processes and by item: a busy machine changes them less. --cli compares the start of two
// builds, in turn; --cpu-prof profiles the cluster.
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { median, printTable, spread } from "./measure.js";
import { WorkloadCluster } from "./workloads/cluster.js";
import { curlByName, type Measured, manyReplicas, oneReplica, rollingUpdate, startUp } from "./workloads/parts.js";
import { printStages } from "./workloads/stages.js";

const START_ROUNDS = 7;
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { cli: { type: "string", multiple: true, default: ["dist/cli.js"] }, "cpu-prof": { type: "string" } },
});
const [cli = ""] = flags.cli;
const profile = flags["cpu-prof"] === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${flags["cpu-prof"]}`];
const wants = (part: string) => positionals.length === 0 || positionals.includes(part);
const rows: string[][] = [["what", "median", "min-max", "asked", "CPU each", "load"]];

function row(what: string, { times, cpuMs }: Measured, asked: string): void {
  const load = loadavg()[0]?.toFixed(1) ?? "?";
  const digits = median(times) < 20 ? 1 : 0;
  rows.push([
    what,
    `${median(times).toFixed(digits)} ms`,
    spread(times),
    asked,
    `${median(cpuMs).toFixed(1)} ms`,
    load,
  ]);
}

if (wants("one") || wants("rolling") || wants("curl")) {
  await using cluster = await WorkloadCluster.start(cli, 1, profile);
  if (wants("one")) row("Deployment of 1 replica: create -> Running", await oneReplica(cluster), "120 ms");
  if (wants("rolling")) row("rolling update of 20 replicas, CPU by pod", await rollingUpdate(cluster), "2000 ms");
  if (wants("curl")) row("curl by the name of a Service, in a pod", await curlByName(cluster), "10 ms");
}
if (wants("many")) {
  await using cluster = await WorkloadCluster.start(cli, 3, profile);
  const many = await manyReplicas(cluster);
  row("100 replicas on 3 nodes: create -> Running, CPU by pod", many, "2500 ms");
  const each = many.each.map((mb) => mb.toFixed(0)).join(" + ");
  rows.push(["memory (Pss) of all processes with these", `${many.pssMb.toFixed(0)} MB`, each, "280 MB", "", ""]);
}
if (wants("start")) {
  for (const nodes of [0, 1]) {
    for (const [file, measured] of await startUp(flags.cli, nodes, START_ROUNDS)) {
      row(`cluster up with ${nodes} nodes${flags.cli.length > 1 ? `, ${file}` : ""}`, measured, "");
    }
  }
}
if (rows.length > 1) printTable(rows);
if (wants("stages")) await printStages();
