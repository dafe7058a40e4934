import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { startControlPlane } from "../../src/cluster/control-plane/start.js";
import type { KubeClient } from "../../src/staging/client-go/rest/client.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import { Trace, type TraceSink } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { LabNode } from "../../test/kubelet/scenarios/lab-node.js";
import { PodWatcher } from "./watcher.js";

const IMAGE = "busybox:1.36";

export interface BenchCluster extends AsyncDisposable {
  readonly client: KubeClient;
  readonly watcher: PodWatcher;
  readonly node: LabNode;
}

export interface BenchClusterOptions {
  readonly sink?: TraceSink;
  /** where the folder of the pods' files is made; default: where `kubelab node` keeps them */
  readonly under?: string;
}

/** All in one process, as `kubelab node` has it: control plane, kubelet, runtime, and the client that watches. */
export async function startBenchCluster({
  sink,
  under = stateFolder(),
}: BenchClusterOptions = {}): Promise<BenchCluster> {
  const clock = new SystemClock();
  const random = new SystemRandom();
  const trace = new Trace(clock);
  if (sink !== undefined) trace.addSink(sink);
  const controlPlane = await startControlPlane({ clock, random, trace, kubeVersion: "1.25" });
  const resources = { cpu: "100", memory: "32Gi", pods: "110" };
  await mkdir(under, { recursive: true });
  const rootDir = await mkdtemp(join(under, "kubelab-bench-"));
  const node = await LabNode.make(controlPlane, { clock, random, trace }, { resources, rootDir, images: [IMAGE] });
  await node.start();
  const client = createClient(controlPlane.admin, { clock, random, trace: new Trace(clock), actor: "user" });
  const watcher = await PodWatcher.start(client);
  const close = async () => {
    await watcher.close();
    await client.close();
    await node.close();
    await controlPlane.close();
    await rm(rootDir, { recursive: true, force: true });
  };
  return { client, watcher, node, [Symbol.asyncDispose]: close };
}

/** Where `kubelab node` keeps its files too. */
export function stateFolder(): string {
  return process.env["XDG_STATE_HOME"] ?? join(homedir(), ".local", "state");
}

/** @returns performance.now() of the call */
export async function createPod(client: KubeClient, name: string): Promise<number> {
  const startedMs = performance.now();
  const container = { name: "c", image: IMAGE, command: ["sleep", "infinity"], imagePullPolicy: "IfNotPresent" };
  const spec = { containers: [container], terminationGracePeriodSeconds: 1 };
  const body = { apiVersion: "v1", kind: "Pod", metadata: { name }, spec };
  await client.expect({ method: "POST", path: "/api/v1/namespaces/default/pods", body });
  return startedMs;
}

export async function deletePods(client: KubeClient, watcher: PodWatcher, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await client.expect({ method: "DELETE", path: `/api/v1/namespaces/default/pods/${name}` });
  }
  await Promise.all(names.map((name) => watcher.gone(name)));
}
