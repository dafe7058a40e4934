import assert from "node:assert/strict";
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, test } from "vitest";
import { type RunningRuntime, startRuntime } from "../../../src/cluster/runtime/start.js";
import { ContainerLogManager, type LogRotatePolicy } from "../../../src/kubelet/logs/container-log-manager.js";
import { splitRotated } from "../../../src/kubelet/logs/rotated-logs.js";
import { type CriClient, createCriClient } from "../../../src/staging/cri/remote/create-cri-client.js";
import { RUNTIME_SERVICE as R } from "../../../src/staging/cri/services.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { CriDriver } from "../../cluster/runtime/cri-driver.js";
import { FakeClock, settle, untilTrue } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";

const { signal } = new AbortController();
const FIRST = "20260101-000000";
const PADDING = "2026-01-01T00:00:00Z stdout F padding\n".repeat(40);

let folder: string;
let runtime: RunningRuntime;
let cri: CriDriver;
let client: CriClient;
let clock: FakeClock;
let events: ReturnType<typeof recordingTrace>["events"];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "kubelab-logs-"));
  const wall = new SystemClock();
  const deps = { clock: wall, random: new SystemRandom(), trace: new Trace(wall) };
  runtime = await startRuntime({ ...deps, images: ["nginx"], pullMs: 0 });
  cri = new CriDriver(runtime.endpoint, "nginx");
  client = await createCriClient(runtime.endpoint, { clock: wall, trace: deps.trace, actor: "kubelet" }, {}, signal);
});
afterEach(async () => {
  await client.close();
  await cri.close();
  await runtime.close();
  rmSync(folder, { recursive: true });
});

function makeManager(policy: Partial<LogRotatePolicy> = {}, podLogsDirectory = folder): ContainerLogManager {
  clock = new FakeClock();
  const recorded = recordingTrace(clock);
  ({ events } = recorded);
  const deps = { runtimeService: client.runtime, clock, trace: recorded.trace };
  return new ContainerLogManager(deps, { podLogsDirectory, policy: { maxSize: 1_000, maxFiles: 3, ...policy } });
}

/** nginx logs when it starts and when it is stopped. @returns its ID, and its log, which is 0.log */
async function runNginx(): Promise<{ readonly id: string; readonly log: string }> {
  const sandbox = await cri.runSandbox({ logDirectory: folder });
  const labels = {
    "io.kubernetes.pod.namespace": "default",
    "io.kubernetes.pod.name": "web",
    "io.kubernetes.container.name": "nginx",
  };
  const id = await cri.run({ command: [], logPath: "0.log", labels }, sandbox);
  const log = join(folder, "0.log");
  await untilTrue(() => existsSync(log) && readFileSync(log, "utf8").includes("start worker processes"));
  return { id, log };
}

const files = () => readdirSync(folder).sort();
const errors = () => only(events, "error").map(({ message }) => message.replaceAll(folder, "."));

test("a large log is renamed, and the runtime opens a new one", async () => {
  const { id, log } = await runNginx();
  const manager = makeManager();
  await manager.rotateLogs(signal);
  assert.deepEqual(files(), ["0.log"]);

  appendFileSync(log, PADDING);
  const before = readFileSync(log, "utf8");
  await manager.rotateLogs(signal);
  assert.deepEqual(files(), ["0.log", `0.log.${FIRST}`]);
  assert.equal(readFileSync(`${log}.${FIRST}`, "utf8"), before);
  assert.equal(readFileSync(log, "utf8"), "");
  const [decision] = only(events, "decision");
  assert.equal(decision?.what, "rotate the log of default/web/nginx: 0.log becomes 0.log.20260101-000000");
  assert.equal(
    decision?.why,
    `${before.length} bytes, 1000 are allowed; the runtime opens a new file, and 3 files are kept`,
  );

  await cri.ok(R.stopContainer, { containerId: id, timeout: 1n });
  assert.match(readFileSync(log, "utf8"), /^\S+ stderr F .*signal 3 \(SIGQUIT\) received/);
  assert.deepEqual(errors(), []);
});

test("only the newest few are kept, all but the last compressed", async () => {
  const { log } = await runNginx();
  const manager = makeManager({ maxFiles: 4 });
  for (let round = 0; round < 5; round++) {
    writeFileSync(log, `${round} ${PADDING}`);
    await manager.rotateLogs(signal);
    await clock.advance(10_000);
  }
  assert.deepEqual(files(), ["0.log", "0.log.20260101-000020.gz", "0.log.20260101-000030.gz", "0.log.20260101-000040"]);
  const said = (name: string) => readFileSync(join(folder, name));
  assert.equal(gunzipSync(said("0.log.20260101-000020.gz")).toString(), `2 ${PADDING}`);
  assert.equal(gunzipSync(said("0.log.20260101-000030.gz")).toString(), `3 ${PADDING}`);
  assert.equal(said("0.log.20260101-000040").toString(), `4 ${PADDING}`);
});

