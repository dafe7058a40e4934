import { afterAll, beforeAll, expect, test } from "vitest";
import { KubectlCluster } from "../../support/kubectl-cluster.js";
import { suiteNeeding } from "../../support/requirements.js";

/** What the Deployment's status said, one line for each change: replicas, available replicas. */
const COUNTS = "jsonpath={.status.replicas} {.status.availableReplicas}{'\\n'}";

suiteNeeding(["kubectl"], "kubectl and workloads", () => {
  let cluster: KubectlCluster;
  const kubectl = (...args: string[]) => cluster.kubectl.run(...args);
  const rolledOut = () => kubectl("rollout", "status", "deployment/web", "--timeout=20s");

  beforeAll(async () => {
    cluster = await KubectlCluster.start(["n1", "n2"]);
    await kubectl("create", "deployment", "web", "--image=nginx:1", "--replicas=3");
    await rolledOut();
  });
  afterAll(() => cluster.close());

  test("a Deployment has a ReplicaSet and running pods", async () => {
    expect(await kubectl("get", "deployment", "web", "--no-headers")).toMatch(/^web +3\/3 +3 +3 /);
    expect(await kubectl("get", "rs", "--no-headers")).toMatch(/^web-\w+ +3 +3 +3 /);
    expect((await kubectl("get", "pods", "-l", "app=web", "--no-headers")).match(/ 1\/1 +Running /g)).toHaveLength(3);
  });

  test("a rolling update never has more pods than surge allows, nor fewer available ones than must be", async () => {
    const stop = new AbortController();
    let seen = "";
    const watching = cluster.kubectl.try(["get", "deployment", "web", "--watch", "-o", COUNTS], {
      signal: stop.signal,
      onOutput: (stdout) => {
        seen = stdout;
      },
    });
    await kubectl("set", "image", "deployment/web", "nginx=nginx:2");
    expect(await rolledOut()).toContain("successfully rolled out");
    stop.abort();
    await watching;
    const counts = seen
      .trim()
      .split("\n")
      .map((line) => line.split(" ").map(Number));
    expect(counts.length).toBeGreaterThan(2);
    expect(Math.max(...counts.map(([replicas = 0]) => replicas))).toBeLessThanOrEqual(4);
    expect(Math.min(...counts.map(([, available = 0]) => available))).toBeGreaterThanOrEqual(3);
  });

  test("history, undo, restart", async () => {
    expect(await kubectl("rollout", "history", "deployment/web")).toMatch(/^1 .*\n2 /m);
    expect(await kubectl("rollout", "history", "deployment/web", "--revision=1")).toContain("Image:\tnginx:1");
    expect(await kubectl("rollout", "undo", "deployment/web")).toContain("rolled back");
    await rolledOut();
    expect(await kubectl("get", "deployment", "web", "-o", "wide")).toContain("nginx:1");
    expect(await kubectl("rollout", "history", "deployment/web")).toMatch(/^2 .*\n3 /m);
    expect(await kubectl("rollout", "restart", "deployment/web")).toContain("restarted");
    await rolledOut();
    expect((await kubectl("get", "rs", "-o", "name")).trim().split("\n")).toHaveLength(3);
  });

  test("pause and resume", async () => {
    await kubectl("rollout", "pause", "deployment/web");
    await kubectl("set", "image", "deployment/web", "nginx=nginx:3");
    const paused = ["wait", "--for=jsonpath={.status.conditions[?(@.type=='Progressing')].reason}=DeploymentPaused"];
    await kubectl(...paused, "deployment/web", "--timeout=10s");
    expect((await kubectl("get", "rs", "-o", "name")).trim().split("\n")).toHaveLength(3);
    await kubectl("rollout", "resume", "deployment/web");
    await rolledOut();
    expect((await kubectl("get", "rs", "-o", "name")).trim().split("\n")).toHaveLength(4);
  });

  test("scale, wait, describe", async () => {
    await kubectl("scale", "deployment/web", "--replicas=5", "--current-replicas=3");
    await rolledOut();
    await kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=10s");
    const described = await kubectl("describe", "deployment", "web");
    expect(described).toMatch(/^Replicas: +5 desired \| 5 updated \| 5 total \| 5 available \| 0 unavailable$/m);
    expect(described).toMatch(/^ +Progressing +True +NewReplicaSetAvailable$/m);
    expect(described).toMatch(/^NewReplicaSet: +web-\w+ \(5\/5 replicas created\)$/m);
    expect(described).toMatch(/ScalingReplicaSet .* deployment-controller +.*Scaled (?:up|down) replica set web-\w+/);
    expect(await kubectl("describe", "rs")).toMatch(/^Controlled By: +Deployment\/web$/m);
  });

  test("a pod that is deleted is replaced", async () => {
    const [pod = ""] = (await kubectl("get", "pods", "-o", "name")).split("\n");
    await kubectl("delete", pod);
    await kubectl("wait", "--for=jsonpath={.status.availableReplicas}=5", "deployment/web", "--timeout=10s");
    expect(await kubectl("get", "pods", "-o", "name")).not.toContain(pod);
  });

  test("a ReplicationController scales and answers to its plain selector", async () => {
    const template = { metadata: { labels: { app: "rc" } }, spec: { containers: [{ name: "c", image: "nginx" }] } };
    const body = {
      apiVersion: "v1",
      kind: "ReplicationController",
      metadata: { name: "rc" },
      spec: { replicas: 1, template },
    };
    await kubectl("create", "-f", cluster.kubectl.file("rc.json", body));
    await kubectl("scale", "rc/rc", "--replicas=2");
    await kubectl("wait", "--for=jsonpath={.status.readyReplicas}=2", "rc/rc", "--timeout=10s");
    expect(await kubectl("describe", "rc", "rc")).toMatch(
      /SuccessfulCreate .* replication-controller +Created pod: rc-/,
    );
    await kubectl("delete", "rc", "rc");
  });

  test("what cannot work is refused with one sentence", async () => {
    const spec = {
      selector: { matchLabels: { app: "a" } },
      template: { metadata: { labels: { app: "b" } }, spec: { containers: [{ name: "c", image: "nginx" }] } },
    };
    const body = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "bad" }, spec };
    const refused = await cluster.kubectl.try(["create", "-f", cluster.kubectl.file("bad.json", body)]);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      'The Deployment "bad" is invalid: spec.template.metadata.labels: Invalid value: map[string]string{"app":"b"}: `selector` does not match template `labels`\n',
    ]);
  });

  test("the garbage collector takes everything away with the Deployment", async () => {
    await kubectl("delete", "deployment", "web");
    await kubectl("wait", "--for=delete", "pods", "-l", "app=web", "--timeout=20s");
    expect(await kubectl("get", "rs,pods", "-l", "app=web", "-o", "name")).toBe("");
  });
});
