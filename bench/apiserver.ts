// `npm run bench:apiserver [-- --kubeconfig F]`: what an API server does per second for 16 clients, beside a real one.
//
// Without --kubeconfig it measures the embedded control plane, each round a new one in a process of its own. With it, any
// cluster: it makes the namespace kubelab-bench, works in it and takes it away. --pid N,M are that server's processes on this
// machine, for memory and CPU. --etcd URL: the embedded control plane keeps its state there, and each round continues the same
// cluster; --data DIR (and --data-fsync) the same in a folder. --beside F measures another cluster, that of a kubeconfig, in turn with
// the first: pass by pass, so that both meet the same load of the machine, and compares with it instead of the figures of a real
// server on an idle machine. --rounds N: the table shows medians. --cpu-prof DIR profiles the embedded server; --cli FILE is another
// build of it, to compare two.
//
// A round does all work several times (--passes) on one server: the first pass is shown beside the last, which counts, because
// a server that has just been started still has its code compiled; creating a pod takes 12,000 pods to cost what it will.
import { parseArgs } from "node:util";
import { CONNECTIONS, Load } from "./apiserver/load.js";
import { type BenchTarget, embeddedTarget, runningTarget, type Usage, usageOf } from "./apiserver/target.js";
import { cleanUp, prepare, REAL, REAL_MB, type Row, runWorkload } from "./apiserver/workload.js";
import { median, printTable, spread } from "./measure.js";

const { values: flags } = parseArgs({
  options: {
    kubeconfig: { type: "string" },
    beside: { type: "string" },
    etcd: { type: "string" },
    data: { type: "string" },
    "data-fsync": { type: "string", default: "batch" },
    pid: { type: "string", default: "" },
    rounds: { type: "string", default: "3" },
    passes: { type: "string", default: "4" },
    "cpu-prof": { type: "string" },
    cli: { type: "string", default: "dist/cli.js" },
  },
});

interface Measured {
  count: number;
  seconds: number;
  cpuMs: number;
}

type Rows = ReadonlyMap<Row, Measured>;

interface Pass {
  readonly rows: Rows;
  readonly withPods: Usage | undefined;
}

interface Round {
  readonly first: Rows;
  readonly rows: Rows;
  /** of the cluster that was measured in turn */
  readonly beside: Rows | undefined;
  readonly readyMs: number | undefined;
  readonly withPods: Usage | undefined;
  readonly atEnd: Usage | undefined;
}

