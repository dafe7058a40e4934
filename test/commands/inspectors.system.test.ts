import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { missingPath } from "../support/missing-path.js";
import { runInProcess } from "../support/run-cli.js";

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: { containers: [{ name: "c", image: "i" }] },
};

/** Runs an inspector until its node is up and it has printed this, then interrupts it. */
async function until(argv: readonly string[], said: RegExp) {
  const stop = new AbortController();
  const run = await runInProcess(argv, {
    signal: stop.signal,
    onStderr: (text) => {
      if (said.test(text) && /is\s+up,\s+and\s+reads\s+manifests/.test(text)) stop.abort();
    },
  });
  const stderr = run.stderr.replaceAll(/\s+/g, " ");
  return { ...run, stderr, result: JSON.parse(run.stdout) as Record<string, unknown> };
}

test("static-pod: without a folder of its own it begins with one manifest, and its result is one JSON document", async () => {
  const { code, result, stderr } = await until(["static-pod", "--json"], /phase Pending (→|->) Running/);
  assert.equal(code, 130);
  const [pod] = result["staticPods"] as Record<string, unknown>[];
  assert.deepEqual([pod?.["pod"], pod?.["kind"], pod?.["phase"]], ["default/web-static-node", "static", "Running"]);
  assert.equal(typeof pod?.["mirrorUid"], "string");
  assert.match(stderr, /create the mirror pod default\/web-static-node/);
  assert.doesNotMatch(stderr, /the next renewal is due in/);
});

test("static-pod --manifest-dir: bad files are reported and skipped, of two with one name the last counts", async () => {
  const folder = mkdtempSync(join(tmpdir(), "manifests-"));
  writeFileSync(join(folder, "a.json"), JSON.stringify(POD));
  writeFileSync(join(folder, "b.json"), JSON.stringify({ ...POD, metadata: { name: "web", labels: { b: "1" } } }));
  writeFileSync(join(folder, "c.json"), '{"apiVersion": "v1", "kind": "Po');
  mkdirSync(join(folder, "d"));
  const { result, stderr } = await until(
    ["static-pod", "--json", "--manifest-dir", folder],
    /worker syncing[\s\S]*create the mirror pod/,
  );
  assert.equal((result["staticPods"] as unknown[]).length, 1);
  assert.match(stderr, /b\.json[\s\S]*a\.json has a pod of the same name/);
  assert.match(stderr, /can't process config file[\s\S]*c\.json/);
  assert.match(stderr, /it is a folder/);
});

test("static-pod --manifest-dir: a folder that does not exist is named at the start and at the end", async () => {
  const missing = join(mkdtempSync(join(tmpdir(), "manifests-")), "missing");
  const run = await runInProcess(["static-pod", "--duration", "10ms", "--manifest-dir", missing]);
  assert.deepEqual([run.code, run.stdout], [0, `no static pod: ${missing} does not exist\n`], run.stderr);
  assert.match(run.stderr.replaceAll(/\s+/g, " "), /missing, which does not exist yet\./);
});

test("pod-manager: prints the address of its page", async () => {
  const { result } = await until(["pod-manager", "--json"], /Page: http:\/\/127\.0\.0\.1:\d+\//);
  assert.deepEqual([result["pods"], result["node"]], [[], "manager-node"]);
});

test("pod-worker --duration: ends by itself, with 0", async () => {
  const run = await runInProcess(["pod-worker", "--duration", "10ms"]);
  assert.deepEqual([run.code, run.stdout], [0, "no pod has a worker\n"]);
});

const folder = mkdtempSync(join(tmpdir(), "handlers-"));
writeFileSync(join(folder, "none.mjs"), "export const x = 1;");
writeFileSync(join(folder, "good.mjs"), "export default () => {};");

const wrong: readonly [string, RegExp][] = [
  ["static-pod --name Node_1", /Node_1/],
  ["static-pod --duration soon", /--duration/],
  ["static-pod --speed 0", /--speed/],
  ["static-pod extra", /too many arguments/],
  ["static-pod --http 127.0.0.1:1", /unknown option '--http'/],
  ["pod-manager --http 0.0.0.0:80", /--http.*\n?.*an address of this machine/],
  ["pod-manager --http 127.0.0.1:99999", /--http/],
  [`pod-manager --kubeconfig ${missingPath()} --speed 2`, /--speed is for the embedded/],
  ["pod-worker --hold-cache=yes", /hold-cache/],
  [`pod-worker --cri unix://${missingPath()}`, /--yes/],
  ["pod-worker --yes --cri http://x", /http:\/\/x/],
  ["node --handler x.mjs --handler-command true", /--handler and --handler-command contradict/],
  ["node --handler x.mjs --cri unix:///x", /--handler and --cri contradict/],
  ["node --handler-command true --cri unix:///x", /--handler-command and --cri contradict/],
  ["node --handler-timeout 5m", /--handler-timeout is for/],
  ["node --handler-timeout 0 --handler-command true", /leaves no time/],
  ["node --handler-timeout long --handler-command true", /--handler-timeout/],
  ["node --handler-command ", /--handler-command is empty/],
  ["node --handler missing.mjs", /handler missing\.mjs: no such file/],
  ["node --handler .", /handler \.: it is not a file/],
  ["node --handler none.mjs", /exports no function/],
];
for (const [line, message] of wrong) {
  test(`${line}: one clear error`, async () => {
    const { code, stderr, stdout } = await runInProcess(line.split(" "), { cwd: folder });
    assert.deepEqual([code, stdout], [2, ""], stderr);
    assert.match(stderr.replaceAll(/\s+/g, " "), new RegExp(message.source.replaceAll("\\n?.*", ".*")));
    assert.equal(stderr.match(/✗|error:/g)?.length ?? 1, 1, stderr);
    if (line.startsWith("node ")) assert.doesNotMatch(stderr, /control plane/);
  });
}
