import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { newHome, runCliProcess } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";

suiteNeeding(["kubectl"], "kubelab cluster up --with-system-pods", () => {
  const home = newHome();
  const flags = ["--kubeconfig", join(home, "state", "kubelab", "clusters", "system.kubeconfig")];
  const env = { ...process.env, HOME: home };
  const kubectl = (...args: string[]) => execFileSync("kubectl", [...flags, ...args], { encoding: "utf8", env });
  const lookUp = () =>
    spawnSync("kubectl", [...flags, "exec", "tool", "--", "getent", "hosts", "kubernetes.default"], { env }).status;

  beforeAll(async () => {
    const more = ["--nodes", "1", "--with-system-pods"];
    const up = await runCliProcess(home, "cluster", "up", "--name", "system", "--detach", ...more);
    assert.equal(up.code, 0, up.stderr);
    assert.match(up.stderr.replace(/\s+/g, " "), /with a control-plane node and 1 node/);
    kubectl("rollout", "status", "-n", "kube-system", "deployment/coredns", "--timeout=60s");
  });
  afterAll(() => runCliProcess(home, "cluster", "down", "--name", "system"));

  test("the control plane has a node of its own, and pods as kubeadm lays them out", () => {
    assert.match(
      kubectl("get", "nodes", "--no-headers"),
      /control-plane +Ready +control-plane .*\nnode-1 +Ready +<none>/,
    );
    const names = ["apiserver", "controller-manager", "scheduler"].map((name) => `pod/kube-${name}-control-plane`);
    kubectl("wait", "-n", "kube-system", "--for=condition=Ready", ...names, "--timeout=60s");
    const log = kubectl("logs", "-n", "kube-system", "kube-scheduler-control-plane");
    assert.match(log, /^kube-scheduler of this cluster runs in process \d+ of this machine, not in this container/);
    kubectl("run", "web", "--image=nginx");
    kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s");
    assert.equal(kubectl("get", "pod", "web", "-o", "jsonpath={.spec.nodeName}"), "node-1", "the taint keeps it away");
  });

  test("a proxy on each node, the tainted one too", () => {
    kubectl("rollout", "status", "-n", "kube-system", "daemonset/kube-proxy", "--timeout=60s");
    const onNodes = kubectl(
      "get",
      "pods",
      "-A",
      "-l",
      "k8s-app=kube-proxy",
      "-o",
      "jsonpath={.items[*].spec.nodeName}",
    );
    assert.deepEqual(onNodes.split(" ").sort(), ["control-plane", "node-1"]);
  });

  test("names are found by the pods of CoreDNS, and only by them", () => {
    kubectl("run", "tool", "--image=nettool");
    kubectl("wait", "--for=condition=Ready", "pod/tool", "--timeout=60s");
    const scale = (replicas: number) =>
      kubectl("scale", "-n", "kube-system", "deploy/coredns", `--replicas=${replicas}`);
    while (lookUp() !== 0);
    scale(0);
    while (lookUp() === 0);
    scale(1);
    while (lookUp() !== 0);
  });
});
