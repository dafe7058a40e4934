import assert from "node:assert/strict";
import { afterEach, describe, test } from "vitest";
import { Lab, play, playSteps, pod, type Step, shell } from "./lab.js";
import type { LabNodeOptions } from "./lab-node.js";

const RUNS = "Running Ready c=running*/0";

interface FaultScenario {
  readonly name: string;
  readonly options?: LabNodeOptions;
  readonly pod?: (name: string) => object;
  readonly steps: readonly Step[];
  readonly never?: RegExp;
}

const passing = (ms: number) => (lab: Lab) => lab.clock.sleep(ms);
const cut = (lab: Lab) => lab.link.cut();
const mend = (lab: Lab) => lab.link.mend();
const kill = (options: object) => (lab: Lab, name: string) =>
  lab.runtime.killContainer(lab.running(name).containerId, options);
/** Everything that the kubelet asks of the runtime fails, or is not answered. */
const runtimeGone = (lab: Lab) => lab.runtime.setFault("*", { fail: { code: "Unavailable", message: "no runtime" } });
const runtimeHangs = (lab: Lab) => lab.runtime.setFault("ListPodSandbox", { hangs: true });
const runtimeBack = (lab: Lab) => lab.runtime.clearFaults();
/** A node that is NotReady says why in its condition. */
const node = (ready: "True" | "False", message: RegExp) => async (lab: Lab) => {
  assert.match(await lab.untilNode(ready), message);
};
const containers = new Map<string, string>();
const noteContainer = (lab: Lab, name: string) => {
  containers.set(name, lab.running(name).containerId);
};
/** No second copy: the very container that ran before, and no other. */
const sameContainer = (lab: Lab, name: string) => {
  assert.deepEqual(
    lab.containersOf(name).map(({ containerId }) => containerId),
    [containers.get(name)],
  );
};
const restart = async (lab: Lab) => {
  await lab.node.stop();
  await lab.node.start();
};
const another = (name: string) => async (lab: Lab) => {
  await lab.createPod(pod(name));
  await lab.history.until(name, RUNS);
};

