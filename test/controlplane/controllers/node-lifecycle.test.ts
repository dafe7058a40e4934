import { existsSync, readFileSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import type { KubeObject } from "../../../src/api/meta.js";
import { rfc3339 } from "../../../src/controlplane/controllers/support/objects.js";
import type { Change } from "./support/fake-cluster.js";
import { type Harness, LEASES, startOnFakes } from "./support/harness.js";

const NODE_CONTROLLERS = ["nodelifecycle", "taint-eviction-controller", "nodeipam", "ttl", "podgc", "garbagecollector"];

let harness: Harness | undefined;
afterEach(async () => {
  await harness?.stop();
  expect(harness?.clock.sleeping).toBe(0); // no timer is left behind
  harness = undefined;
});

async function start(kubeVersion = "1.25"): Promise<Harness> {
  harness = await startOnFakes(NODE_CONTROLLERS, { kubeVersion });
  return harness;
}

const HEALTHY = {
  MemoryPressure: ["False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"],
  DiskPressure: ["False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
  PIDPressure: ["False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"],
  Ready: ["True", "KubeletReady", "kubelet is posting ready status"],
} as const;

function conditions(
  nowMs: number,
  changed: Partial<Record<keyof typeof HEALTHY, readonly [string, string, string]>> = {},
) {
  return Object.entries({ ...HEALTHY, ...changed }).map(([type, [status, reason, message]]) => ({
    type,
    status,
    lastHeartbeatTime: rfc3339(nowMs),
    lastTransitionTime: rfc3339(nowMs),
    reason,
    message,
  }));
}

function createNode({ cluster, clock }: Harness, name: string): KubeObject {
  const labels = {
    "kubernetes.io/os": "linux",
    "kubernetes.io/arch": "amd64",
    "beta.kubernetes.io/os": "linux",
    "beta.kubernetes.io/arch": "amd64",
  };
  return cluster.create("nodes", {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels },
    status: { conditions: conditions(clock.now()) },
  });
}

function renewLease({ cluster, clock }: Harness, name: string, owner?: KubeObject): void {
  const renewTime = new Date(clock.now()).toISOString().replace("Z", "000Z");
  if (cluster.get(LEASES, "kube-node-lease", name) === undefined) {
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid: owner?.metadata.uid ?? "" }];
    const metadata = { name, namespace: "kube-node-lease", ownerReferences };
    cluster.create(LEASES, { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec: { renewTime } });
  } else {
    cluster.patch(LEASES, "kube-node-lease", name, (lease) => ({
      ...lease,
      spec: { ...(lease["spec"] as object), renewTime },
    }));
  }
}

function patchStatus({ cluster, clock }: Harness, name: string, changed: Parameters<typeof conditions>[1] = {}): void {
  cluster.patch("nodes", undefined, name, (node) => ({
    ...node,
    status: { ...(node["status"] as object), conditions: conditions(clock.now(), changed) },
  }));
}

interface PodOptions {
  readonly toleratedSeconds?: number | undefined;
  readonly everything?: boolean;
  readonly owner?: KubeObject;
}

function createPod({ cluster, clock }: Harness, name: string, nodeName: string, options: PodOptions): void {
  const toleration = { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" };
  const notReady = { ...toleration, key: "node.kubernetes.io/not-ready", tolerationSeconds: 300 };
  const limit = options.toleratedSeconds === undefined ? {} : { tolerationSeconds: options.toleratedSeconds };
  const tolerations =
    options.everything === true
      ? [{ operator: "Exists", effect: "NoExecute" }]
      : [{ ...toleration, ...limit }, notReady];
  const { owner } = options;
  const ownerReferences =
    owner === undefined
      ? {}
      : {
          ownerReferences: [
            { apiVersion: "v1", kind: "Node", name: nodeName, uid: owner.metadata.uid ?? "", controller: true },
          ],
        };
  const lastTransitionTime = rfc3339(clock.now());
  cluster.create("pods", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", ...ownerReferences },
    spec: { nodeName, tolerations, terminationGracePeriodSeconds: 30 },
    status: { phase: "Running", conditions: [{ type: "Ready", status: "True", lastTransitionTime }] },
  });
}

