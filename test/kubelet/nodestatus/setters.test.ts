import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { describe, test } from "vitest";
import { setDefaults } from "../../../src/kubelet/apis/config/defaults.js";
import { allocatable, checkResources } from "../../../src/kubelet/nodestatus/resources.js";
import {
  eventOfCondition,
  initialNode,
  RUNTIME_NOT_CHECKED,
  type StatusInputs,
  setNodeStatus,
} from "../../../src/kubelet/nodestatus/setters.js";
import type { NodeObject, NodeStatus } from "../../../src/staging/apimachinery/api/node.js";
import { defined } from "../../../src/util/defined.js";
import { START_MS } from "../../support/fake-clock.js";

const RECORDING = "../shared/recordings/apiserver-v1.25/kubelet-client.json";
const inputs: StatusInputs = {
  nodeName: "real-2",
  resources: { cpu: "2", memory: "24684092Ki", pods: "110" },
  reservations: setDefaults({}, "1.25"),
  machine: {
    machineId: "<machineID>",
    bootId: "<bootID>",
    kernelVersion: "<kernelVersion>",
    osImage: "<osImage>",
    operatingSystem: "linux",
    architecture: "amd64",
    addresses: [{ type: "InternalIP", address: "192.0.2.2" }],
  },
  kubeletVersion: "v1.25.0",
  health: { problems: [RUNTIME_NOT_CHECKED] },
  kubelet: { containerRuntimeVersion: "", kubeletPort: 10250, images: [] },
  nowMs: START_MS,
};

describe.skipIf(!existsSync(RECORDING))(`the Node that a real kubelet registers (${RECORDING})`, () => {
  test("ours is the same but for what a node without a machine below it lacks", () => {
    const { timeline } = JSON.parse(readFileSync(RECORDING, "utf8")) as {
      timeline: { method?: string; path?: string; body?: unknown }[];
    };
    const real = timeline.find(({ method, path }) => method === "POST" && path === "/api/v1/nodes")?.body as NodeObject;
    const ours = initialNode(inputs);
    assert.deepEqual(ours.metadata.labels, real.metadata.labels);
    assert.deepEqual(ours.metadata.annotations, real.metadata.annotations);
    assert.deepEqual(ours.spec, real.spec);
    const known = ["addresses", "daemonEndpoints"] as const;
    for (const key of known) assert.deepEqual(ours.status?.[key], real.status?.[key]);
    const { containerRuntimeVersion: _, ...nodeInfo } = ours.status?.nodeInfo ?? {};
    const { containerRuntimeVersion: __, ...realInfo } = real.status?.nodeInfo ?? {};
    assert.deepEqual(nodeInfo, realInfo);
    const words = (node: NodeObject) =>
      node.status?.conditions?.map(({ type, status, reason }) => [type, status, reason]);
    assert.deepEqual(words(ours), words(real));
    assert.match(real.status?.conditions?.[3]?.message ?? "", new RegExp(RUNTIME_NOT_CHECKED));
    assert.deepEqual(Object.keys(ours.status?.conditions?.[0] ?? {}), Object.keys(real.status?.conditions?.[0] ?? {}));
  });
});

test("flags add labels and taints to the Node that is registered; a label wins over a default one", () => {
  const taints = [{ key: "gpu", effect: "NoSchedule" }];
  const { metadata, spec } = initialNode(inputs, { labels: { zone: "a", "kubernetes.io/os": "plan9" }, taints });
  const own = { ...initialNode(inputs).metadata.labels, zone: "a", "kubernetes.io/os": "plan9" };
  assert.deepEqual([metadata.labels, spec], [own, { taints }]);
});

