import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { CriStatsProvider, type CriStatsProviderDeps } from "../../../src/kubelet/stats/cri-stats-provider.js";
import type { RpcResult } from "../../../src/staging/cri/grpc/status.js";
import { rpcFailure } from "../../../src/staging/cri/grpc/status.js";

const signal = new AbortController().signal;
const MS = 1_000_000n;
const ALL = { updateCpuUsage: false, onlyCpuAndMemory: false, sandboxes: true };

interface FakeContainer {
  readonly id: string;
  readonly name?: string;
  readonly sandbox?: string;
  /** core nanoseconds; undefined: the runtime reports no CPU */
  readonly cpu?: bigint;
  readonly memory?: bigint;
  readonly atMs?: bigint;
}

interface FakeSandbox {
  readonly id: string;
  readonly pod: string;
  readonly isReady?: boolean;
  readonly createdMs?: bigint;
}

const ok = <T>(value: T): Promise<RpcResult<T>> => Promise.resolve({ outcome: "ok", value });

/** @param listed containers that the runtime lists as running; default: all that have statistics */
function runtimeOf(
  sandboxes: readonly FakeSandbox[],
  containers: readonly FakeContainer[],
  listed = containers,
  ofSandboxes: RpcResult<unknown> = rpcFailure("Unimplemented", "no such method"),
) {
  const stats = containers.map(({ id, cpu, memory, atMs = 0n }) => ({
    attributes: { id },
    cpu: cpu === undefined ? undefined : { timestamp: atMs * MS, usageCoreNanoSeconds: { value: cpu } },
    memory: memory === undefined ? undefined : { timestamp: atMs * MS, workingSetBytes: { value: memory } },
    writableLayer: { timestamp: atMs * MS, usedBytes: { value: 5n }, inodesUsed: { value: 1n } },
  }));
  return {
    runtime: {
      listContainersAs: () =>
        ok(
          listed.map(({ id, name = id, sandbox = "s" }) => {
            return { id, podSandboxId: sandbox, createdAt: 7n * MS, metadata: { name }, image: { image: "busybox" } };
          }),
        ),
      listPodSandboxAs: () =>
        ok(
          sandboxes.map(({ id, pod, isReady = true, createdMs = 5n }) => ({
            id,
            state: isReady ? 0 : 1,
            createdAt: createdMs * MS,
            metadata: { name: pod, namespace: "default", uid: `uid-${pod}` },
          })),
        ),
    },
    stats: { listContainerStatsAs: () => ok(stats), listPodSandboxStatsAs: () => Promise.resolve(ofSandboxes) },
  } as unknown as CriStatsProviderDeps;
}

async function list(deps: CriStatsProviderDeps) {
  return (await new CriStatsProvider(deps).listPodStats(ALL, signal)).pods;
}

describe("the statistics of pods from a container runtime", () => {
  test("a pod has the sums of its containers, which keep their own figures", async () => {
    const pods = await list(
      runtimeOf(
        [{ id: "s", pod: "web" }],
        [
          { id: "a", cpu: 3n, memory: 10n, atMs: 20n },
          { id: "b", cpu: 4n, memory: 30n, atMs: 21n },
        ],
      ),
    );
    assert.equal(pods.length, 1);
    assert.deepEqual(pods[0]?.podRef, { name: "web", namespace: "default", uid: "uid-web" });
    assert.equal(pods[0]?.startTimeMs, 5);
    assert.deepEqual(pods[0]?.cpu, { timeMs: 21, usageCoreNanoSeconds: 7 });
    assert.deepEqual(pods[0]?.memory, { timeMs: 21, workingSetBytes: 40 });
    assert.deepEqual(
      pods[0]?.containers.map(({ name, startTimeMs, cpu }) => [name, startTimeMs, cpu?.usageCoreNanoSeconds]),
      [
        ["a", 7, 3],
        ["b", 7, 4],
      ],
    );
  });

  const left: readonly [what: string, deps: CriStatsProviderDeps, want: readonly string[]][] = [
    ["a container that no longer runs", runtimeOf([{ id: "s", pod: "web" }], [{ id: "a", cpu: 1n }], []), []],
    ["a container of a sandbox that is gone", runtimeOf([], [{ id: "a", cpu: 1n }]), []],
    [
      "an old sandbox beside one that is ready",
      runtimeOf(
        [
          { id: "s", pod: "web", isReady: false, createdMs: 9n },
          { id: "t", pod: "web" },
        ],
        [
          { id: "a", sandbox: "s", cpu: 1n },
          { id: "b", sandbox: "t", cpu: 1n },
        ],
      ),
      ["web: b"],
    ],
    [
      "all but the newest of sandboxes that are not ready",
      runtimeOf(
        [
          { id: "s", pod: "web", isReady: false, createdMs: 9n },
          { id: "t", pod: "web", isReady: false, createdMs: 8n },
        ],
        [
          { id: "a", sandbox: "s", cpu: 1n },
          { id: "b", sandbox: "t", cpu: 1n },
        ],
      ),
      ["web: a"],
    ],
  ];
  for (const [what, deps, want] of left) {
    test(`${what} is left out`, async () => {
      const seen = (await list(deps)).map(
        ({ podRef, containers }) => `${podRef.name}: ${containers.map(({ name }) => name)}`,
      );
      assert.deepEqual(seen, want);
    });
  }

  test("a runtime without statistics: the error has upstream's words before the runtime's", async () => {
    const deps = {
      ...runtimeOf([], []),
      stats: {
        listContainerStatsAs: async () => rpcFailure("Unimplemented", "no such method"),
        listPodSandboxStatsAs: async () => rpcFailure("Unimplemented", "no such method"),
      },
    };
    await assert.rejects(list(deps), {
      message: "failed to list all container stats: rpc error: code = Unimplemented desc = no such method",
    });
  });
});