/** Beats the hearts of nodes every 10 s over a span of time. */
async function beat(on: Harness, names: readonly string[], seconds: number): Promise<void> {
  for (let left = seconds; left > 0; left -= 10) {
    for (const name of names) renewLease(on, name);
    await on.clock.advance(Math.min(10, left) * 1000);
  }
}

// ---- the recorded timetable

interface RecordedEntry {
  readonly t: number;
  readonly mark?: string;
  readonly watch?: string;
  readonly object?: string;
  readonly changed?: Record<string, readonly [unknown, unknown]>;
  readonly event?: {
    readonly type: string;
    readonly reason: string;
    readonly message: string;
    readonly source: { component: string };
    readonly count: number;
  };
}

interface Entry {
  readonly t: number;
  /** what happened, without times */
  readonly what: string;
}

const RECORDING = "../shared/recordings/apiserver-v1.25/node-lifecycle.json";

function recordedTimeline(name: string, fromMark: string, toMark: string | undefined): Entry[] {
  const { items } = JSON.parse(readFileSync(RECORDING, "utf8")) as {
    items: { name: string; timeline?: RecordedEntry[] }[];
  };
  const timeline = items.find((item) => item.name.startsWith(name))?.timeline ?? [];
  const begin = timeline.findIndex(({ mark }) => mark?.includes(fromMark));
  const end = toMark === undefined ? timeline.length : timeline.findIndex(({ mark }) => mark?.includes(toMark));
  return timeline.slice(begin, end).flatMap((entry): Entry[] => {
    if (entry.event !== undefined) return [{ t: entry.t, what: eventText(entry.event) }];
    if (entry.watch === "DELETED") return [{ t: entry.t, what: `${entry.object} gone` }];
    if (entry.changed === undefined) return [];
    return changesText(entry.t, entry.object ?? "", entry.changed);
  });
}

function eventText({ type, reason, message, source, count }: NonNullable<RecordedEntry["event"]>): string {
  return `Event ${type} ${reason} "${message}" from ${source.component} x${count}`;
}

/** Only what controllers write: times, heartbeats and the kubelet's own words are left out. */
function changesText(t: number, object: string, changed: Record<string, readonly [unknown, unknown]>): Entry[] {
  const parts = Object.entries(changed)
    .filter(([path]) => !/Time$|timeAdded|deletionTimestamp|^\/spec$|metadata\/annotations$/.test(path))
    .map(([path, [before, after]]) =>
      `${path} ${before ?? "-"}>${after ?? "-"}`.replace(/10\.244\.\d+\.0/g, "10.244.N.0"),
    )
    .sort();
  const byController = parts.filter((part) =>
    /taints|podCIDR|ttl|Unknown$|posting node status|Ready\/status True>False|deletionGrace|NodeStatus/.test(part),
  );
  return byController.length === 0 ? [] : [{ t, what: `${object} ${byController.join(", ")}` }];
}

function flatten(value: unknown, path = "", out: Record<string, unknown> = {}): Record<string, unknown> {
  if (Array.isArray(value)) {
    value.forEach((item: unknown, index) => {
      const { type, key, effect } = (typeof item === "object" && item !== null ? item : {}) as Record<
        string,
        string | undefined
      >;
      flatten(item, `${path}/${type ?? (key === undefined ? index : `${key}:${effect ?? ""}`)}`, out);
    });
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value))
      if (key !== "resourceVersion") flatten(item, `${path}/${key}`, out);
  } else out[path] = value;
  return out;
}