describe("setNodeStatus", () => {
  const before = initialNode(inputs).status ?? {};
  const later = { ...inputs, health: { problems: [] }, nowMs: START_MS + 60_000 };

  test("pods may use an extended resource as long as the capacity that an administrator wrote has it", () => {
    const withDongles = { ...before, capacity: { ...before.capacity, "example.com/dongle": "4" } };
    const after = setNodeStatus(withDongles, later);
    assert.deepEqual(
      [
        after.capacity?.["example.com/dongle"],
        after.allocatable?.["example.com/dongle"],
        after.allocatable?.["memory"],
      ],
      ["4", "4", before.allocatable?.["memory"]],
    );
    const { "example.com/dongle": _, ...capacity } = after.capacity ?? {};
    assert.deepEqual(setNodeStatus({ ...after, capacity }, later).allocatable, before.allocatable);
  });

  test("devices of plugins: the healthy ones are allocatable; a plugin that has gone leaves 0", () => {
    const name = "example.com/gpu";
    const facts = { containerRuntimeVersion: "", kubeletPort: 0, images: [] };
    const at = (status: NodeStatus, capacity: string, allocatable?: string) => {
      const devices = { capacity: { [name]: capacity }, allocatable: defined({ [name]: allocatable }) };
      return setNodeStatus(status, { ...later, kubelet: { ...facts, devices } });
    };
    const amounts = ({ capacity, allocatable }: NodeStatus) => [capacity?.[name], allocatable?.[name]];
    const with3 = at(before, "3", "2");
    assert.deepEqual(amounts(with3), ["3", "2"]);
    assert.deepEqual(amounts(at(with3, "3", "0")), ["3", "0"]);
    assert.deepEqual(amounts(at(with3, "0")), ["0", "0"]);
  });

  test("every heartbeat time moves, a transition time only with its status", () => {
    const after = setNodeStatus(before, later);
    const times = after.conditions?.map((one) => [
      one.type,
      one.lastHeartbeatTime?.slice(14),
      one.lastTransitionTime?.slice(14),
    ]);
    assert.deepEqual(times, [
      ["MemoryPressure", "01:00Z", "00:00Z"],
      ["DiskPressure", "01:00Z", "00:00Z"],
      ["PIDPressure", "01:00Z", "00:00Z"],
      ["Ready", "01:00Z", "01:00Z"],
    ]);
    assert.equal(after.conditions?.[3]?.status, "True");
  });

  test("capacity is the requested one, a disk and no huge pages; allocatable is what evictions leave of it", () => {
    const hugePages = { "hugepages-1Gi": "0", "hugepages-2Mi": "0" };
    const own = { cpu: "2", "ephemeral-storage": "100Gi", memory: "24684092Ki", pods: "110" };
    assert.deepEqual(before.capacity, { ...own, ...hugePages });
    assert.equal(before.allocatable?.["hugepages-2Mi"], "0");
    const { "ephemeral-storage": disk, memory } = before.allocatable ?? {};
    assert.deepEqual([disk, memory], ["96636764k", "24581692Ki"]);
  });

  test("what others wrote stays: conditions, capacity of devices, fields of controllers", () => {
    const foreign = {
      ...before,
      capacity: { ...before.capacity, "example.com/gpu": "2" },
      conditions: [{ type: "NetworkUnavailable", status: "False" as const }, ...(before.conditions ?? [])],
      volumesInUse: ["v"],
    };
    const after = setNodeStatus(foreign, later);
    assert.equal(after.capacity?.["example.com/gpu"], "2");
    assert.equal(after.conditions?.[0]?.type, "NetworkUnavailable");
    assert.deepEqual(after["volumesInUse"], ["v"]);
  });

  for (const [pressure, reason, message, event] of [
    [
      "MemoryPressure",
      "KubeletHasInsufficientMemory",
      "kubelet has insufficient memory available",
      "NodeHasInsufficientMemory",
    ],
    ["DiskPressure", "KubeletHasDiskPressure", "kubelet has disk pressure", "NodeHasDiskPressure"],
    ["PIDPressure", "KubeletHasInsufficientPID", "kubelet has insufficient PID available", "NodeHasInsufficientPID"],
  ] as const) {
    test(`${pressure} of the eviction manager is a condition and an event of its own`, () => {
      const after = setNodeStatus(before, { ...later, health: { problems: [], pressures: [pressure] } });
      const changed = after.conditions?.filter(({ type, status }) => type !== "Ready" && status === "True");
      assert.equal(changed?.length, 1);
      const [condition] = changed ?? [];
      assert.deepEqual([condition?.type, condition?.reason, condition?.message], [pressure, reason, message]);
      assert.equal(condition && eventOfCondition(condition), event);
      const gone = setNodeStatus(after, later).conditions?.find(({ type }) => type === pressure);
      assert.equal(
        gone && eventOfCondition(gone),
        event.replace("Insufficient", "Sufficient").replace("HasDisk", "HasNoDisk"),
      );
    });
  }

  test("two problems are in brackets, one is not", () => {
    const message = (...problems: string[]) =>
      setNodeStatus({}, { ...inputs, health: { problems } }).conditions?.[3]?.message;
    assert.equal(message("a"), "a");
    assert.equal(message("a", "b"), "[a, b]");
  });
});