const SCENARIOS: readonly FaultScenario[] = [
  {
    name: "API server gone for a minute: the pod runs on, and its status comes afterwards",
    steps: [
      RUNS,
      noteContainer,
      cut,
      passing(60_000),
      sameContainer,
      kill({ exitCode: 3 }),
      passing(5_000),
      mend,
      "Running Ready c=running*/1",
    ],
    never: /Failed/,
  },
  {
    name: "a pod that ends while the API server is gone: no lost final status",
    pod: (name) => pod(name, { restartPolicy: "Never" }),
    steps: [RUNS, cut, kill({ exitCode: 7 }), passing(60_000), mend, "Failed c=Error(7)/0"],
  },
  {
    name: "a pod that is deleted while the kubelet has no API server",
    steps: [
      RUNS,
      cut,
      (lab, name) => lab.deletePod(name),
      passing(20_000),
      mend,
      "gone",
      (lab, name) => lab.untilNothingRuns(name),
    ],
  },
  {
    name: "a watch that breaks every second: nothing is missed, nothing is done twice",
    steps: [
      RUNS,
      noteContainer,
      async (lab) => {
        for (let i = 0; i < 20; i++) {
          lab.link.breakConnections();
          await lab.clock.sleep(1_000);
        }
      },
      another("after-breaks"),
      sameContainer,
    ],
  },
  {
    name: "410: what the watch would resume from is gone; a new list says what is",
    steps: [
      RUNS,
      noteContainer,
      cut,
      (lab, name) => lab.deletePod(name, 0),
      async (lab) => {
        // Two compactions, each with something written before it.
        for (let i = 0; i < 3; i++) {
          await lab.create("/api/v1/namespaces", { metadata: { name: `n-${i}` } });
          lab.clock.setSpeed(10_000);
          await lab.clock.sleep(301_000);
          lab.clock.setSpeed(25);
        }
      },
      mend,
      another("after-410"),
      (lab, name) => lab.untilNothingRuns(name),
    ],
  },
  {
    name: "the clock jumps an hour ahead: everything goes on",
    steps: [
      RUNS,
      noteContainer,
      async (lab) => {
        lab.clock.setSpeed(100_000);
        await lab.clock.sleep(3_600_000);
        lab.clock.setSpeed(25);
      },
      another("after-jump"),
      sameContainer,
    ],
  },
  {
    name: "the runtime is gone: NotReady, with the reason; back, Ready without a restart",
    steps: [
      RUNS,
      noteContainer,
      runtimeGone,
      node("False", /container runtime is down/),
      runtimeBack,
      node("True", /kubelet is posting ready status/),
      another("after-outage"),
      sameContainer,
    ],
    never: /c=(?!running|ContainerCreating)/,
  },
  {
    name: "the runtime does not answer: PLEG is not healthy, NotReady; it recovers",
    steps: [
      RUNS,
      noteContainer,
      runtimeHangs,
      node("False", /PLEG is not healthy: pleg was last seen active \S+ ago; threshold is 3m0s/),
      runtimeBack,
      node("True", /kubelet is posting ready status/),
      another("after-hang"),
      sameContainer,
    ],
  },
  {
    name: "the network of the runtime is not ready: NotReady, pods wait, then they run",
    steps: [
      RUNS,
      (lab) => lab.runtime.setCondition("NetworkReady", "cni plugin not initialized"),
      node(
        "False",
        /container runtime network not ready: NetworkReady=false reason:\S* message:cni plugin not initialized/,
      ),
      (lab) => lab.createPod(pod("waits")),
      (lab) => lab.history.until("waits", "Pending c=ContainerCreating/0").then(() => undefined),
      (lab) => lab.runtime.setCondition("NetworkReady", undefined),
      (lab) => lab.history.until("waits", RUNS).then(() => undefined),
    ],
  },
  {
    name: "the kubelet is killed and started again: it adopts the pod, no second copy",
    steps: [RUNS, noteContainer, restart, another("after-restart"), sameContainer],
    never: /\/1/,
  },
  {
    name: "killed in the middle of a pull and started again: one container",
    options: { pullMs: 5_000, images: [] },
    steps: ["Pending c=ContainerCreating/0", restart, RUNS, noteContainer, sameContainer],
  },
  {
    name: "a pod that ended while no kubelet looked",
    pod: (name) => pod(name, { restartPolicy: "Never" }),
    steps: [
      RUNS,
      (lab) => lab.node.stop(),
      kill({ exitCode: 9 }),
      async (lab) => void (await lab.node.start()),
      "Failed c=Error(9)/0",
    ],
  },
  {
    name: "a pod that was deleted while no kubelet looked",
    steps: [
      RUNS,
      (lab) => lab.node.stop(),
      (lab, name) => lab.deletePod(name, 0),
      "gone",
      async (lab) => void (await lab.node.start()),
      (lab, name) => lab.untilNothingRuns(name),
    ],
  },
  {
    name: "stopped while it starts: nothing is left, and the next start works",
    steps: [
      RUNS,
      noteContainer,
      async (lab) => {
        await lab.node.stop();
        const stop = new AbortController();
        const starting = lab.node.start(stop.signal);
        setImmediate(() => stop.abort());
        await assert.rejects(starting, { name: "AbortError" });
        await lab.node.stop();
        await lab.node.start();
      },
      another("after-sigterm"),
      sameContainer,
    ],
  },
  {
    name: "the Node object is deleted: the pod goes with it, a restarted kubelet registers again",
    steps: [
      RUNS,
      (lab) => lab.client.expect({ method: "DELETE", path: "/api/v1/nodes/node-1" }).then(() => undefined),
      restart,
      node("True", /kubelet is posting ready status/),
      another("after-deletion"),
    ],
  },
  {
    name: "a taint NoExecute that the pod does not tolerate: it is deleted",
    steps: [
      RUNS,
      (lab) =>
        lab.client
          .expect({
            method: "PATCH",
            path: "/api/v1/nodes/node-1",
            contentType: "application/merge-patch+json",
            body: { spec: { taints: [{ key: "k", value: "v", effect: "NoExecute" }] } },
          })
          .then(() => undefined),
      "gone",
    ],
  },
  {
    name: "a pod that does not tolerate the node's taint is not let in",
    pod: (name) => pod(name, {}, shell("exit 0")),
    steps: [
      /Completed/,
      async (lab) => {
        const taints = [{ key: "k", value: "v", effect: "NoExecute" }];
        const body = { spec: { taints } };
        const contentType = "application/merge-patch+json";
        await lab.client.expect({ method: "PATCH", path: "/api/v1/nodes/node-1", contentType, body });
        await lab.createPod(pod("kept-out", { tolerations: [{ key: "other", operator: "Exists" }] }));
        await Promise.race([
          lab.history.until("kept-out", /^Failed\(NodeAffinity|^Failed\(Taint/),
          lab.history.until("kept-out", "gone"),
        ]);
        assert.ok(!lab.history.lines("kept-out").some((line) => /running/.test(line)));
      },
    ],
  },
  {
    name: "the eviction API ends a pod with its grace",
    steps: [
      RUNS,
      (lab, name) =>
        lab.create(`/api/v1/namespaces/default/pods/${name}/eviction`, {
          apiVersion: "policy/v1",
          kind: "Eviction",
          metadata: { name, namespace: "default" },
        }),
      /ending/,
      "gone",
    ],
  },
  {
    name: "a namespace is deleted with the pods in it",
    steps: [
      RUNS,
      async (lab) => {
        await lab.create("/api/v1/namespaces", { metadata: { name: "doomed" } });
        await lab.create("/api/v1/namespaces/doomed/serviceaccounts", { metadata: { name: "builder" } });
        await lab.createPod(pod("inside", { serviceAccountName: "builder" }), "doomed");
        await lab.history.until("inside", RUNS);
        await lab.client.expect({ method: "DELETE", path: "/api/v1/namespaces/doomed" });
        await lab.history.until("inside", "gone");
        await lab.untilNothingRuns("inside");
      },
    ],
  },
  {
    name: "a pod that is deleted while its image is pulled",
    options: { pullMs: 600_000, images: [] },
    steps: ["Pending c=ContainerCreating/0", (lab, name) => lab.deletePod(name), "gone"],
    never: /c=running/,
  },
  {
    name: "a runtime that fails to make sandboxes twice: the third works",
    steps: [
      (lab) =>
        lab.runtime.setFault("RunPodSandbox", { fail: { code: "Unknown", message: "no address left" }, count: 2 }),
      RUNS,
      async (lab, name) => assert.ok((await lab.events(name)).includes("FailedCreatePodSandBox")),
    ],
  },
];

describe("what a watcher sees of a pod when something breaks", () => {
  let lab: Lab | undefined;
  afterEach(async () => {
    await lab?.close();
    lab = undefined;
  });

  for (const scenario of SCENARIOS) {
    test(scenario.name, async () => {
      const own = await Lab.start(scenario.options);
      lab = own;
      const name = "web";
      const make = scenario.pod ?? pod;
      // A fault may have to be there before the pod is.
      const early = scenario.steps.findIndex((step) => typeof step !== "function");
      await playSteps(own, name, scenario.steps.slice(0, early));
      await own.createPod(make(name));
      await playSteps(own, name, scenario.steps.slice(early));
      const { never } = scenario;
      if (never !== undefined)
        assert.deepEqual(
          own.history.lines(name).filter((line) => never.test(line)),
          [],
        );
      assert.equal(own.node.failure, undefined);
    });
  }
});

test("dead containers: as many of each are kept as the policy says", async () => {
  const lab = await Lab.start({ gcPolicy: { minAgeMs: 0, maxPerPodContainer: 2, maxContainers: -1 } });
  try {
    const kill = (_: Lab, name: string) => lab.runtime.killContainer(lab.running(name).containerId, { exitCode: 3 });
    const runs = (restarts: number) => `Running Ready c=running*/${restarts}`;
    const steps = [runs(0), kill, runs(1), kill, runs(2), kill, runs(3)];
    let name = "";
    const named = (given: string) => {
      name = given;
      return pod(given, { restartPolicy: "OnFailure" });
    };
    await play(lab, { name: "is killed three times", pod: named, steps });
    // Past the next collection.
    await lab.clock.sleep(65_000, new AbortController().signal);
    const dead = lab.containersOf(name).filter(({ state }) => state !== "running");
    assert.equal(dead.length, 2);
  } finally {
    await lab.close();
  }
});
