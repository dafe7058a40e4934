import { usageOf } from "../apiserver/target.js";
import { WorkloadCluster } from "./cluster.js";
import { pssMb } from "./memory.js";

const IMAGE = "nginx";
const WARM_UP_RUNS = 5;
const DEPLOYMENT_RUNS = 21;
const REPLICAS = 100;
const ROLLED_REPLICAS = 20;
const ROUNDS = 5;
const CURLS = 50;

/** What was measured several times, with the CPU time of all processes of the cluster for each. */
export interface Measured {
  readonly times: readonly number[];
  readonly cpuMs: readonly number[];
}

/** Does `act` some times, each between `before` and `after`, which are not measured. */
async function repeat(
  cluster: WorkloadCluster,
  count: number,
  act: (index: number) => Promise<number>,
  after: (index: number) => Promise<void>,
): Promise<Measured> {
  const times: number[] = [];
  const cpuMs: number[] = [];
  for (let i = 0; i < count; i++) {
    const beforeMs = cluster.cpuMs;
    times.push(await act(i));
    cpuMs.push(cluster.cpuMs - beforeMs);
    await after(i);
  }
  return { times, cpuMs };
}

/** ms from the call that creates a Deployment of one replica until a client sees its pod Running. */
export async function oneReplica(cluster: WorkloadCluster): Promise<Measured> {
  const runs = (prefix: string, count: number) =>
    repeat(
      cluster,
      count,
      async (i) => {
        const startedMs = await cluster.createDeployment(`${prefix}-${i}`, 1, IMAGE);
        return (await cluster.running(`${prefix}-${i}`, 1)) - startedMs;
      },
      (i) => cluster.remove(`${prefix}-${i}`),
    );
  await runs("warm", WARM_UP_RUNS);
  return runs("one", DEPLOYMENT_RUNS);
}

export interface ManyReplicas extends Measured {
  /** of all processes, with the pods running */
  readonly pssMb: number;
  /** of each process */
  readonly each: readonly number[];
}

/** ms until all replicas of one Deployment run; the first round warms up. */
export async function manyReplicas(cluster: WorkloadCluster): Promise<ManyReplicas> {
  let each: readonly number[] = [];
  const runs = await repeat(
    cluster,
    ROUNDS + 1,
    async (i) => {
      const startedMs = await cluster.createDeployment(`many-${i}`, REPLICAS, IMAGE);
      return (await cluster.running(`many-${i}`, REPLICAS)) - startedMs;
    },
    async (i) => {
      await cluster.rolledOut(`many-${i}`);
      if (i === 0) each = cluster.pids.map((pid) => pssMb([pid]));
      await cluster.remove(`many-${i}`);
    },
  );
  const pods = (values: readonly number[]) => values.map((ms) => ms / REPLICAS);
  return {
    times: runs.times.slice(1),
    cpuMs: pods(runs.cpuMs.slice(1)),
    each,
    pssMb: each.reduce((sum, one) => sum + one, 0),
  };
}

/** ms of a rolling update with the default surge, as `kubectl rollout restart` starts it and `rollout status` waits for it. */
export async function rollingUpdate(cluster: WorkloadCluster): Promise<Measured> {
  await cluster.createDeployment("rolled", ROLLED_REPLICAS, IMAGE);
  await cluster.rolledOut("rolled");
  const update = async () => {
    const startedMs = await cluster.restart("rolled");
    return (await cluster.rolledOut("rolled")) - startedMs;
  };
  const settled = async () => {
    await cluster.pods.until((pods) => pods.length === ROLLED_REPLICAS);
  };
  await repeat(cluster, 1, update, settled);
  const { times, cpuMs } = await repeat(cluster, ROUNDS, update, settled);
  await cluster.remove("rolled");
  return { times, cpuMs: cpuMs.map((ms) => ms / ROLLED_REPLICAS) };
}

/** What curl itself prints for a request to a Service, by name and from another pod; and the CPU time with the start of the program. */
export async function curlByName(cluster: WorkloadCluster): Promise<Measured> {
  const { client } = cluster;
  await cluster.createDeployment("web", 2, IMAGE);
  await cluster.createDeployment("tool", 1, "nettool");
  await client.expect({
    method: "POST",
    path: "/api/v1/namespaces/default/services",
    body: { metadata: { name: "web" }, spec: { selector: { app: "web" }, ports: [{ port: 80 }] } },
  });
  await Promise.all([cluster.rolledOut("web"), cluster.rolledOut("tool")]);
  const pod = cluster.pods.objects.find(({ metadata }) => metadata.labels?.["app"] === "tool")?.metadata.name ?? "";
  const shell = (script: string) => cluster.exec(pod, ["sh", "-c", script]);
  const url = "http://web";
  await shell(`until curl -s -o /dev/null ${url}; do sleep 0.1; done`);
  const curls = async () => {
    const text = await shell(`for i in $(seq ${CURLS}); do curl -s -o /dev/null -w '%{time_total}\\n' ${url}; done`);
    return text
      .trim()
      .split("\n")
      .map((seconds) => Number(seconds) * 1_000);
  };
  await curls();
  const before = cluster.cpuMs;
  const times = await curls();
  const cpuMs = [(cluster.cpuMs - before) / times.length];
  await client.expect({ method: "DELETE", path: "/api/v1/namespaces/default/services/web" });
  await Promise.all([cluster.remove("web"), cluster.remove("tool")]);
  return { times, cpuMs };
}

/** ms until `cluster up` prints that it is ready, and the CPU time until then, without and with a node. */
export async function startUp(
  clis: readonly string[],
  nodes: number,
  rounds: number,
): Promise<ReadonlyMap<string, Measured>> {
  const measured = new Map(clis.map((cli) => [cli, { times: [] as number[], cpuMs: [] as number[] }]));
  for (let round = 0; round < rounds; round++) {
    for (const cli of clis) {
      await using cluster = await WorkloadCluster.start(cli, nodes);
      measured.get(cli)?.cpuMs.push(usageOf(cluster.pids)?.cpuMs ?? Number.NaN);
      measured.get(cli)?.times.push(cluster.readyMs);
    }
  }
  return measured;
}
