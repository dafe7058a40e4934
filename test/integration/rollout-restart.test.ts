import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { newHome, runCliProcess } from "../support/cli-process.js";
import { TestEtcd } from "../support/etcd.js";
import { suiteNeeding } from "../support/requirements.js";

interface Place {
  /** flags of `cluster up` */
  readonly flags: readonly string[];
  stop(): Promise<void>;
}

suiteNeeding(["kubectl", "etcd"], "a cluster on etcd that is killed during a rollout", () => {
  finishesRollout(async () => {
    const etcd = await TestEtcd.start();
    return { flags: ["--etcd", etcd.url], stop: () => etcd.stop() };
  });
});

suiteNeeding(["kubectl"], "a cluster on disk that is killed during a rollout", () => {
  finishesRollout(async () => {
    const folder = mkdtempSync(join(tmpdir(), "kubelab-data-"));
    return { flags: ["--data", folder], stop: async () => rmSync(folder, { recursive: true }) };
  });
});

function finishesRollout(open: () => Promise<Place>): void {
  const home = newHome();
  const file = (name: string) => join(home, "state", "kubelab", "clusters", name);
  const kubectl = (...args: string[]) =>
    execFileSync("kubectl", ["--kubeconfig", file("again.kubeconfig"), ...args], {
      encoding: "utf8",
      env: { ...process.env, HOME: home },
    });
  const images = () =>
    new Set(kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.containers[*].image}").split(" "));
  let place: Place;
  const up = async () => {
    const started = await runCliProcess(
      home,
      ...["cluster", "up", "--name", "again", "--detach", "--nodes", "2", ...place.flags],
    );
    assert.equal(started.code, 0, started.stderr);
  };

  beforeAll(async () => {
    place = await open();
    await up();
  });
  afterAll(async () => {
    await runCliProcess(home, "cluster", "down", "--name", "again");
    await place.stop();
  });

  test("the next process of the cluster finishes it", async () => {
    kubectl("create", "deployment", "web", "--image=nginx:1.25", "--replicas=6");
    kubectl("rollout", "status", "deployment/web", "--timeout=60s");
    const before = kubectl("get", "deployment", "web", "-o", "jsonpath={.metadata.uid}");
    kubectl("set", "image", "deployment/web", "nginx=nginx:1.26");
    while (images().size < 2);
    process.kill(JSON.parse(readFileSync(file("again.json"), "utf8")).pid, "SIGKILL");
    await up();
    kubectl("rollout", "status", "deployment/web", "--timeout=120s");
    assert.equal(kubectl("get", "deployment", "web", "-o", "jsonpath={.metadata.uid}"), before);
    const sets = kubectl("get", "rs", "-o", "jsonpath={.items[*].status.replicas}").trim().split(" ");
    assert.deepEqual(
      sets.filter((count) => count !== "0" && count !== ""),
      ["6"],
    );
  });
}
