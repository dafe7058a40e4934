import { describe, expect, test } from "vitest";
import type { RuntimeCondition } from "../../../src/kubelet/container/generic-runtime.js";
import { aggregateText, RuntimeState } from "../../../src/kubelet/sync/runtime-state.js";
import { RuntimeUp } from "../../../src/kubelet/sync/runtime-up.js";
import { FakeClock } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";

const good: readonly RuntimeCondition[] = [
  { type: "RuntimeReady", status: true, reason: "", message: "" },
  { type: "NetworkReady", status: true, reason: "", message: "" },
];
const noCni = {
  type: "NetworkReady",
  status: false,
  reason: "NetworkPluginNotReady",
  message: "cni plugin not initialized",
};
const notUp = { type: "RuntimeReady", status: false, reason: "Starting", message: "wait" };

function start() {
  const clock = new FakeClock();
  const { trace, events } = recordingTrace(clock);
  const state = new RuntimeState(clock);
  const runtime = { answer: good as readonly RuntimeCondition[] | Error };
  const status = async () => {
    if (runtime.answer instanceof Error) throw runtime.answer;
    return runtime.answer;
  };
  const up = new RuntimeUp({ runtime: { status }, state, clock, trace });
  const signal = new AbortController().signal;
  return { clock, state, runtime, update: () => up.update(signal), events };
}

describe("a kubelet's view of its runtime", () => {
  test("before it was asked", () => {
    const { state } = start();
    expect(state.runtimeErrors()).toEqual(["container runtime status check may not have completed yet"]);
    expect(state.networkErrors()).toEqual(["network state unknown"]);
  });

  const table: [string, readonly RuntimeCondition[], readonly string[], readonly string[]][] = [
    ["all is well", good, [], []],
    [
      "no network",
      [good[0] ?? noCni, noCni],
      [],
      [
        "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:cni plugin not initialized",
      ],
    ],
    [
      "not up yet",
      [notUp, good[1] ?? notUp],
      [
        "container runtime status check may not have completed yet",
        "container runtime not ready: RuntimeReady=false reason:Starting message:wait",
      ],
      [],
    ],
    [
      "says nothing",
      [],
      ["container runtime status check may not have completed yet", "container runtime not ready: <nil>"],
      ["container runtime network not ready: <nil>"],
    ],
  ];
  for (const [what, conditions, runtimeErrors, networkErrors] of table) {
    test(what, async () => {
      const { state, runtime, update } = start();
      runtime.answer = conditions;
      await update();
      expect(state.runtimeErrors()).toEqual(runtimeErrors);
      expect(state.networkErrors()).toEqual(networkErrors);
    });
  }

  test("gone: nothing changes for 30 s, then it counts as down; back: at once", async () => {
    const { state, runtime, update, clock, events } = start();
    await update();
    runtime.answer = new Error("rpc error: code = Unavailable desc = connection refused");
    await clock.advance(29_999);
    await update();
    expect(state.runtimeErrors()).toEqual([]);
    await clock.advance(1);
    await update();
    expect(state.runtimeErrors()).toEqual(["container runtime is down"]);
    runtime.answer = good;
    await update();
    expect(state.runtimeErrors()).toEqual([]);
    // Told once, not at every look.
    expect(only(events, "error").map(({ message }) => message)).toEqual([
      "Container runtime sanity check failed: rpc error: code = Unavailable desc = connection refused",
    ]);
  });

  test("health checks speak under their name, in upstream's order", async () => {
    const { state, runtime, update, clock } = start();
    await update();
    state.addHealthCheck("PLEG", () => ({
      healthy: false,
      message: "pleg was last seen active 3m1s ago; threshold is 3m0s",
    }));
    runtime.answer = new Error("gone");
    await clock.advance(181_000);
    await update();
    expect(aggregateText(state.runtimeErrors())).toBe(
      "[container runtime is down, PLEG is not healthy: pleg was last seen active 3m1s ago; threshold is 3m0s]",
    );
  });
});

test("an aggregate of one is that one; of two alike too", () => {
  expect(aggregateText(["a"])).toBe("a");
  expect(aggregateText(["a", "a"])).toBe("a");
  expect(aggregateText(["a", "b"])).toBe("[a, b]");
});
