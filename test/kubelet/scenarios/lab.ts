import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ControlPlane } from "../../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../../src/cluster/control-plane/start.js";
import type { RuntimeControl } from "../../../src/cluster/runtime/control/control.js";
import { podVolumeDir } from "../../../src/kubelet/volumes/paths.js";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import type { KubeClient } from "../../../src/staging/client-go/rest/client.js";
import { createClient } from "../../../src/staging/client-go/rest/create-client.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { FlakyLink } from "./flaky-link.js";
import { LabNode, type LabNodeOptions, NODE_NAME } from "./lab-node.js";
import { PodHistory } from "./pod-history.js";

/** So many times as fast as the wall: a crash loop's first minutes take seconds. */
export const SPEED = 25;
export const IMAGE = "busybox:1.36";
/** Ends when it is asked to. */
export const SERVE = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 1; done"];

/** A cluster of one node, on a fast clock, with a watcher of its pods. */
export class Lab {
  private constructor(
    readonly clock: SystemClock,
    readonly controlPlane: ControlPlane,
    readonly node: LabNode,
    readonly link: FlakyLink,
    readonly client: KubeClient,
    readonly history: PodHistory,
  ) {}

  /** @param given a clock, and a trace of the kubelet for who wants to hear it */
  static async start(
    options: LabNodeOptions & { readonly speed?: number } = {},
    given: { readonly clock?: SystemClock; readonly trace?: Trace } = {},
  ): Promise<Lab> {
    const clock = given.clock ?? new SystemClock(options.speed ?? SPEED);
    const deps = { clock, random: new SystemRandom() };
    const trace = new Trace(clock);
    const controlPlane = await startControlPlane({ ...deps, trace, kubeVersion: options.kubeVersion ?? "1.25" });
    const link = await FlakyLink.open(controlPlane.url);
    const heard = given.trace === undefined ? {} : { trace: given.trace };
    const node = await LabNode.make(
      controlPlane,
      { ...deps, ...heard },
      { images: [IMAGE], server: link.url, ...options },
    );
    await node.start();
    const client = createClient(controlPlane.admin, { ...deps, trace, actor: "user" });
    const history = await PodHistory.follow(client);
    return new Lab(clock, controlPlane, node, link, client, history);
  }

  get runtime(): RuntimeControl {
    return this.node.runtime.control;
  }

  /** IDs of the containers of a pod, in any state, oldest first. */
  containersOf(podName: string) {
    return this.runtime
      .snapshot()
      .sandboxes.filter(({ name }) => name === podName)
      .flatMap(({ containers }) => containers);
  }

  /** Waits until the runtime has no container of the pod that runs. */
  untilNothingRuns(podName: string): Promise<void> {
    return this.untilRuntime(() => this.containersOf(podName).every(({ state }) => state !== "running"));
  }

  /** Waits until `holds`, which is asked at each change in the runtime. */
  async untilRuntime(holds: () => boolean): Promise<void> {
    const stop = new AbortController();
    const changes = this.runtime.changes(stop.signal);
    try {
      // The first change is asked for before the state is looked at: none is missed.
      let next = changes.next();
      while (!holds()) {
        if ((await next).done === true)
          throw new Error("the runtime ended before it had the state that was waited for");
        next = changes.next();
      }
      next.catch(() => undefined);
    } finally {
      stop.abort();
    }
  }

  /** The one that runs. */
  running(podName: string, containerName = "c") {
    const found = this.containersOf(podName).filter(({ name, state }) => name === containerName && state === "running");
    assert.equal(found.length, 1, `running containers ${containerName} of ${podName}`);
    return found[0] as (typeof found)[number];
  }

  sandboxOf(podName: string) {
    const found = this.runtime.snapshot().sandboxes.filter(({ name, state }) => name === podName && state === "ready");
    assert.equal(found.length, 1, `sandboxes of ${podName} that are ready`);
    return found[0] as (typeof found)[number];
  }

  async create(path: string, body: object): Promise<void> {
    await this.client.expect({ method: "POST", path, body });
  }

  createPod(pod: object, namespace = "default"): Promise<void> {
    return this.create(`/api/v1/namespaces/${namespace}/pods`, pod);
  }

  async deletePod(name: string, gracePeriodSeconds?: number, namespace = "default"): Promise<void> {
    const body = {
      kind: "DeleteOptions",
      apiVersion: "v1",
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    };
    await this.client.expect({ method: "DELETE", path: `/api/v1/namespaces/${namespace}/pods/${name}`, body });
  }

