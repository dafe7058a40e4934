import { setTimeout as sleepMs } from "node:timers/promises";
import type { RestConfig } from "../../src/staging/client-go/rest/client.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { Load } from "../apiserver/load.js";

const REPLICAS = 100;
const POLL_MS = 250;
const PODS = "/api/v1/pods";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";

interface Listed {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly {
    readonly spec?: { readonly taints?: readonly unknown[] };
    readonly status?: {
      readonly readyReplicas?: number;
      readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    };
  }[];
}

/** What clients of a cluster of simulated nodes do. */
export class SimulatedLoad {
  private constructor(
    readonly requests: Load,
    readonly watches: Load,
    readonly client: ReturnType<typeof createClient>,
  ) {}

  static async open(config: RestConfig, watchers: number): Promise<SimulatedLoad> {
    const clock = new SystemClock();
    const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };
    const client = createClient(config, { ...deps, actor: "user" });
    return new SimulatedLoad(await Load.open(config, 1), await Load.open(config, watchers), client);
  }

  /** Ready, and without the taint of new nodes. @returns ms */
  async untilNodesReady(count: number): Promise<number> {
    return this.#until("/api/v1/nodes", ({ items }) => {
      const isReady = ({ spec, status }: Listed["items"][number]) =>
        (spec?.taints ?? []).length === 0 &&
        status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") === true;
      return items.filter(isReady).length >= count;
    });
  }

  /** Creates Deployments, and waits until all their pods are ready. */
  async startPods(count: number): Promise<{ readonly ms: number; readonly slowestAnswerMs: number }> {
    const startMs = performance.now();
    let isRunning = true;
    let slowestAnswerMs = 0;
    const probing = (async () => {
      while (isRunning) {
        const sentMs = performance.now();
        await this.requests.ask({ method: "GET", path: "/readyz" });
        slowestAnswerMs = Math.max(slowestAnswerMs, performance.now() - sentMs);
        await sleepMs(POLL_MS / 5);
      }
    })();
    for (let i = 0; i * REPLICAS < count; i++)
      await this.#createDeployment(i, Math.min(REPLICAS, count - i * REPLICAS));
    await this.#until(DEPLOYMENTS, ({ items }) => {
      return items.reduce((sum, { status }) => sum + (status?.readyReplicas ?? 0), 0) >= count;
    });
    const ms = performance.now() - startMs;
    isRunning = false;
    await probing;
    return { ms, slowestAnswerMs };
  }

  async #createDeployment(index: number, replicas: number): Promise<void> {
    const name = `web-${index}`;
    const labels = { app: name };
    const containers = [{ name: "c", image: "nginx", resources: { requests: { cpu: "100m", memory: "128Mi" } } }];
    const template = { metadata: { labels }, spec: { containers } };
    const spec = { replicas, selector: { matchLabels: labels }, template };
    const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name }, spec };
    const { status } = await this.client.request({ method: "POST", path: DEPLOYMENTS, body });
    if (status !== 201) throw new Error(`POST ${DEPLOYMENTS}: ${status}`);
  }

  async #until(path: string, isDone: (list: Listed) => boolean): Promise<number> {
    const startMs = performance.now();
    while (!isDone((await this.client.request<Listed>({ method: "GET", path })).body)) await sleepMs(POLL_MS);
    return performance.now() - startMs;
  }

  /** @returns ms until the last byte */
  async listPods(): Promise<number> {
    return (await this.requests.run(1, () => ({ method: "GET", path: PODS }))) * 1000;
  }

  /** Every watcher begins with what changes from now on. */
  watchPods(): void {
    for (const connection of this.watches.connections) {
      // It ends with the connection.
      void connection.request({ method: "GET", path: `${PODS}?watch=true&allowWatchBookmarks=true` }).catch(() => {});
    }
  }

  sleep(seconds: number): Promise<void> {
    return sleepMs(seconds * 1000);
  }

  close(): void {
    this.requests.close();
    this.watches.close();
  }
}
