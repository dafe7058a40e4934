import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { kubectlAtLeast } from "../../support/kubectl.js";
import { KubectlCluster, podManifest } from "../../support/kubectl-cluster.js";
import { suiteNeeding } from "../../support/requirements.js";

const DRAIN = ["drain", "n1", "--force", "--ignore-daemonsets"];

suiteNeeding(["kubectl"], "kubectl on nodes", () => {
  let cluster: KubectlCluster;
  const kubectl = (...args: string[]) => cluster.kubectl.run(...args);
  const field = (what: string, path: string) => kubectl("get", what, "-o", `jsonpath={${path}}`);

  beforeAll(async () => {
    cluster = await KubectlCluster.start(["n1", "n2"]);
  });
  afterAll(() => cluster.close());

  test("taint: set, refused a second time, overwritten, removed; a pod that does not tolerate it goes elsewhere", async () => {
    expect(await kubectl("taint", "node", "n1", "k=v:NoSchedule")).toBe("node/n1 tainted\n");
    const again = await cluster.kubectl.try(["taint", "node", "n1", "k=w:NoSchedule"]);
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("already has k taint(s)")]);
    expect(await kubectl("taint", "node", "n1", "k=w:NoSchedule", "--overwrite")).toBe("node/n1 modified\n");
    expect(await field("node/n1", ".spec.taints[*].value")).toBe("w");
    await kubectl("create", "-f", cluster.kubectl.file("t.json", podManifest("tainted")));
    await kubectl("wait", "--for=condition=Ready", "pod/tainted", "--timeout=15s");
    expect(await field("pod/tainted", ".spec.nodeName")).toBe("n2");
    await kubectl("delete", "pod", "tainted");
    expect(await kubectl("taint", "node", "n1", "k-")).toBe("node/n1 untainted\n");
    expect(await field("node/n1", ".spec.taints")).toBe("");
  });

  test("cordon and uncordon, each twice", async () => {
    expect(await kubectl("cordon", "n1")).toBe("node/n1 cordoned\n");
    expect(await kubectl("cordon", "n1")).toBe("node/n1 already cordoned\n");
    expect(await kubectl("get", "node", "n1")).toMatch(/^n1 +Ready,SchedulingDisabled /m);
    expect(await kubectl("describe", "node", "n1")).toMatch(/^Unschedulable: +true$/m);
    expect(await kubectl("uncordon", "n1")).toBe("node/n1 uncordoned\n");
    expect(await kubectl("uncordon", "n1")).toBe("node/n1 already uncordoned\n");
  });

  describe("drain", () => {
    beforeEach(async () => {
      await kubectl("uncordon", "n1");
      const items = ["e1", "e2"].map((name) => podManifest(name, { nodeName: "n1" }));
      const path = cluster.kubectl.file("e.json", { apiVersion: "v1", kind: "List", items });
      await kubectl("apply", "-f", path);
      await kubectl("wait", "--for=condition=Ready", "pod/e1", "pod/e2", "--timeout=15s");
    });

    test("refuses pods that no controller would replace, and leaves the node cordoned", async () => {
      const { code, stderr } = await cluster.kubectl.try(["drain", "n1"]);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/cannot delete .*(declare no controller|ReplicationController)/i),
      ]);
      expect(await field("node/n1", ".spec.unschedulable")).toBe("true");
      expect(await kubectl("get", "pods", "-o", "name")).toBe("pod/e1\npod/e2\n");
    });

    for (const dryRun of ["client", "server"]) {
      test(`--dry-run=${dryRun} changes nothing`, async (context) => {
        if (dryRun === "server" && !kubectlAtLeast(21)) {
          return context.skip("kubectl forgets the kind of the pods that it evicts before 1.21");
        }
        expect(await kubectl(...DRAIN, `--dry-run=${dryRun}`)).toMatch(/node\/n1 drained/);
        expect(await field("node/n1", ".spec.unschedulable")).toBe("");
        expect(await field("pod/e1", ".metadata.deletionTimestamp")).toBe("");
      });
    }

    test("a disruption budget holds a pod back, until the time is over", async () => {
      const budget = { minAvailable: 1, selector: { matchLabels: { app: "e1" } } };
      const metadata = { name: "keep" };
      const object = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata, spec: budget };
      await kubectl("create", "-f", cluster.kubectl.file("pdb.json", object));
      const { code, stderr } = await cluster.kubectl.try([...DRAIN, "--timeout=2s"]);
      expect(code).toBe(1);
      expect(stderr).toContain("Cannot evict pod as it would violate the pod's disruption budget");
      expect(await field("pod/e1", ".metadata.deletionTimestamp")).toBe("");
      await kubectl("delete", "pdb", "keep");
    });

    test("evicts the pods and waits until they are gone", async () => {
      const { code, stdout, stderr } = await cluster.kubectl.try(DRAIN);
      expect([code, stderr]).toEqual([0, expect.stringContaining("deleting Pods")]);
      expect(stdout).toMatch(
        /^node\/n1 cordoned\n[\s\S]*evicting pod default\/e1[\s\S]*pod\/e1 evicted[\s\S]*node\/n1 (drained|evicted)\n$/,
      );
      expect(await kubectl("get", "pods", "-o", "name")).toBe("");
    });
  });

  test("a pod that fits nowhere reports that, and is scheduled once it fits", async () => {
    await kubectl("cordon", "n1");
    await kubectl("cordon", "n2");
    await kubectl("create", "-f", cluster.kubectl.file("u.json", podManifest("nowhere")));
    await kubectl("wait", "--for=condition=PodScheduled=False", "pod/nowhere", "--timeout=15s");
    const why = await field("pod/nowhere", ".status.conditions[0].message");
    expect(why).toMatch(/^0\/2 nodes are available: 2 node\(s\) were unschedulable\./);
    expect(await kubectl("describe", "pod", "nowhere")).toMatch(
      /Warning +FailedScheduling .*default-scheduler +0\/2 nodes/,
    );
    await kubectl("uncordon", "n2");
    await kubectl("wait", "--for=condition=Ready", "pod/nowhere", "--timeout=15s");
    await kubectl("uncordon", "n1");
    await kubectl("delete", "pod", "nowhere");
  });

  test("delete: the node goes, and its lease after it", async () => {
    await cluster.nodes[1]?.close();
    expect(await kubectl("delete", "node", "n2")).toContain('node "n2" deleted');
    const lease = () => kubectl("get", "lease", "n2", "-n", "kube-node-lease", "--ignore-not-found");
    while ((await lease()) !== "");
  });
});
