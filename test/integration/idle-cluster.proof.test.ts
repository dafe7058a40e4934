import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ControlPlane } from "../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../src/cluster/control-plane/start.js";
import type { KubeClient } from "../../src/staging/client-go/rest/client.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import type { TraceEvent } from "../../src/trace/events.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemRandom } from "../../src/util/random.js";
import { podTemplate } from "../cluster/controllers/support/workload-stage.js";
import { LabNode } from "../kubelet/scenarios/lab-node.js";
import { FakeClock, settle } from "../support/fake-clock.js";

const DEPLOYMENTS = 50;
/** Every node has it. */
const IMAGE = "registry.k8s.io/pause:3.8";
const MINUTES = 10;
const PATH = "/apis/apps/v1/namespaces/default/deployments";

/** `system:node:node-1 get /api/v1/nodes/node-1`, and how often that was asked, of all clients by HTTPS and in the process. */
class Requests {
  readonly #users = new Map<string, string>();
  #counts = new Map<string, number>();

  write(event: TraceEvent): void {
    if (event.kind === "request" && (event.actor === "controller" || event.actor === "scheduler")) {
      this.#count(`${event.instance ?? event.actor} ${event.method} ${event.path}`);
    }
    if (event.kind !== "decision" || event.actor !== "apiserver" || event.auditId === undefined) return;
    const user = /^is (.*)/.exec(event.what)?.[1];
    if (user !== undefined) this.#users.set(event.auditId, user);
    const what = /^(?:allow|forbid) (.*)/.exec(event.what)?.[1];
    if (what !== undefined) this.#count(`${this.#users.get(event.auditId)} ${what.replace(/\?.*/, "")}`);
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  /** @returns those since the last call */
  take(): Record<string, number> {
    const taken = Object.fromEntries([...this.#counts].sort());
    this.#counts = new Map();
    return taken;
  }
}

/** Lets sockets have their turn in each second of the clock: more of them while pods start. */
async function pass(clock: FakeClock, seconds: number, turns: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    await clock.advance(1_000);
    await settle(turns);
  }
}

describe(`a cluster with ${DEPLOYMENTS} Deployments that nobody changes`, () => {
  const clock = new FakeClock();
  const requests = new Requests();
  let controlPlane: ControlPlane;
  let node: LabNode;
  let client: KubeClient;

  beforeAll(async () => {
    const deps = { clock, random: new SystemRandom() };
    const trace = new Trace(clock);
    trace.addSink({ level: 3, write: (event) => requests.write(event) });
    controlPlane = await startControlPlane({ ...deps, trace, kubeVersion: "1.25" });
    node = await LabNode.make(controlPlane, deps, { images: [IMAGE] });
    let isStarted = false;
    const starting = node.start().then(() => {
      isStarted = true;
    });
    while (!isStarted) await pass(clock, 1, 50);
    await starting;
    client = createClient(controlPlane.admin, { ...deps, trace: new Trace(clock), actor: "user" });
    for (let i = 0; i < DEPLOYMENTS; i++) {
      const labels = { app: `web-${i}` };
      const template = podTemplate({ labels, image: IMAGE });
      const spec = { replicas: 1, selector: { matchLabels: labels }, template };
      const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: `web-${i}` }, spec };
      await client.expect({ method: "POST", path: PATH, body });
    }
    while ((await available()) < DEPLOYMENTS) await pass(clock, 1, 500);
    // Events of the pods are written at a limited rate.
    await pass(clock, 120, 20);
  }, 240_000);

  afterAll(async () => {
    await client.close();
    await node.close();
    await controlPlane.close();
  });

  async function available(): Promise<number> {
    const { items } = await client.expect<{ items: { status?: { availableReplicas?: number } }[] }>({
      method: "GET",
      path: PATH,
    });
    return items.filter(({ status }) => status?.availableReplicas === 1).length;
  }

  test("only its node asks for something: its heartbeats, and watches that end by themselves", async () => {
    requests.take();
    await pass(clock, MINUTES * 60, 20);
    const seen = Object.entries(requests.take());
    const isWatch = ([what]: readonly [string, number]) => what.includes(" watch ");
    const node = "system:node:node-1";
    const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1";
    expect(
      seen.filter((one) => !isWatch(one)).map(([what, count]) => `${what}: ${Math.round(count / MINUTES)} a minute`),
    ).toEqual([
      `${node} get /api/v1/nodes/node-1: 6 a minute`,
      // A status that does not change is written every five minutes.
      `${node} patch /api/v1/nodes/node-1/status: 0 a minute`,
      `${node} update ${lease}: 6 a minute`,
    ]);
    // Each ends after five to ten minutes.
    for (const [what, count] of seen.filter(isWatch)) {
      expect([what.startsWith(`${node} watch `), count <= 2], `${what}: ${count} in ${MINUTES} minutes`).toEqual([
        true,
        true,
      ]);
    }
  }, 240_000);
});
