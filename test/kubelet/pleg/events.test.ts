import { describe, expect, test } from "vitest";
import type { ContainerState, Pod } from "../../../src/kubelet/container/runtime.js";
import {
  computeEvents,
  generateEvents,
  isSent,
  type PlegContainerState,
  type PodLifecycleEventType,
} from "../../../src/kubelet/pleg/events.js";
import { reasonOf } from "../../../src/kubelet/pleg/relist-observer.js";

const ref = { podUid: "p1", containerId: "c1" };

describe("generateEvents", () => {
  const table: readonly [PlegContainerState, PlegContainerState, string][] = [
    ["non-existent", "running", "ContainerStarted"],
    ["non-existent", "exited", "ContainerDied"],
    ["non-existent", "unknown", "ContainerChanged"],
    ["non-existent", "non-existent", ""],
    ["unknown", "running", "ContainerStarted"],
    ["unknown", "exited", "ContainerDied"],
    ["unknown", "non-existent", "ContainerDied ContainerRemoved"],
    ["running", "running", ""],
    ["running", "exited", "ContainerDied"],
    ["running", "unknown", "ContainerChanged"],
    ["running", "non-existent", "ContainerDied ContainerRemoved"],
    ["exited", "running", "ContainerStarted"],
    ["exited", "unknown", "ContainerChanged"],
    ["exited", "exited", ""],
    ["exited", "non-existent", "ContainerRemoved"],
  ];
  for (const [before, after, want] of table) {
    test(`${before} -> ${after} gives [${want}]`, () => {
      const events = generateEvents(ref, before, after);
      expect(events.map(({ type }) => type).join(" ")).toBe(want);
      for (const event of events) expect(event).toMatchObject(ref);
    });
  }
  test("ContainerChanged is the one event that is not sent", () => {
    expect(
      table.flatMap(([before, after]) => generateEvents(ref, before, after)).filter((event) => !isSent(event)),
    ).toEqual(expect.arrayContaining([{ ...ref, type: "ContainerChanged" }]));
    expect(isSent({ ...ref, type: "ContainerDied" })).toBe(true);
  });
});

function pod(containers: Record<string, ContainerState>, sandboxes: Record<string, ContainerState>): Pod {
  const list = (states: Record<string, ContainerState>) =>
    Object.entries(states).map(([containerId, state]) => ({ containerId, state }));
  return {
    podUid: "p1",
    name: "pod",
    namespace: "default",
    createdAtMs: 0,
    containers: list(containers),
    sandboxes: list(sandboxes),
  };
}

describe("computeEvents", () => {
  const told = (before: Pod | undefined, after: Pod | undefined) =>
    computeEvents(before, after).flatMap(({ events }) =>
      events.map(({ type, containerId }) => `${type} ${containerId}`),
    );

  const table: readonly [string, Pod | undefined, Pod | undefined, string[]][] = [
    ["nothing changed", pod({ c1: "running" }, { s1: "running" }), pod({ c1: "running" }, { s1: "running" }), []],
    [
      "another order of the list is no change",
      pod({ a: "running", b: "exited" }, {}),
      pod({ b: "exited", a: "running" }, {}),
      [],
    ],
    ["created and unknown are the same", pod({ c1: "created" }, {}), pod({ c1: "unknown" }, {}), []],
    [
      "containers come before sandboxes",
      undefined,
      pod({ c1: "running" }, { s1: "running" }),
      ["ContainerStarted c1", "ContainerStarted s1"],
    ],
    [
      "all that was known comes before what is new",
      pod({ old: "running" }, { s1: "running" }),
      pod({ new: "running" }, { s2: "running" }),
      [
        "ContainerDied old",
        "ContainerRemoved old",
        "ContainerDied s1",
        "ContainerRemoved s1",
        "ContainerStarted new",
        "ContainerStarted s2",
      ],
    ],
    [
      "a pod that is gone",
      pod({ c1: "exited" }, { s1: "running" }),
      undefined,
      ["ContainerRemoved c1", "ContainerDied s1", "ContainerRemoved s1"],
    ],
    [
      "a container is searched before a sandbox of the same id",
      pod({ x: "running" }, { x: "exited" }),
      pod({ x: "exited" }, { x: "exited" }),
      ["ContainerDied x"],
    ],
    ["neither before nor after", undefined, undefined, []],
  ];
  for (const [name, before, after, want] of table) test(name, () => expect(told(before, after)).toEqual(want));
});

describe("reasonOf", () => {
  const table: readonly [PlegContainerState, PlegContainerState, boolean, string, string][] = [
    ["non-existent", "running", false, "ContainerStarted", "a container that the last relist did not see is running"],
    ["non-existent", "running", true, "ContainerStarted", "a sandbox that the last relist did not see is ready"],
    [
      "non-existent",
      "exited",
      false,
      "ContainerDied",
      "a container that the last relist did not see is exited already",
    ],
    ["running", "exited", false, "ContainerDied", "the container was running at the last relist and is exited now"],
    ["running", "exited", true, "ContainerDied", "the sandbox was ready at the last relist and is not ready now"],
    ["exited", "running", false, "ContainerStarted", "the container was exited at the last relist and is running now"],
    [
      "running",
      "non-existent",
      false,
      "ContainerDied",
      "the container was running and is gone from the list: it must have died in between",
    ],
    [
      "running",
      "non-existent",
      true,
      "ContainerRemoved",
      "the sandbox is gone from the list, and its death was reported just before this",
    ],
    [
      "exited",
      "non-existent",
      false,
      "ContainerRemoved",
      "the container is gone from the list; its death was reported before",
    ],
    [
      "running",
      "unknown",
      false,
      "ContainerChanged",
      "the container was running and is created or unknown now: the pod is inspected, but no event is sent",
    ],
  ];
  for (const [before, after, isSandbox, type, want] of table) {
    test(`${isSandbox ? "sandbox" : "container"} ${before} -> ${after}: ${type}`, () => {
      const change = { containerId: "c", name: undefined, isSandbox, before, after, events: [] };
      expect(reasonOf(change, type as PodLifecycleEventType)).toBe(want);
    });
  }
});