  /** Reasons of the events about a pod so far, once each. */
  async events(podName: string): Promise<readonly string[]> {
    const path = "/api/v1/namespaces/default/events";
    const query = { fieldSelector: `involvedObject.name=${podName}` };
    const { items } = await this.client.expect<{ items: (KubeObject & { reason: string })[] }>({
      method: "GET",
      path,
      query,
    });
    return [...new Set(items.map(({ reason }) => reason))];
  }

  /** Waits until such an event about the pod has been written. */
  async untilEvent(podName: string, reason: string): Promise<void> {
    const stop = new AbortController();
    const query = { fieldSelector: `involvedObject.name=${podName},reason=${reason}` };
    for await (const { type } of this.client.watch("/api/v1/namespaces/default/events", query, stop.signal)) {
      if (type === "ADDED") stop.abort();
    }
  }

  async node1(): Promise<KubeObject & { status: { conditions: { type: string; status: string; message: string }[] } }> {
    return this.client.expect({ method: "GET", path: `/api/v1/nodes/${NODE_NAME}` });
  }

  /** Waits until the node's condition is this. @returns its message */
  async untilNode(status: "True" | "False" | "Unknown", condition = "Ready"): Promise<string> {
    const signal = new AbortController();
    const query = { fieldSelector: `metadata.name=${NODE_NAME}` };
    const events = this.client.watch<Awaited<ReturnType<Lab["node1"]>>>("/api/v1/nodes", query, signal.signal);
    try {
      for await (const { object } of events) {
        const found = object.status.conditions.find(({ type }) => type === condition);
        if (found?.status === status) return found.message;
      }
      throw new Error("the watch ended");
    } finally {
      signal.abort();
    }
  }

  async close(): Promise<void> {
    await this.history.close();
    await this.client.close();
    this.link.mend();
    this.runtime.clearFaults();
    await this.node.close();
    await this.link.close();
    await this.controlPlane.close();
  }
}

/** A pod on this node with one container `c` that serves, unless told otherwise. */
export function pod(name: string, spec: object = {}, container: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: {
      nodeName: NODE_NAME,
      terminationGracePeriodSeconds: 2,
      automountServiceAccountToken: false,
      containers: [{ name: "c", image: IMAGE, command: SERVE, ...container }],
      ...spec,
    },
  };
}

/** A volume through which a test tells a pod's containers something, so that they need not go by the time. */
export const SIGNS = { volumes: [{ name: "signs", emptyDir: {} }] };
export const SEES_SIGNS = { volumeMounts: [{ name: "signs", mountPath: "/signs" }] };

/** A step: makes `/signs/up`, or removes it. */
export const sign = (what: "up" | "down") => (lab: Lab, podName: string) => {
  const { uid } = lab.history.pod(podName).metadata;
  const file = join(podVolumeDir(lab.node.rootDir, uid, "kubernetes.io/empty-dir", "signs"), "up");
  return what === "up" ? writeFile(file, "") : rm(file);
};

/** Looks for the sign. A minute of the lab's clock: a busy machine takes its time for an exec. */
export const FOR_SIGN = { exec: { command: ["cat", "/signs/up"] }, periodSeconds: 1, timeoutSeconds: 60 };

export const shell = (script: string) => ({ command: ["sh", "-c", script] });

/** What is seen next of the scenario's pod, maybe after other lines; or what somebody does. */
export type Step = string | RegExp | ((lab: Lab, podName: string) => void | Promise<void>);

export interface Scenario {
  readonly name: string;
  readonly pod: (name: string) => object;
  readonly steps: readonly Step[];
  /** no line may look like this */
  readonly never?: RegExp;
}

let count = 0;

/** Plays one scenario. @throws AssertionError with all that was seen when a step did not come */
export async function play(lab: Lab, scenario: Scenario): Promise<void> {
  const name = `pod-${count++}`;
  await lab.createPod(scenario.pod(name));
  await playSteps(lab, name, scenario.steps);
  const { never } = scenario;
  if (never !== undefined)
    assert.deepEqual(
      lab.history.lines(name).filter((line) => never.test(line)),
      [],
    );
}

export async function playSteps(lab: Lab, name: string, steps: readonly Step[]): Promise<void> {
  let from = 0;
  for (const step of steps) {
    if (typeof step === "function") {
      await step(lab, name);
      // What somebody does is answered by lines that come after it.
      continue;
    }
    const seen = lab.history.until(name, step, from);
    from = await withinSeconds(20, seen, () => `${step} of ${name}; seen:\n  ${lab.history.lines(name).join("\n  ")}`);
  }
}

async function withinSeconds<T>(seconds: number, promise: Promise<T>, what: () => string): Promise<T> {
  const stop = new AbortController();
  const late = new SystemClock().sleep(seconds * 1_000, stop.signal).then(
    () => assert.fail(`not seen: ${what()}`),
    () => undefined as never,
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    stop.abort();
  }
}