function openTarget(): Promise<BenchTarget> {
  const { kubeconfig, pid, cli, etcd, data, "data-fsync": fsync, "cpu-prof": profileFolder } = flags;
  if (kubeconfig !== undefined) return runningTarget(kubeconfig, pid.split(",").map(Number).filter(Boolean));
  const nodeOptions = profileFolder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`];
  const onEtcd = etcd === undefined ? [] : ["--etcd", etcd];
  const onDisk = data === undefined ? [] : ["--data", data, "--data-fsync", fsync];
  return embeddedTarget(cli, nodeOptions, [...onEtcd, ...onDisk]);
}

interface Measuring {
  readonly target: BenchTarget;
  readonly load: Load;
}

async function measuring(target: BenchTarget): Promise<Measuring> {
  return { target, load: await Load.open(target.config) };
}

async function round(): Promise<Round> {
  const one = await measuring(await openTarget());
  const beside = flags.beside === undefined ? undefined : await measuring(await runningTarget(flags.beside, []));
  const all = beside === undefined ? [one] : [one, beside];
  try {
    for (const { load } of all) await prepare(load);
    const passes: Pass[] = [];
    let besidePass: Pass | undefined;
    for (let i = 0; i < Number(flags.passes); i++) {
      passes.push(await pass(one));
      if (beside !== undefined) besidePass = await pass(beside);
    }
    for (const { load } of all) await cleanUp(load);
    const [first, last] = [passes[0], passes.at(-1)] as [Pass, Pass];
    const { readyMs, pids } = one.target;
    return { ...last, first: first.rows, beside: besidePass?.rows, readyMs, atEnd: usageOf(pids) };
  } finally {
    for (const { target, load } of all) {
      load.close();
      await target.close();
    }
  }
}

async function pass({ target, load }: Measuring): Promise<Pass> {
  const rows = new Map<Row, Measured>();
  let withPods: Usage | undefined;
  let cpuMs = usageOf(target.pids)?.cpuMs ?? 0;
  await runWorkload(load, {
    measured(row, count, seconds) {
      const before = rows.get(row) ?? { count: 0, seconds: 0, cpuMs: 0 };
      const nowMs = usageOf(target.pids)?.cpuMs ?? 0;
      rows.set(row, {
        count: before.count + count,
        seconds: before.seconds + seconds,
        cpuMs: before.cpuMs + nowMs - cpuMs,
      });
      cpuMs = nowMs;
    },
    async withPods() {
      withPods = usageOf(target.pids);
    },
  });
  return { rows, withPods };
}

function ratesOf(row: string, passes: readonly Rows[]): number[] {
  return passes.flatMap((rows) => rows.get(row as Row) ?? []).map(({ count, seconds }) => count / seconds);
}

function tableOf(rounds: readonly Round[]): string[][] {
  const besides = rounds.flatMap((round) => round.beside ?? []);
  const rows = Object.entries(REAL).map(([row, recorded]) => {
    const real = besides.length === 0 ? recorded : median(ratesOf(row, besides));
    const passes = rounds.map((round) => round.rows);
    const rates = ratesOf(row, passes);
    const cpu = passes.flatMap((pass) => pass.get(row as Row) ?? []).map(({ count, cpuMs }) => (cpuMs * 1000) / count);
    const first = ratesOf(
      row,
      rounds.map((round) => round.first),
    );
    return [
      row,
      median(rates).toFixed(0),
      spread(rates),
      real.toFixed(0),
      `${(median(rates) / real).toFixed(1)}x`,
      median(first).toFixed(0),
      median(cpu) > 0 ? median(cpu).toFixed(0) : "",
    ];
  });
  const other = besides.length === 0 ? "real per s" : "beside per s";
  return [["", "per s", "min-max", other, "ratio", "first pass per s", "CPU us each"], ...rows];
}

function memoryOf(label: string, values: readonly (number | undefined)[]): string[][] {
  const known = values.filter((value) => value !== undefined);
  if (known.length === 0) return [];
  const middle = median(known);
  return [[label, middle.toFixed(0), spread(known), String(REAL_MB), `${(middle / REAL_MB).toFixed(2)}x`]];
}

const rounds: Round[] = [];
for (let i = 0; i < Number(flags.rounds); i++) rounds.push(await round());

const onDisk = flags.data === undefined ? undefined : `on disk, fsync ${flags["data-fsync"]}`;
const state = flags.etcd === undefined ? (onDisk ?? "in memory") : `on etcd at ${flags.etcd}`;
const what = flags.kubeconfig === undefined ? `embedded control plane, ${state}` : `cluster of ${flags.kubeconfig}`;
const real = flags.beside === undefined ? "real: kube-apiserver 1.25 + etcd on two cores" : `beside: ${flags.beside}`;
process.stdout.write(`${what}; ${CONNECTIONS} clients, medians of ${rounds.length} rounds; ${real}\n\n`);
printTable(tableOf(rounds));
process.stdout.write("\n");
printTable([
  ["resident memory of the server", "MB", "min-max", "real MB", "ratio"],
  ...memoryOf(
    "with 1,000 pods",
    rounds.map((one) => one.withPods?.residentMb),
  ),
  ...memoryOf(
    "highest of the whole run",
    rounds.map((one) => one.atEnd?.peakMb),
  ),
]);
const ready = rounds.flatMap((one) => one.readyMs ?? []);
if (ready.length > 0) {
  process.stdout.write(`\ncluster up: ready after ${median(ready).toFixed(0)} ms (${spread(ready)})\n`);
}
