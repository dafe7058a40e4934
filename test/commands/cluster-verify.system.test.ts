import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { runInProcess } from "../support/run-cli.js";

const folder = mkdtempSync(join(tmpdir(), "kubelab-verify-"));
const env = { HOME: folder, XDG_STATE_HOME: join(folder, "state") };
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A cluster of this process, until it is closed. */
async function up(...flags: readonly string[]): Promise<AsyncDisposable> {
  const stop = new AbortController();
  let ended: Promise<unknown> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    const onStdout = () => resolve();
    ended = runInProcess(["cluster", "up", ...flags], { env, signal: stop.signal, onStdout });
    ended.then(() => reject(new Error("it ended")), reject);
  });
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}

test("cluster up --verify-kubelets does not join a cluster that runs without it", async () => {
  await using _running = await up("--name", "easy");
  const { code, stderr } = await runInProcess(["cluster", "up", "--name", "easy", "--verify-kubelets"], { env });
  assert.equal(code, 2, stderr);
  assert.match(stderr.replace(/\s+/g, " "), /cluster easy is running already, without --verify-kubelets/);
});

test("cluster up joins a cluster that runs with it, with or without the flag", async () => {
  await using _running = await up("--name", "strict", "--verify-kubelets");
  for (const flags of [[], ["--verify-kubelets"]]) {
    const argv = ["cluster", "up", "--name", "strict", "--json", ...flags];
    const { code, stdout, stderr } = await runInProcess(argv, { env });
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).verifyKubelets, true);
  }
});

test("cluster up with another number of nodes than the running cluster: an error with a hint", async () => {
  await using _running = await up("--name", "empty");
  const { code, stderr } = await runInProcess(["cluster", "up", "--name", "empty", "--nodes", "5"], { env });
  assert.equal(code, 2, stderr);
  const text = stderr.replace(/\s+/g, " ");
  assert.match(text, /cluster empty is running already, with no nodes, not 5/);
  assert.match(text, /kubelab cluster down.*kubelab node/);
});
