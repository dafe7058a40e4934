import type { KubeObject } from "../../src/staging/apimachinery/api/meta.js";
import { execUrl } from "../../src/staging/client-go/remotecommand/exec-url.js";
import { openRemoteCommand } from "../../src/staging/client-go/remotecommand/executor.js";
import type { KubeClient, RestConfig } from "../../src/staging/client-go/rest/client.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { embeddedTarget, usageOf } from "../apiserver/target.js";
import { familyOf } from "./memory.js";
import { Watched } from "./watched.js";

export type Pod = KubeObject & { readonly status?: { readonly phase?: string } };

export type Deployment = KubeObject & {
  readonly spec: { readonly replicas: number };
  readonly status?: Readonly<Record<string, number>>;
};

const clock = new SystemClock();
const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };
const never = new AbortController().signal;

const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";
const PODS = "/api/v1/namespaces/default/pods";

/** What is done to Deployments, whatever process they run in. */
export class WorkloadClient implements AsyncDisposable {
  readonly client: KubeClient;
  readonly pods: Watched<Pod>;
  readonly deployments: Watched<Deployment>;
  /** of the last write of each Deployment */
  readonly #generations = new Map<string, number>();

  constructor(readonly config: RestConfig) {
    this.client = createClient(config, { ...deps, actor: "user" });
    this.pods = new Watched({ ...deps, client: this.client }, PODS);
    this.deployments = new Watched({ ...deps, client: this.client }, DEPLOYMENTS);
  }

  /** As `kubectl create deployment` sends it. @returns performance.now() of the call */
  async createDeployment(name: string, replicas: number, image: string): Promise<number> {
    const labels = { app: name };
    const template = { metadata: { labels }, spec: { containers: [{ name: "c", image }] } };
    const spec = { replicas, selector: { matchLabels: labels }, template };
    const startedMs = performance.now();
    const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, labels }, spec };
    this.#wrote(await this.client.expect<Deployment>({ method: "POST", path: DEPLOYMENTS, body }));
    return startedMs;
  }

  /** @returns performance.now() */
  running(name: string, count: number): Promise<number> {
    return this.pods.until(
      (pods) => podsOf(pods, name).filter(({ status }) => status?.phase === "Running").length === count,
    );
  }

  /** As `kubectl rollout restart` does. @returns performance.now() of the call */
  async restart(name: string): Promise<number> {
    const startedMs = performance.now();
    const annotations = { "kubectl.kubernetes.io/restartedAt": String(startedMs) };
    const written = await this.client.expect<Deployment>({
      method: "PATCH",
      path: `${DEPLOYMENTS}/${name}`,
      contentType: "application/strategic-merge-patch+json",
      body: { spec: { template: { metadata: { annotations } } } },
    });
    this.#wrote(written);
    return startedMs;
  }

  #wrote({ metadata }: Deployment): void {
    this.#generations.set(metadata.name ?? "", metadata.generation ?? 0);
  }

  /** What `kubectl rollout status` waits for. @returns performance.now() */
  rolledOut(name: string): Promise<number> {
    const generation = this.#generations.get(name) ?? 0;
    const isDone = (one: Deployment) => one.metadata.name === name && isRolledOut(one, generation);
    return this.deployments.until((all) => all.some(isDone));
  }

  /** Deletes a Deployment and waits until its pods are gone. */
  async remove(name: string): Promise<void> {
    await this.client.expect({ method: "DELETE", path: `${DEPLOYMENTS}/${name}` });
    await this.pods.until((pods) => podsOf(pods, name).length === 0);
  }

  /** @returns what the command prints */
  async exec(pod: string, words: readonly string[]): Promise<string> {
    const options = { stdin: false, stdout: true, stderr: true, tty: false };
    const path = execUrl({ namespace: "default", name: pod, subresource: "exec", container: "c", words }, options);
    const stream = { config: this.config, ...deps, story: undefined };
    const request = { path, options, protocols: ["spdy"], showsFrames: false } as const;
    await using session = (await openRemoteCommand(stream, request, never)).session;
    let text = "";
    for await (const piece of session.stdout ?? []) text += Buffer.from(piece).toString();
    await session.status;
    return text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pods[Symbol.asyncDispose]();
    await this.deployments[Symbol.asyncDispose]();
    await this.client.close();
  }
}

function podsOf(pods: readonly Pod[], name: string): Pod[] {
  return pods.filter(({ metadata }) => metadata.labels?.["app"] === name);
}

function isRolledOut({ spec, status = {} }: Deployment, generation: number): boolean {
  const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  if (observedGeneration < generation) return false;
  return [replicas, updatedReplicas, availableReplicas].every((count) => count === spec.replicas);
}

/** `kubelab cluster up --nodes N` in a process of its own. */
export class WorkloadCluster extends WorkloadClient {
  private constructor(
    config: RestConfig,
    readonly readyMs: number,
    readonly pid: number,
    readonly close: () => Promise<void>,
  ) {
    super(config);
  }

  static async start(cli: string, nodes: number, nodeOptions: readonly string[] = []): Promise<WorkloadCluster> {
    const target = await embeddedTarget(cli, nodeOptions, ["--nodes", String(nodes)]);
    const [pid = 0] = target.pids;
    return new WorkloadCluster(target.config, target.readyMs ?? Number.NaN, pid, () => target.close());
  }

  /** all of its processes */
  get pids(): number[] {
    return familyOf(this.pid);
  }

  /** user and system time of all its processes so far */
  get cpuMs(): number {
    return usageOf(this.pids)?.cpuMs ?? Number.NaN;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    await this.close();
  }
}
