import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { loadKubeconfig } from "../../src/staging/client-go/clientcmd/kubeconfig.js";
import { createClient } from "../../src/staging/client-go/rest/create-client.js";
import { Trace } from "../../src/trace/trace.js";
import { SystemClock } from "../../src/util/clock.js";
import { SystemRandom } from "../../src/util/random.js";
import { runInProcess } from "../support/run-cli.js";

const folder = mkdtempSync(join(tmpdir(), "kubelab-any-image-"));
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

test("cluster up --images any runs a pod of an unknown image", async () => {
  await using _running = await up("--name", "any", "--nodes", "1", "--images", "any");
  const again = await runInProcess(["cluster", "up", "--name", "any", "--images", "any", "--json"], { env });
  assert.equal(again.code, 0, again.stderr);
  const { anyImage, kubeconfig } = JSON.parse(again.stdout);
  assert.equal(anyImage, true);
  const clock = new SystemClock();
  const deps = { clock, trace: new Trace(clock), random: new SystemRandom(), actor: "user" } as const;
  await using client = createClient((await loadKubeconfig(kubeconfig)).config, deps);
  const pods = "/api/v1/namespaces/default/pods";
  const containers = [{ name: "app", image: "registry.invalid/me/app:3", command: ["/srv/app"] }];
  const body = { apiVersion: "v1", kind: "Pod", metadata: { name: "foreign" }, spec: { containers } };
  await client.expect({ method: "POST", path: pods, body });
  const phase = async () =>
    (await client.expect<{ readonly status?: { readonly phase?: string } }>({ method: "GET", path: `${pods}/foreign` }))
      .status?.phase;
  while ((await phase()) !== "Running") await clock.sleep(50);
  const { body: log } = await client.request<unknown>({ method: "GET", path: `${pods}/foreign/log` });
  assert.equal(log, "kubelab has no /srv/app: this process only waits for a signal\n");
});

test("cluster up --images any does not join a cluster that runs without it", async () => {
  await using _running = await up("--name", "known");
  const { code, stderr } = await runInProcess(["cluster", "up", "--name", "known", "--images", "any"], { env });
  assert.equal(code, 2, stderr);
  assert.match(stderr.replace(/\s+/g, " "), /cluster known is running already, without --images any/);
});

test("node --images any with --cri is refused", async () => {
  const { code, stderr } = await runInProcess(["node", "--images", "any", "--cri", "unix:///nowhere.sock"], { env });
  assert.equal(code, 2, stderr);
  assert.match(stderr.replace(/\s+/g, " "), /--images any and --cri contradict each other/);
});
