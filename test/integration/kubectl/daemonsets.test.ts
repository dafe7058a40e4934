import { afterAll, beforeAll, expect, test } from "vitest";
import { KubectlCluster } from "../../support/kubectl-cluster.js";
import { suiteNeeding } from "../../support/requirements.js";

const LABELS = { app: "agent" };
const DAEMON_SET = {
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name: "agent", labels: LABELS },
  spec: {
    selector: { matchLabels: LABELS },
    template: {
      metadata: { labels: LABELS },
      spec: { terminationGracePeriodSeconds: 1, containers: [{ name: "app", image: "nginx:1" }] },
    },
  },
};

/** Available pods, one line for each change. */
const AVAILABLE = "jsonpath={.status.availableReplicas}{'\\n'}";

suiteNeeding(["kubectl"], "kubectl, DaemonSets and disruption budgets", () => {
  let cluster: KubectlCluster;
  const kubectl = (...args: string[]) => cluster.kubectl.run(...args);
  const field = (what: string, path: string) => kubectl("get", what, "-o", `jsonpath={${path}}`);
  const rolledOut = () => kubectl("rollout", "status", "ds/agent", "--timeout=20s");
  const nodesOf = async () => (await field("pods", ".items[*].spec.nodeName")).split(" ").sort().join(" ");

  beforeAll(async () => {
    cluster = await KubectlCluster.start(["n1", "n2"]);
    await kubectl("create", "-f", cluster.kubectl.file("ds.json", DAEMON_SET));
    await rolledOut();
  });
  afterAll(() => cluster.close());

  test("each node has a pod, bound by the scheduler", async () => {
    expect(await kubectl("get", "ds", "agent", "--no-headers")).toMatch(/^agent +2 +2 +2 +2 +2 +<none> /);
    expect(await nodesOf()).toBe("n1 n2");
    expect(await kubectl("get", "events")).toMatch(/Scheduled .*Successfully assigned default\/agent-\w+ to n2/);
  });

  test("history, undo, restart, describe", async () => {
    await kubectl("set", "image", "ds/agent", "app=nginx:2");
    expect(await rolledOut()).toContain("successfully rolled out");
    expect(await kubectl("rollout", "history", "ds/agent")).toMatch(/^1 .*\n2 /m);
    expect(await kubectl("rollout", "history", "ds/agent", "--revision=1")).toContain("Image:\tnginx:1");
    expect(await kubectl("rollout", "undo", "ds/agent")).toContain("rolled back");
    await rolledOut();
    expect(await field("pods", ".items[*].spec.containers[0].image")).toBe("nginx:1 nginx:1");
    expect(await kubectl("rollout", "undo", "ds/agent", "--to-revision=3")).toContain("skipped rollback");
    expect(await kubectl("rollout", "restart", "ds/agent")).toContain("restarted");
    await rolledOut();
    expect(await kubectl("get", "controllerrevisions", "--no-headers")).toMatch(
      /^agent-\w+ +daemonset.apps\/agent +4 /m,
    );
    expect(await kubectl("describe", "ds", "agent")).toMatch(/Number of Nodes Misscheduled: 0[\s\S]*SuccessfulDelete/);
  });

  test("a node's label decides", async () => {
    const selector = { spec: { template: { spec: { nodeSelector: { disk: "ssd" } } } } };
    await kubectl("patch", "ds", "agent", "--type=merge", "-p", JSON.stringify(selector));
    await kubectl("wait", "--for=delete", "pod", "-l", "app=agent", "--timeout=15s");
    await kubectl("label", "node", "n2", "disk=ssd");
    await rolledOut();
    expect(await nodesOf()).toBe("n2");
    await kubectl("label", "node", "n1", "disk=ssd");
    await rolledOut();
    expect(await nodesOf()).toBe("n1 n2");
  });

  test("drain keeps daemon pods, and evicts others as fast as their budget allows", async () => {
    const refused = await cluster.kubectl.try(["drain", "n1"]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("DaemonSet-managed")]);
    await kubectl("uncordon", "n1");
    await kubectl("create", "deployment", "web", "--image=nginx:1", "--replicas=4");
    await kubectl("create", "pdb", "web", "--selector=app=web", "--min-available=75%");
    await kubectl("rollout", "status", "deployment/web", "--timeout=20s");
    const stop = new AbortController();
    let seen = "";
    const watching = cluster.kubectl.try(["get", "deployment", "web", "--watch", "-o", AVAILABLE], {
      signal: stop.signal,
      onOutput: (stdout) => {
        seen = stdout;
      },
    });
    const { code, stdout } = await cluster.kubectl.try(["drain", "n1", "--ignore-daemonsets", "--timeout=40s"]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/pod\/web-\S+ evicted/)]);
    stop.abort();
    await watching;
    expect(Math.min(...seen.trim().split("\n").map(Number))).toBeGreaterThanOrEqual(3);
    const onNode = await kubectl("get", "pods", "--field-selector=spec.nodeName=n1", "-o", "name");
    expect(onNode).toMatch(/^pod\/agent-\w+\n$/);
    await kubectl("uncordon", "n1");
  });

  test("a budget that cannot be kept refuses, with its numbers", async () => {
    await kubectl("patch", "pdb", "web", "--type=merge", "-p", '{"spec":{"minAvailable":4}}');
    const { code, stderr } = await cluster.kubectl.try(["drain", "n2", "--ignore-daemonsets", "--timeout=2s"]);
    expect([code, stderr]).toEqual([1, expect.stringContaining("violate the pod's disruption budget")]);
    await kubectl("uncordon", "n2");
    expect(await kubectl("describe", "pdb", "web")).toMatch(/Allowed disruptions: +0\s+Current: +4\s+Desired: +4/);
  });

  test("delete: with orphans the pods stay, and a new set adopts them", async () => {
    const before = await field("pods", ".items[?(@.metadata.labels.app=='agent')].metadata.name");
    await kubectl("delete", "ds", "agent", "--cascade=orphan");
    expect(await field("pods", ".items[?(@.metadata.labels.app=='agent')].metadata.name")).toBe(before);
    await kubectl("create", "-f", cluster.kubectl.file("ds.json", DAEMON_SET));
    await rolledOut();
    await kubectl("delete", "ds", "agent");
    await kubectl("wait", "--for=delete", "pod", "-l", "app=agent", "--timeout=15s");
    expect(await kubectl("get", "controllerrevisions", "-o", "name")).toBe("");
  });
});