function ourTimeline(changes: readonly Change[], zeroMs: number, node: string): Entry[] {
  return changes.flatMap((change): Entry[] => {
    const t = (change.atMs - zeroMs) / 1000;
    const { name = "" } = change.object.metadata;
    const { kind } = change.object;
    if (kind === "Event") {
      const about = change.object["involvedObject"] as { readonly kind: string; readonly name: string };
      if (change.type !== "ADDED" || (about.kind === "Node" && about.name !== node)) return [];
      return [{ t, what: eventText(change.object as unknown as NonNullable<RecordedEntry["event"]>) }];
    }
    if (kind !== "Pod" && !(kind === "Node" && name === node)) return [];
    if (change.type === "DELETED") return [{ t, what: `${kind}/${name} gone` }];
    if (change.type === "ADDED") return [];
    const [before, after] = [flatten(change.previous), flatten(change.object)];
    const changed: Record<string, readonly [unknown, unknown]> = {};
    for (const path of new Set([...Object.keys(before), ...Object.keys(after)])) {
      if (before[path] !== after[path]) changed[path] = [before[path] ?? null, after[path] ?? null];
    }
    return changesText(t, `${kind}/${name}`, changed);
  });
}

/** Every recorded entry has one of ours within `toleranceSeconds`, and we have no others. */
function expectSameTimetable(ours: readonly Entry[], recorded: readonly Entry[], toleranceSeconds = 0.5): void {
  expect(recorded.length).toBeGreaterThan(0);
  const left = [...ours];
  const missing: string[] = [];
  for (const entry of recorded) {
    const index = left.findIndex(({ t, what }) => what === entry.what && Math.abs(t - entry.t) <= toleranceSeconds);
    if (index < 0) missing.push(`${entry.t} ${entry.what}`);
    else left.splice(index, 1);
  }
  expect({ missing, extra: left.map(({ t, what }) => `${t} ${what}`) }).toEqual({ missing: [], extra: [] });
}