test("every 10 s, until the signal; a negative size: never", async () => {
  const { log } = await runNginx();
  const stop = new AbortController();
  const running = makeManager().run(stop.signal);
  await untilTrue(() => clock.sleeping === 1);
  appendFileSync(log, PADDING);
  await clock.advance(9_999);
  assert.deepEqual(files(), ["0.log"]);
  await clock.advance(1);
  await untilTrue(() => clock.sleeping === 1);
  assert.deepEqual(files(), ["0.log", "0.log.20260101-000010"]);
  stop.abort();
  await assert.rejects(running, { name: "AbortError" });

  appendFileSync(log, PADDING);
  const stopNone = new AbortController();
  const none = makeManager({ maxSize: -1 }).run(stopNone.signal);
  await clock.advance(30_000);
  assert.equal(await Promise.race([none.then(() => "ended"), settle(10)]), undefined);
  assert.deepEqual(files(), ["0.log", "0.log.20260101-000010"]);
  stopNone.abort();
  await none;
});

test("a deleted log is opened again", async () => {
  const { id, log } = await runNginx();
  rmSync(log);
  await makeManager().rotateLogs(signal);
  await cri.ok(R.stopContainer, { containerId: id, timeout: 1n });
  assert.match(readFileSync(log, "utf8"), /signal 3 \(SIGQUIT\) received/);
});

test("a deleted log that cannot be opened again is reported as such, each round", async () => {
  const { log } = await runNginx();
  rmSync(log);
  const manager = makeManager();
  runtime.control.setFault("ReopenContainerLog", { fail: { code: "Unknown", message: "no such folder" } });
  await manager.rotateLogs(signal);
  await manager.rotateLogs(signal);
  assert.equal(errors().length, 2);
  for (const error of errors()) {
    assert.match(
      error,
      /^Container log doesn't exist, reopen container log failed of \S+ \(\.\/0\.log\): .*no such folder/,
    );
  }
});

test("a log that is still missing after it was opened again is reported, and not taken as empty", async () => {
  const { log } = await runNginx();
  rmSync(log);
  const { deps, options } = makeManager({ maxSize: 0 });
  const runtimeService: typeof deps.runtimeService = {
    listContainers: (...args) => client.runtime.listContainers(...args),
    containerStatus: (...args) => client.runtime.containerStatus(...args),
    reopenContainerLog: async () => ({ outcome: "ok", value: undefined }),
  };
  await new ContainerLogManager({ ...deps, runtimeService }, options).rotateLogs(signal);
  assert.match(errors().join("\n"), /^Failed to stat container log after reopen of \S+ \(\.\/0\.log\): ENOENT/);
});

test("logs of dead containers, and logs in other folders, are left alone", async () => {
  const { id, log } = await runNginx();
  appendFileSync(log, PADDING);
  await makeManager({}, join(folder, "another")).rotateLogs(signal);
  assert.deepEqual(files(), ["0.log"]);
  await cri.ok(R.stopContainer, { containerId: id, timeout: 1n });
  await makeManager().rotateLogs(signal);
  assert.deepEqual(files(), ["0.log"]);
});

const FAILURES: readonly (readonly [string, RegExp])[] = [
  [
    "ReopenContainerLog",
    /^Failed to rotate log for container \S+ \(\.\/0\.log\): failed to reopen container log.*lab fault/,
  ],
  ["ListContainers", /^Failed to rotate container logs: .*lab fault/],
  ["ContainerStatus", /^Failed to get container status of \S+: .*lab fault/],
];
test.for(FAILURES)("%s fails: the log has its name back, and the next round does it", async ([rpc, message]) => {
  const { log } = await runNginx();
  appendFileSync(log, PADDING);
  const manager = makeManager();
  runtime.control.setFault(rpc, { fail: { code: "Unavailable", message: "lab fault" } });
  await manager.rotateLogs(signal);
  assert.deepEqual(files(), ["0.log"]);
  assert.equal(errors().length, 1);
  assert.match(errors()[0] ?? "", message);
  runtime.control.setFault(rpc, undefined);
  await manager.rotateLogs(signal);
  assert.deepEqual(files(), ["0.log", `0.log.${FIRST}`]);
});

test("what an earlier rotation left half done goes", async () => {
  const { log } = await runNginx();
  appendFileSync(log, PADDING);
  for (const name of ["20250101-000000", "20250101-000000.gz", "20250102-000000.tmp"]) {
    writeFileSync(`${log}.${name}`, name);
  }
  await makeManager().rotateLogs(signal);
  assert.deepEqual(files(), ["0.log", "0.log.20250101-000000.gz", `0.log.${FIRST}`]);
});

test("which rotated files count", () => {
  const table: readonly (readonly [readonly string[], readonly string[], readonly string[]])[] = [
    [[], [], []],
    [["l.2", "l.1"], ["l.1", "l.2"], []],
    [["l.1.gz", "l.2"], ["l.1.gz", "l.2"], []],
    [["l.1", "l.1.gz"], ["l.1.gz"], ["l.1"]],
    [["l.1.tmp", "l.1"], ["l.1"], ["l.1.tmp"]],
    [["l.1.gz.tmp"], [], ["l.1.gz.tmp"]],
  ];
  for (const [names, inUse, unused] of table) assert.deepEqual(splitRotated(names), { inUse, unused });
});