describe("what only a sandbox has", () => {
  const sandboxes = [{ id: "s", pod: "web" }];
  const containers = [{ id: "a", cpu: 3n, memory: 10n }];
  const eth = (name: string, bytes: bigint) => ({
    name,
    rxBytes: { value: bytes },
    txBytes: { value: 0n },
    rxErrors: undefined,
  });
  const network = { timestamp: 9n * MS, defaultInterface: eth("eth0", 3n), interfaces: [eth("eth1", 4n)] };
  const reported = [
    { attributes: { id: "s" }, linux: { network, process: { timestamp: 9n * MS, processCount: { value: 3n } } } },
    { attributes: { id: "gone" }, linux: undefined },
  ];
  const known = runtimeOf(sandboxes, containers, containers, { outcome: "ok", value: reported });

  test("its network and its processes are those of the pod", async () => {
    const [pod] = await list(known);
    assert.deepEqual(pod?.processStats, { processCount: 3 });
    assert.deepEqual(pod?.network, {
      timeMs: 9,
      ...{ name: "eth0", rxBytes: 3, txBytes: 0 },
      interfaces: [
        { name: "eth0", rxBytes: 3, txBytes: 0 },
        { name: "eth1", rxBytes: 4, txBytes: 0 },
      ],
    });
  });

  test("is not asked for with only CPU and memory, nor is the writable layer part of that", async () => {
    const only = { updateCpuUsage: false, onlyCpuAndMemory: true, sandboxes: false };
    const { pods } = await new CriStatsProvider(known).listPodStats(only, signal);
    assert.deepEqual(Object.keys(pods[0] ?? {}).sort(), ["containers", "cpu", "memory", "podRef", "startTimeMs"]);
    assert.deepEqual(Object.keys(pods[0]?.containers[0] ?? {}), ["name", "startTimeMs", "cpu", "memory"]);
  });

  for (const [code, want] of [
    ["Unimplemented", 1],
    ["Unknown", 3],
  ] as const) {
    test(`a runtime that answers ${code} gives the rest, and is asked ${want === 1 ? "never again" : "again later"}`, async () => {
      let asked = 0;
      const provider = new CriStatsProvider({
        ...known,
        stats: {
          ...known.stats,
          listPodSandboxStatsAs: async () => {
            asked++;
            return rpcFailure(code, "no");
          },
        },
      });
      for (let round = 0; round < 63; round++) {
        const { pods } = await provider.listPodStats(ALL, signal);
        assert.deepEqual([pods[0]?.cpu?.usageCoreNanoSeconds, pods[0]?.network], [3, undefined]);
      }
      assert.equal(asked, want);
    });
  }
});

test("each container is listed with its image and its pod", async () => {
  const { containers } = await new CriStatsProvider(
    runtimeOf([{ id: "s", pod: "web" }], [{ id: "a", name: "app", cpu: 3n }]),
  ).listPodStats(ALL, signal);
  assert.deepEqual(
    containers.map(({ containerId, image, podRef, stats }) => [containerId, image, podRef.name, stats.name]),
    [["a", "busybox", "web", "app"]],
  );
});

describe("the CPU usage per second, from two readings", () => {
  /** readings in order: [ms, core nanoseconds, whether the cache is updated] */
  const table: readonly [rule: string, readings: readonly [bigint, bigint, boolean][], want: number | undefined][] = [
    ["one reading is not enough", [[0n, 0n, true]], undefined],
    [
      "two readings a second apart",
      [
        [0n, 0n, true],
        [1000n, 250_000_000n, true],
      ],
      250_000_000,
    ],
    [
      "two readings four seconds apart",
      [
        [0n, 0n, true],
        [4000n, 1_000_000_000n, true],
      ],
      250_000_000,
    ],
    [
      "a reader that does not update sees the last rate",
      [
        [0n, 0n, true],
        [1000n, 250_000_000n, true],
        [2000n, 900_000_000n, false],
      ],
      250_000_000,
    ],
    [
      "without an update there is no rate",
      [
        [0n, 0n, false],
        [1000n, 250_000_000n, false],
      ],
      undefined,
    ],
    [
      "a sum that goes backwards starts anew",
      [
        [0n, 500n, true],
        [1000n, 400n, true],
      ],
      undefined,
    ],
    [
      "a reading at the same time changes nothing",
      [
        [0n, 0n, true],
        [1000n, 250_000_000n, true],
        [1000n, 250_000_000n, true],
      ],
      250_000_000,
    ],
  ];
  for (const [rule, readings, want] of table) {
    test(rule, async () => {
      let deps = runtimeOf([], []);
      const provider = new CriStatsProvider({
        runtime: {
          listContainersAs: (...a: never[]) => deps.runtime.listContainersAs(...(a as [never, never, never])),
        },
        stats: {
          listContainerStatsAs: (...a: never[]) => deps.stats.listContainerStatsAs(...(a as [never, never])),
          listPodSandboxStatsAs: async () => rpcFailure("Unimplemented", "no such method"),
        },
      } as unknown as CriStatsProviderDeps);
      Object.assign(provider.deps.runtime, {
        listPodSandboxAs: (...a: never[]) => deps.runtime.listPodSandboxAs(...(a as [never, never, never])),
      });
      let seen: number | undefined;
      for (const [atMs, cpu, update] of readings) {
        deps = runtimeOf([{ id: "s", pod: "web" }], [{ id: "a", cpu, atMs }]);
        const { pods } = await provider.listPodStats({ ...ALL, updateCpuUsage: update }, signal);
        seen = pods[0]?.containers[0]?.cpu?.usageNanoCores;
      }
      assert.equal(seen, want);
    });
  }
});