describe.skipIf(!existsSync(RECORDING))(`as recorded (${RECORDING}; skipped where it is missing)`, () => {
  test("two nodes: one stops its heartbeats, pods are evicted, it returns, it is deleted", async () => {
    const on = await start();
    await on.clock.advance(700); // the controllers' passes are at 4.3 s after the node's creation, as in the recording
    const createdMs = on.clock.now();
    const node = createNode(on, "lc-a");
    const healthy = createNode(on, "lc-b");
    await on.clock.advance(300);
    createPod(on, "lc-default", "lc-a", { toleratedSeconds: 300 });
    createPod(on, "lc-short", "lc-a", { toleratedSeconds: 20 });
    createPod(on, "lc-forever", "lc-a", {});
    createPod(on, "lc-mirror", "lc-a", { everything: true, owner: node });
    await on.clock.advance(300);
    renewLease(on, "lc-a", node);
    renewLease(on, "lc-b", healthy);
    await beat(on, ["lc-a", "lc-b"], 20);
    renewLease(on, "lc-a");
    const created = on.cluster.changes.splice(0);
    expectSameTimetable(
      ourTimeline(created, createdMs, "lc-a"),
      recordedTimeline("two nodes", "lc-a is created", "last lease renewal"),
    );

    const lastMs = on.clock.now();
    await beat(on, ["lc-b"], 370);
    expectSameTimetable(
      ourTimeline(on.cluster.changes.splice(0), lastMs, "lc-a"),
      recordedTimeline("two nodes", "last lease renewal", "the lease of lc-a is renewed again"),
    );

    const renewedMs = on.clock.now();
    await on.clock.advance(600); // the pass after the return comes 3.8 s after the status, as recorded
    await beat(on, ["lc-a", "lc-b"], 24.4);
    patchStatus(on, "lc-a");
    on.cluster.changes.splice(0);
    await on.clock.advance(100);
    await beat(on, ["lc-a", "lc-b"], 15);
    const returned = ourTimeline(on.cluster.changes.splice(0), renewedMs, "lc-a");
    expect(returned.map(({ t, what }) => [Math.round(t), what])).toEqual([
      [
        25,
        "Node/lc-a /spec/taints/node.kubernetes.io/unreachable:NoSchedule/effect NoSchedule>-, /spec/taints/node.kubernetes.io/unreachable:NoSchedule/key node.kubernetes.io/unreachable>-",
      ],
      [
        29,
        "Node/lc-a /spec/taints/node.kubernetes.io/unreachable:NoExecute/effect NoExecute>-, /spec/taints/node.kubernetes.io/unreachable:NoExecute/key node.kubernetes.io/unreachable>-",
      ],
    ]);

    for (const name of ["lc-default", "lc-short"])
      on.cluster.delete("pods", "default", name, { gracePeriodSeconds: 0 });
    // pod GC looks every 20 s; its next pass is 14.4 s away, as recorded
    while ((on.clock.now() - (createdMs - 700)) % 20_000 !== 5_600) await on.clock.advance(100);
    on.cluster.changes.splice(0);
    const deletedMs = on.clock.now();
    on.cluster.delete("nodes", undefined, "lc-a");
    await beat(on, ["lc-b"], 60);
    const changes = on.cluster.changes.splice(0);
    const leaseGone = changes.find(({ type, resource }) => type === "DELETED" && resource === LEASES);
    expect((leaseGone?.atMs ?? Number.NaN) - deletedMs).toBeLessThan(500);
    const afterDeletion = (entries: readonly Entry[]) => entries.filter(({ what }) => !what.includes("RemovingNode"));
    expectSameTimetable(
      afterDeletion(ourTimeline(changes, deletedMs, "lc-a")),
      afterDeletion(recordedTimeline("two nodes", "admin deletes node lc-a", undefined)),
    );
    expect(
      changes.some(({ object }) => object["message"] === "Node lc-a event: Removing Node lc-a from Controller"),
    ).toBe(true);
  });

  test("one node only: no NoExecute taint, no eviction", async () => {
    const on = await start();
    await on.clock.advance(3_600); // passes at 1.4 s after the creation, 41.1 s after the last renewal
    const node = createNode(on, "lc-only");
    await on.clock.advance(300);
    renewLease(on, "lc-only", node);
    await on.clock.advance(5_900);
    createPod(on, "lc-pod", "lc-only", { toleratedSeconds: 5 });
    await on.clock.advance(4_100);
    renewLease(on, "lc-only");
    on.cluster.changes.splice(0);
    const lastMs = on.clock.now();
    await on.clock.advance(85_000);
    expectSameTimetable(
      ourTimeline(on.cluster.changes.splice(0), lastMs, "lc-only"),
      recordedTimeline("one node only", "last lease renewal", "lease renewed and status").filter(({ t }) => t < 80),
    );
    renewLease(on, "lc-only");
    patchStatus(on, "lc-only");
    on.cluster.changes.splice(0);
    const backMs = on.clock.now();
    await beat(on, ["lc-only"], 15);
    expectSameTimetable(
      ourTimeline(on.cluster.changes.splice(0), backMs, "lc-only"),
      recordedTimeline("one node only", "lease renewed and status", undefined),
    );
  });

  test("conditions that a node reports itself, cordon, and a node that never reports", async () => {
    const on = await start();
    const ok = createNode(on, "lc-ok");
    renewLease(on, "lc-ok", ok);
    await on.clock.advance(4_000);
    const node = createNode(on, "lc-nr");
    renewLease(on, "lc-nr", node);
    await on.clock.advance(6_200);
    createPod(on, "lc-nrp", "lc-nr", { toleratedSeconds: 300 });
    await on.clock.advance(2_000); // passes at 2.8 s after this moment
    const part = async (fromMark: string, toMark: string | undefined, zeroMs: number, seconds: number) => {
      on.cluster.changes.splice(0);
      await beat(on, ["lc-ok", "lc-nr"], seconds);
      const recorded = recordedTimeline("conditions a node reports", fromMark, toMark).filter(({ t }) => t <= seconds);
      // Events about pods were not followed in this recording.
      const ours = ourTimeline(on.cluster.changes.splice(0), zeroMs, "lc-nr").filter(
        ({ what }) => !what.includes("Pod"),
      );
      expectSameTimetable(ours, recorded);
    };
    patchStatus(on, "lc-nr", { Ready: ["False", "KubeletNotReady", "container runtime network not ready"] });
    await part("lc-nr itself patches Ready=False", "lc-nr patches Ready=True", on.clock.now(), 11.9);
    await on.clock.advance(100);
    patchStatus(on, "lc-nr");
    await part("lc-nr patches Ready=True again", "lc-nr patches MemoryPressure=True", on.clock.now(), 7.9);
    patchStatus(on, "lc-nr", { MemoryPressure: ["True", "KubeletHasInsufficientMemory", "m"] });
    await part("lc-nr patches MemoryPressure=True", "lc-nr patches MemoryPressure=False", on.clock.now(), 6.9);
    patchStatus(on, "lc-nr");
    await part("lc-nr patches MemoryPressure=False", "admin sets spec.unschedulable", on.clock.now() - 7_000, 7);
    on.cluster.patch("nodes", undefined, "lc-nr", (object) => ({
      ...object,
      spec: { ...(object["spec"] as object), unschedulable: true },
    }));
    await part("admin sets spec.unschedulable=true", "admin removes", on.clock.now(), 3.9);
    on.cluster.patch("nodes", undefined, "lc-nr", (object) => ({
      ...object,
      spec: { ...(object["spec"] as object), unschedulable: false },
    }));
    await part("admin removes spec.unschedulable", "lc-bare is created", on.clock.now() - 4_000, 4);
  });

  test("a node that never reports becomes Unknown after its startup grace period", async () => {
    const on = await start();
    const ok = createNode(on, "lc-ok");
    renewLease(on, "lc-ok", ok);
    await on.clock.advance(4_200);
    on.cluster.changes.splice(0);
    const createdMs = on.clock.now();
    on.cluster.create("nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "lc-bare" } });
    await beat(on, ["lc-ok"], 75);
    const ours = ourTimeline(on.cluster.changes.splice(0), createdMs, "lc-bare");
    expectSameTimetable(ours, recordedTimeline("conditions a node reports", "lc-bare is created", undefined));
    const bare = on.cluster.get("nodes", undefined, "lc-bare")?.["status"] as { conditions: { type: string }[] };
    expect(bare.conditions.map(({ type }) => type)).toEqual(["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"]);
  });
});

/** A healthy second node keeps the cluster out of the disruption of everything. */
async function withSilentNode(kubeVersion: string): Promise<Harness> {
  const on = await start(kubeVersion);
  renewLease(on, "n2", createNode(on, "n2"));
  renewLease(on, "n1", createNode(on, "n1"));
  await on.clock.advance(0);
  return on;
}

function readyOf({ cluster }: Harness, name: string): string | undefined {
  const status = cluster.get("nodes", undefined, name)?.["status"] as {
    conditions?: { type: string; status: string }[];
  };
  return status.conditions?.find(({ type }) => type === "Ready")?.status;
}

for (const [kubeVersion, graceSeconds] of [
  ["1.25", 40],
  ["1.31", 40],
  ["1.32", 50],
] as const) {
  test(`in ${kubeVersion} a node is Unknown ${graceSeconds} s after its last heartbeat, and the trace says by which constant`, async () => {
    const on = await withSilentNode(kubeVersion);
    const noticedSeconds = 5; // the pass that sees the lease of a node made right after the start
    await beat(on, ["n2"], graceSeconds + noticedSeconds - 0.1);
    expect(readyOf(on, "n1")).toBe("True");
    await on.clock.advance(200);
    expect(readyOf(on, "n1")).toBe("Unknown");
    const decision = on.facts.find(
      (fact) => fact.kind === "decision" && fact.what.includes("n1: the conditions become Unknown"),
    );
    expect(decision).toMatchObject({
      actor: "controller",
      why: `${graceSeconds}.0 s since the controller last saw the lease renewed or a status posted`,
      constants: [
        { name: "nodeMonitorGracePeriod", value: `${graceSeconds} s` },
        { name: "nodeMonitorPeriod", value: "5 s" },
      ],
      upstream: { file: "pkg/controller/nodelifecycle/node_lifecycle_controller.go", func: "tryUpdateNodeHealth" },
    });
    expect(on.facts.some((fact) => fact.kind === "decision" && fact.why.includes("of the grace period left"))).toBe(
      true,
    );
  });
}

test("since 1.26 an evicted pod says why it goes; since 1.29 its event comes from taint-eviction-controller and names the pod's version", async () => {
  for (const [kubeVersion, reasons, component] of [
    ["1.25", [], "taint-controller"],
    ["1.26", ["DeletionByTaintManager"], "taint-controller"],
    ["1.29", ["DeletionByTaintManager"], "taint-eviction-controller"],
  ] as const) {
    const on = await withSilentNode(kubeVersion);
    createPod(on, "p", "n1", { toleratedSeconds: 1 });
    await beat(on, ["n2"], 60);
    const pod = on.cluster.get("pods", "default", "p");
    const { conditions: found = [] } = (pod?.["status"] ?? {}) as { conditions?: { type: string; reason?: string }[] };
    expect(pod?.metadata.deletionGracePeriodSeconds).toBe(30);
    expect(found.flatMap(({ type, reason }) => (type === "DisruptionTarget" ? [reason] : []))).toEqual(reasons);
    const eviction = on.cluster.list("events").find(({ reason }) => reason === "TaintManagerEviction");
    expect(eviction?.["source"]).toEqual({ component });
    const about = { kind: "Pod", namespace: "default", name: "p" };
    expect(eviction?.["involvedObject"]).toEqual(kubeVersion === "1.29" ? { apiVersion: "v1", ...about } : about);
    await on.stop();
  }
});

test("a pod that lands on a node which is not ready is marked not ready, and evicted in its turn", async () => {
  const on = await withSilentNode("1.25");
  await beat(on, ["n2"], 60);
  createPod(on, "late", "n1", { toleratedSeconds: 20 });
  await on.clock.advance(0);
  const late = on.cluster.get("pods", "default", "late");
  expect(late?.["status"]).toMatchObject({ conditions: [{ type: "Ready", status: "False" }] });
  await beat(on, ["n2"], 20);
  expect(on.cluster.get("pods", "default", "late")?.metadata.deletionTimestamp).toBeDefined();
});

test("an eviction that has not fired is cancelled when the node returns", async () => {
  const on = await withSilentNode("1.25");
  createPod(on, "p", "n1", { toleratedSeconds: 300 });
  await beat(on, ["n2"], 60);
  patchStatus(on, "n1");
  await beat(on, ["n1", "n2"], 400);
  expect(on.cluster.get("pods", "default", "p")?.metadata.deletionTimestamp).toBeUndefined();
  const messages = on.cluster.list("events").map(({ message }) => message);
  expect(messages).toContain("Cancelling deletion of Pod default/p");
});

test("a write that fails does not stop the controller: the next pass does it", async () => {
  const on = await withSilentNode("1.25");
  await beat(on, ["n2"], 40);
  on.cluster.failing.set("modify nodes", new Error("storage is away"));
  await beat(on, ["n2"], 10);
  expect(readyOf(on, "n1")).toBe("True");
  expect(on.facts.some((fact) => fact.kind === "error" && fact.message.includes("storage is away"))).toBe(true);
  on.cluster.failing.clear();
  await beat(on, ["n2"], 10);
  expect(readyOf(on, "n1")).toBe("Unknown");
});

test("beta labels follow the stable ones, and new nodes get a range and an annotation", async () => {
  const on = await start();
  on.cluster.create("nodes", {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: "n",
      labels: { "kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "amd64" },
    },
    status: { conditions: conditions(on.clock.now()) },
  });
  await on.clock.advance(0);
  const node = on.cluster.get("nodes", undefined, "n");
  expect(node?.metadata.labels).toMatchObject({ "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm64" });
  expect(node?.metadata.annotations).toEqual({ "node.alpha.kubernetes.io/ttl": "0" });
  expect(node?.["spec"]).toEqual({ podCIDR: "10.244.0.0/24", podCIDRs: ["10.244.0.0/24"] });
});

test("a quiet cluster costs nothing but the monitor's pass and pod GC's", async () => {
  const on = await withSilentNode("1.25");
  await beat(on, ["n1", "n2"], 20);
  expect(on.clock.sleeping).toBe(2);
  on.cluster.changes.splice(0);
  await on.clock.advance(15_000);
  expect(on.cluster.changes).toEqual([]);
});
