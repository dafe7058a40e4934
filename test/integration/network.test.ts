import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { newHome, runCliProcess } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";

suiteNeeding(["kubectl"], "the network of a cluster with two nodes", () => {
  const home = newHome();
  const flags = ["--kubeconfig", join(home, "state", "kubelab", "clusters", "net.kubeconfig")];
  const env = { ...process.env, HOME: home };
  const kubectl = (...args: string[]) => execFileSync("kubectl", [...flags, ...args], { encoding: "utf8", env });
  const inPod = (...command: string[]) => {
    const { stdout, stderr, status } = spawnSync("kubectl", [...flags, "exec", "tool", "--", ...command], {
      encoding: "utf8",
      env,
    });
    return { stdout, stderr, status };
  };
  /** Runs the command in the pod until it succeeds: rules follow endpoints within a second. */
  const untilOk = (...command: string[]) => {
    for (;;) {
      const result = inPod(...command);
      if (result.status === 0) return result.stdout;
    }
  };
  const served = (pod: string) => kubectl("logs", pod).includes('"GET / HTTP/1.1" 200');

  beforeAll(async () => {
    const up = await runCliProcess(home, "cluster", "up", "--name", "net", "--detach", "--nodes", "2");
    assert.equal(up.code, 0, up.stderr);
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2", "--port=80");
    kubectl("expose", "deployment", "web");
    kubectl("run", "tool", "--image=nettool");
    kubectl("rollout", "status", "deployment", "web", "--timeout=60s");
    kubectl("wait", "--for=condition=Ready", "pod", "tool", "--timeout=60s");
  });
  afterAll(() => runCliProcess(home, "cluster", "down", "--name", "net"));

  test("a Service answers by name, from pods on both nodes", () => {
    const lines = kubectl(
      "get",
      "pods",
      "-l",
      "app=web",
      "-o",
      "jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName} {.status.podIP}{'\\n'}{end}",
    );
    const pods = lines
      .trim()
      .split("\n")
      .map((line) => line.split(" "));
    assert.deepEqual(pods.map(([, node]) => node).sort(), ["node-1", "node-2"]);
    for (const [, , ip = ""] of pods) assert.match(inPod("curl", "-s", ip).stdout, /Welcome to nginx/);
    for (const url of ["web", "web.default", "http://web.default.svc.cluster.local:80/"]) {
      assert.match(untilOk("curl", "-s", url), /Welcome to nginx/);
    }
    while (!pods.every(([name = ""]) => served(name))) untilOk("wget", "-qO-", "http://web");
    assert.match(
      inPod("nslookup", "web").stdout,
      /Name: {6}web\nAddress 1: 10\.\S+ web\.default\.svc\.cluster\.local\n/,
    );
    assert.match(inPod("nc", "-zv", "web", "80").stderr, /^web \(10\.[\d.]+:80\) open/);
  });

  test("pods reach the API server with their service account, and nothing outside", () => {
    const folder = "/var/run/secrets/kubernetes.io/serviceaccount";
    const script = `curl -s --cacert ${folder}/ca.crt -H "Authorization: Bearer $(cat ${folder}/token)" https://kubernetes.default/apis`;
    assert.equal(JSON.parse(inPod("sh", "-c", script).stdout).kind, "APIGroupList");
    const outside = inPod("curl", "-sS", "http://192.0.2.1");
    assert.deepEqual([outside.status, /Network is unreachable/.test(outside.stderr)], [7, true]);
    assert.equal(inPod("curl", "-sS", "http://example.com").status, 6);
  });

  test("kubelab proxy rules shows where the Service leads, and names what it cannot find", async () => {
    const rules = await runCliProcess(home, "proxy", "rules", "--node", "node-2");
    assert.equal(rules.code, 0, rules.stderr);
    assert.match(rules.stdout, /^node-2:\n {2}SERVICE +PACKETS TO +FROM +VERDICT +ENDPOINTS\n/);
    assert.match(
      rules.stdout,
      /default\/web +10\.[\d.]+:80\/tcp +all +KUBE-SVC-[A-Z2-7]{16} +10\.244\.0\.\d+:80\n +10\.244\.1\.\d+:80\n/,
    );
    const json = await runCliProcess(home, "proxy", "rules", "--json");
    assert.deepEqual(
      JSON.parse(json.stdout).nodes.map(({ node }: { readonly node: string }) => node),
      ["node-1", "node-2"],
    );
    const wrong = await runCliProcess(home, "proxy", "rules", "--node", "node-9");
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /cluster net has no embedded node node-9\n.*node-1, node-2/);
    const other = await runCliProcess(newHome(), "proxy", "rules");
    assert.equal(other.code, 2);
    assert.match(other.stderr, /no cluster runs/);
  });

  test("without ready pods the Service refuses connections", () => {
    kubectl("scale", "deployment", "web", "--replicas=0");
    for (;;) {
      const { status, stderr } = inPod("curl", "-sS", "http://web");
      if (status === 0) continue;
      assert.equal(status, 7, stderr);
      assert.match(stderr, /Connection refused/);
      return;
    }
  });
});