describe("resources", () => {
  for (const [memory, want] of [
    ["24684092Ki", "24581692Ki"],
    ["32Gi", "32668Mi"],
    ["500Mi", "400Mi"],
    ["1124Mi", "1Gi"],
    ["1G", "895142400"],
    ["50Mi", "0"],
  ] as const) {
    test(`of ${memory} pods may use ${want}: 100Mi stay free`, () => {
      const rest = { cpu: "2", pods: "1" };
      const left = allocatable({ ...rest, memory, disk: "50Gi" }, setDefaults({}, "1.25"));
      assert.deepEqual(left, { ...rest, memory: want, disk: "48318382000" });
    });
  }
  test("a tenth of the disk is upstream's, a 32 bit float: what a real node of this size reports", () => {
    const { disk } = allocatable(
      { cpu: "2", memory: "8Gi", pods: "110", disk: "101430960Ki" },
      setDefaults({}, "1.25"),
    );
    assert.equal(disk, "93478772582");
  });
  for (const [fields, cpu, memory, disk] of [
    [{ evictionHard: { "memory.available": "500Mi" } }, "2", "1548Mi", "10Gi"],
    [{ evictionHard: { "memory.available": "10%" } }, "2", "1932735280", "10Gi"],
    [{ evictionHard: { "nodefs.available": "2Gi" } }, "2", "2Gi", "8Gi"],
    [{ systemReserved: { cpu: "500m" }, kubeReserved: { cpu: "250m", memory: "924Mi" } }, "1250m", "1Gi", "9663676400"],
    [{ kubeReserved: { cpu: "4", "ephemeral-storage": "1Gi" } }, "0", "1948Mi", "8589934576"],
  ] as const) {
    test(`with ${JSON.stringify(fields)} pods may use ${cpu}, ${memory} and ${disk} of 2, 2Gi and 10Gi`, () => {
      const left = allocatable({ cpu: "2", memory: "2Gi", pods: "1", disk: "10Gi" }, setDefaults(fields, "1.25"));
      assert.deepEqual(left, { cpu, memory, pods: "1", disk });
    });
  }
  for (const [flag, text, want] of [
    ["cpu", "4", "4"],
    ["cpu", "1500m", "1500m"],
    ["cpu", "2000m", "2"],
    ["cpu", "1000", "1k"],
    ["memory", "32Gi", "32Gi"],
    ["memory", "1024Mi", "1Gi"],
    ["memory", "1048576", "1048576"],
    ["memory", "1000M", "1G"],
    ["disk", "2048Mi", "2Gi"],
    ["pods", "0110", "110"],
    ["pods", "0", "0"],
  ] as const) {
    test(`--${flag} ${text} is written ${want}, as the API server writes it`, () => {
      assert.equal(checkResources({ cpu: "1", memory: "1Gi", pods: "1", [flag]: text })[flag], want);
    });
  }
  for (const [flag, value] of [
    ["cpu", "lots"],
    ["cpu", "0"],
    ["cpu", "-1"],
    ["memory", "32 GB"],
    ["memory", "Gi"],
    ["disk", "0"],
    ["disk", "much"],
    ["pods", "1.5"],
  ] as const) {
    test(`--${flag} ${JSON.stringify(value)} is a usage error that names the flag`, () => {
      assert.throws(() => checkResources({ cpu: "1", memory: "1Gi", pods: "1", [flag]: value }), {
        code: "USAGE",
        message: new RegExp(`--${flag}`),
      });
    });
  }
});

test("a node without a kubelet's runtime and server names neither", () => {
  const { kubelet: _kubelet, ...others } = inputs;
  const { nodeInfo, daemonEndpoints } = setNodeStatus({}, others);
  assert.equal(nodeInfo?.["containerRuntimeVersion"], "");
  assert.deepEqual(daemonEndpoints, { kubeletEndpoint: { Port: 0 } });
});
