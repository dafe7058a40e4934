import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { newHome, runCliProcess } from "../support/cli-process.js";
import { suiteNeeding } from "../support/requirements.js";

suiteNeeding(["kubectl"], "cluster up --data", () => {
  const home = newHome();
  const folder = mkdtempSync(join(tmpdir(), "kubelab-data-"));
  const kubectl = (...args: string[]) =>
    execFileSync("kubectl", ["--kubeconfig", join(home, "state", "kubelab", "clusters", "kept.kubeconfig"), ...args], {
      encoding: "utf8",
      env: { ...process.env, HOME: home },
    });
  const cluster = (...args: string[]) => runCliProcess(home, "cluster", ...args);
  const up = (name: string, ...flags: string[]) =>
    cluster("up", "--name", name, "--detach", "--data", folder, ...flags);
  const running = (namespace = "default") =>
    kubectl("get", "pods", "-n", namespace, "--field-selector=status.phase=Running", "-o", "name").split("\n").sort();

  afterAll(async () => {
    for (const name of ["kept", "other"]) await cluster("down", "--name", name);
    rmSync(folder, { recursive: true });
  });

  test("after cluster down, the next cluster up has the nodes and the pods, and they run", async () => {
    const first = await up("kept", "--nodes", "2", "--node-labels", "node-1:disk=ssd");
    assert.equal(first.code, 0, first.stderr);
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=3");
    kubectl("rollout", "status", "deployment/web", "--timeout=60s");
    const before = running();
    const elsewhere = await up("other");
    assert.equal(elsewhere.code, 2);
    assert.match(elsewhere.stderr, /is in use by another process \(pid \d+\)/);
    assert.equal((await cluster("down", "--name", "kept")).code, 0);

    const second = await up("kept", "--json");
    assert.equal(second.code, 0, second.stderr);
    assert.deepEqual([JSON.parse(second.stdout).nodes, JSON.parse(second.stdout).data], [2, folder]);
    kubectl("wait", "nodes", "--all", "--for=condition=Ready", "--timeout=60s");
    assert.match(kubectl("get", "nodes", "-l", "disk=ssd", "-o", "name"), /^node\/node-1\n$/);
    kubectl("rollout", "status", "deployment/web", "--timeout=60s");
    assert.deepEqual(running(), before);
    // The containers are new, so exec reaches a process that runs now.
    assert.match(kubectl("exec", "deployment/web", "--", "ps"), /nginx/);
    assert.equal((await cluster("down", "--name", "kept")).code, 0);
  });

  test("a damaged folder is refused with the file, the byte and what to do", async () => {
    const log = join(folder, "1.log");
    const text = readFileSync(log, "utf8");
    writeFileSync(log, text.replace('"kind":"Namespace"', '"kind":"namespace"'));
    const refused = await up("kept");
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /1\.log is damaged at byte \d+: the checksum is wrong\n.*truncate -s \d+ /);
    // What a crash left half-written is said, also by a cluster in the background.
    writeFileSync(log, `${text}0123`);
    const repaired = await up("kept");
    assert.equal(repaired.code, 0);
    const said = repaired.stderr.replaceAll(/\s+/g, " ");
    assert.match(said, /1\.log: its last 4 bytes were not written completely; cut off at byte \d+/);
  });
});
