import { NodeAgent } from "../../src/kubelet/app/node-agent.js";
import type { KubeObject } from "../../src/staging/apimachinery/api/meta.js";
import { reflect } from "../../src/staging/client-go/cache/reflect.js";
import type { KubeClient, RestConfig } from "../../src/staging/client-go/rest/client.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import type { Ctx } from "../../src/trace/ctx.js";
import { Trace } from "../../src/trace/trace.js";
import type { Clock } from "../../src/util/clock.js";
import type { Random } from "../../src/util/random.js";

export interface PlayedPod extends KubeObject {
  readonly spec: {
    readonly nodeName?: string;
    readonly restartPolicy?: string;
    readonly containers: readonly { readonly name: string; readonly image: string }[];
  };
  readonly status?: { readonly phase?: string };
}

/** Containers take this long to end, so that a client can see the pod terminate. */
const CONTAINERS_END_MS = 300;

/**
 * A node for tests: Ready, with a lease, and pods that "run" at once. It reports simulated pod statuses over HTTPS, as
 * a kubelet would: Running and Ready; Succeeded with restartPolicy Never; deleted with grace period 0 on request.
 */
export class PlayNode {
  readonly #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  private constructor(
    readonly name: string,
    readonly client: KubeClient,
    readonly agent: NodeAgent,
    readonly deps: Ctx,
  ) {}

  static async start(
    config: RestConfig,
    deps: { readonly clock: Clock; readonly random: Random },
    name: string,
  ): Promise<PlayNode> {
    const all = { ...deps, trace: new Trace(deps.clock) };
    const resources = { cpu: "4", memory: "8Gi", pods: "110" };
    const agent = new NodeAgent(config, all, { nodeName: name, kubeVersion: "1.25", resources });
    const node = new PlayNode(name, createClient(config, { ...all, actor: "kubelet" }), agent, all);
    const { signal } = node.#stop;
    await agent.start(signal);
    const loops = [agent.renewLoop(signal), agent.heartbeat.run(signal), node.#followPods(signal)];
    node.#running = Promise.allSettled(loops);
    return node;
  }

  async #followPods(signal: AbortSignal): Promise<void> {
    const options = { path: "/api/v1/pods", fieldSelector: `spec.nodeName=${this.name}` };
    for await (const event of reflect<PlayedPod>({ ...this.deps, client: this.client }, options, signal)) {
      if (event.type === "applied") await this.#sync(event.object, signal);
    }
  }

  async #sync(pod: PlayedPod, signal: AbortSignal): Promise<void> {
    const { namespace = "", name = "", uid = "", deletionTimestamp } = pod.metadata;
    const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
    if (deletionTimestamp !== undefined) {
      await this.deps.clock.sleep(CONTAINERS_END_MS, signal);
      const body = { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 0, preconditions: { uid } };
      await this.client.request({ method: "DELETE", path, body, signal });
    } else if (pod.status?.phase === "Pending") {
      const body = { metadata: { uid }, status: statusOf(pod, new Date(this.deps.clock.now())) };
      const contentType = "application/strategic-merge-patch+json";
      await this.client.request({ method: "PATCH", path: `${path}/status`, body, contentType, signal });
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.agent.close();
    await this.client.close();
  }
}

/** The status of a pod whose containers started well or, if they never restart, succeeded. */
function statusOf({ spec }: PlayedPod, now: Date) {
  const time = `${now.toISOString().slice(0, 19)}Z`;
  const isOver = spec.restartPolicy === "Never";
  const condition = (type: string, isTrue: boolean) => ({
    type,
    status: isTrue ? "True" : "False",
    lastTransitionTime: time,
    ...(isTrue ? {} : { reason: "PodCompleted" }),
  });
  const state = isOver
    ? { terminated: { exitCode: 0, reason: "Completed", startedAt: time, finishedAt: time } }
    : { running: { startedAt: time } };
  return {
    phase: isOver ? "Succeeded" : "Running",
    conditions: [
      condition("Initialized", true),
      condition("Ready", !isOver),
      condition("ContainersReady", !isOver),
      condition("PodScheduled", true),
    ],
    hostIP: "192.0.2.1",
    podIP: "10.244.0.7",
    podIPs: [{ ip: "10.244.0.7" }],
    startTime: time,
    containerStatuses: spec.containers.map(({ name, image }) => ({
      name,
      image,
      imageID: "",
      containerID: "",
      ready: !isOver,
      started: !isOver,
      restartCount: 0,
      state,
      lastState: {},
    })),
  };
}
