import { median, percentile, printTable } from "../measure.js";
import { type BenchCluster, startBenchCluster } from "../node/cluster.js";
import { isScheduled, type Moment, ON_NODE, StageSink } from "../node/stages.js";
import { WorkloadClient } from "./cluster.js";

/** Its tag is not `latest`, so that it is pulled once. */
const IMAGE = "nginx:1.25";
const WARM_UP_RUNS = 5;
const RUNS = 20;
const REPLICAS = 100;
const ROLLED_REPLICAS = 20;

/** A pod's name is its ReplicaSet's and a part of its own. */
const setOf = (pod: string) => pod.slice(0, pod.lastIndexOf("-"));

const OF_WORKLOADS: readonly Moment[] = [
  {
    stage: "API write, watch: -> Deployment controller decides",
    matches: ({ kind, actor, text }, pod) =>
      kind === "decision" && actor === "controller" && text.startsWith(`create ReplicaSet ${setOf(pod)} `),
  },
  {
    stage: "API write, watch: -> ReplicaSet controller decides",
    matches: ({ kind, actor, text }, pod) =>
      kind === "decision" &&
      actor === "controller" &&
      text.startsWith("create ") &&
      text.endsWith(` for ReplicaSet ${setOf(pod)}`),
  },
  {
    stage: "API write: -> the pod is created",
    matches: ({ kind, text }, pod) => kind === "event" && text === `SuccessfulCreate Created pod: ${pod.split("/")[1]}`,
  },
  { stage: "scheduler: -> decision", matches: isScheduled },
  ...ON_NODE,
];

/** Prints where the time of a pod goes that a Deployment has: alone, with many others, and in an update. */
export async function printStages(): Promise<void> {
  const columns = [await alone(), await together(REPLICAS, false), await together(ROLLED_REPLICAS, true)];
  process.stdout.write(
    "\nWhere the time goes, all in one process and on one node, with a trace that listens; ms of each pod, median (p99):\n\n",
  );
  const names = [...new Set(columns.flatMap((column) => [...column.keys()]))];
  printTable([
    ["stage", "1 replica", `${REPLICAS} at once`, `rolling update of ${ROLLED_REPLICAS}`],
    ...names.map((name) => [name, ...columns.map((column) => column.get(name) ?? "")]),
  ]);
}

type Column = ReadonlyMap<string, string>;

function columnOf(sink: StageSink): Column {
  const text = (values: readonly number[]) => `${median(values).toFixed(1)} (${percentile(values, 0.99).toFixed(1)})`;
  return new Map([...sink.stages].map(([stage, values]) => [stage, text(values)]));
}

/** Waits until a Deployment has rolled out, and has `sink` look at those of its pods that were not there before. */
async function follow(
  cluster: BenchCluster,
  client: WorkloadClient,
  name: string,
  startedMs: number,
  sink?: StageSink,
) {
  await client.rolledOut(name);
  for (const [pod, seen] of cluster.watcher.seen) {
    if (pod.startsWith(`${name}-`) && (seen.created ?? 0) > startedMs) sink?.pod(pod, startedMs, seen);
  }
  sink?.forget();
}

async function alone(): Promise<Column> {
  const sink = new StageSink(OF_WORKLOADS, 3);
  await using cluster = await startBenchCluster({ sink });
  await using client = new WorkloadClient(cluster.client.config);
  for (let run = -WARM_UP_RUNS; run < RUNS; run++) {
    const name = `alone${run + WARM_UP_RUNS}`;
    const startedMs = await client.createDeployment(name, 1, IMAGE);
    await follow(cluster, client, name, startedMs, run < 0 ? undefined : sink);
    await client.remove(name);
  }
  return columnOf(sink);
}

async function together(replicas: number, isUpdate: boolean): Promise<Column> {
  const sink = new StageSink(OF_WORKLOADS, 3);
  await using cluster = await startBenchCluster({ sink });
  await using client = new WorkloadClient(cluster.client.config);
  await follow(cluster, client, "first", await client.createDeployment("first", replicas, IMAGE));
  sink.forget();
  if (isUpdate) {
    await follow(cluster, client, "first", await client.restart("first"), sink);
  } else {
    await client.remove("first");
    sink.forget();
    await follow(cluster, client, "second", await client.createDeployment("second", replicas, IMAGE), sink);
  }
  return columnOf(sink);
}
