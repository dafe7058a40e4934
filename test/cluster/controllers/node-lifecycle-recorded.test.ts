import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { LEASES } from "./support/harness.js";
import { beat, createNode, createPod, patchStatus, renewLease, startNodeControllers } from "./support/nodes.js";
import { type Entry, expectSameTimetable, ourTimeline, RECORDING, recordedTimeline } from "./support/timetable.js";

describe.skipIf(!existsSync(RECORDING))(`as recorded (${RECORDING}; skipped where it is missing)`, () => {
  test("two nodes: one stops its heartbeats, pods are evicted, it returns, it is deleted", async () => {
    const on = await startNodeControllers();
    await on.clock.advance(700); // the controllers' passes are 4.3 s after the node's creation, as recorded
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
    // pod GC runs every 20 s; its next pass is 14.4 s away, as recorded
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
    const on = await startNodeControllers();
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
    const on = await startNodeControllers();
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
      // This recording has no events about pods.
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
    const on = await startNodeControllers();
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
