import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { newHome, runCliProcess } from "../../support/cli-process.js";
import { suiteNeeding } from "../../support/requirements.js";

suiteNeeding(["kubectl"], "kubectl with a cluster that serves HTTP/2", () => {
  const home = newHome();
  const kubeconfig = join(home, "state", "kubelab", "clusters", "two.kubeconfig");
  const kubectl = (args: readonly string[], input = "") =>
    execFileSync("kubectl", ["--kubeconfig", kubeconfig, ...args], {
      encoding: "utf8",
      input,
      env: { ...process.env, HOME: home },
    });

  beforeAll(async () => {
    const flags = ["--name", "two", "--detach", "--nodes", "1", "--http2"];
    const started = await runCliProcess(home, "cluster", "up", ...flags);
    assert.equal(started.code, 0, started.stderr);
    kubectl(["run", "web", "--image=nginx"]);
    kubectl(["wait", "pod/web", "--for=condition=Ready", "--timeout=60s"]);
  });
  afterAll(async () => {
    await runCliProcess(home, "cluster", "down", "--name", "two");
  });

  test("requests, logs and the proxy over HTTP/2; exec, with its upgrade, over HTTP/1.1", () => {
    assert.equal(kubectl(["exec", "-i", "web", "--", "cat"], "through stdin"), "through stdin");
    assert.match(kubectl(["get", "--raw", "/api/v1/namespaces/default/pods/web:80/proxy/"]), /<html>/);
    assert.match(kubectl(["logs", "web"]), /"GET \/ HTTP\/1\.1" 200/);
    kubectl(["apply", "-f", "-"], JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", metadata: { name: "a" } }));
    kubectl(["label", "configmap", "a", "x=y"]);
    assert.equal(kubectl(["get", "configmap", "-l", "x=y", "-o", "name"]), "configmap/a\n");
    kubectl(["delete", "pod", "web", "--wait"]);
  });
});
