import assert from "node:assert/strict";
import { request } from "node:http";
import { afterAll, beforeAll, test } from "vitest";
import { type ControlServer, serveControl } from "../../../src/cluster/runtime/control/http.js";
import { only } from "../../support/trace.js";
import { RuntimeLab, stateOf } from "./lab.js";

const lab = new RuntimeLab();
let server: ControlServer;
beforeAll(async () => {
  server = await serveControl(lab.runtime.control, "127.0.0.1:0", lab.recorded.trace);
});
afterAll(async () => {
  await server.close();
  lab.stop();
});

async function ask(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; value: Record<string, unknown> }> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(`${server.url}${path}`, { method, ...(body === undefined ? {} : { body: text }) });
  return { status: response.status, value: (await response.json()) as Record<string, unknown> };
}

test("a pod's life by HTTP: run, look, kill, remove", async () => {
  const pod = {
    name: "web",
    namespace: "default",
    uid: "u1",
    sandboxId: "5a1d",
    containers: [{ name: "main", image: "busybox", id: "c0de", command: ["sleep", "600"], env: { A: "1" } }],
  };
  assert.deepEqual((await ask("POST", "/pods", pod)).value, { sandboxId: "5a1d", containerIds: ["c0de"] });
  const container = lab.core.container("c0de");
  const state = (await ask("GET", "/state")).value as { sandboxes: { containers: { state: string }[] }[] };
  assert.equal(state.sandboxes[0]?.containers[0]?.state, "running");
  await ask("POST", "/containers/c0de/leak?bytesPerSecond=1");
  await ask("POST", "/containers/c0de/burn", { milliCores: 2 });
  await ask("POST", "/containers/c0de/fill", { bytes: 3 });
  const load = { leakBytesPerSecond: 1, burnMilliCores: 2, fillBytes: 3 };
  assert.deepEqual(container.running?.load.settings, load);
  assert.match(String((await ask("POST", "/containers/c0de/burn")).value["error"]), /milliCores is missing/);
  assert.equal((await ask("POST", "/containers/c0de/kill?oom=true")).status, 200);
  assert.equal(stateOf(container), "exited (137, OOMKilled)");
  assert.equal((await ask("POST", "/containers/c0de/again")).value["attempt"], 1);
  const again = await ask("POST", "/sandboxes/5a1d/containers", { name: "main", image: "busybox", attempt: 2 });
  assert.equal(again.status, 200);
  assert.equal((await ask("POST", "/sandboxes/5a1d/not-ready")).status, 200);
  assert.equal((await ask("POST", "/sandboxes/5a1d/remove", { silently: true })).status, 200);
  assert.equal(lab.core.containers.size, 0);
});

test("faults, events, conditions, pulls: set by POST, taken back by DELETE", async () => {
  const snapshot = async () => (await ask("GET", "/state")).value;
  await ask("POST", "/faults/ListContainers", { delayMs: 5, code: "Internal", message: "no" });
  assert.deepEqual((await snapshot())["faults"], {
    ListContainers: { delayMs: 5, hangs: false, fail: { code: "Internal", message: "no" } },
  });
  await ask("DELETE", "/faults/ListContainers");
  assert.deepEqual((await snapshot())["faults"], {});
  await ask("POST", "/events/drop");
  assert.equal((await snapshot())["dropsEvents"], true);
  await ask("DELETE", "/events/drop");
  await ask("POST", "/conditions/NetworkReady?message=down");
  assert.deepEqual((await snapshot())["conditions"], { RuntimeReady: true, NetworkReady: false });
  await ask("DELETE", "/conditions/NetworkReady");
  await ask("POST", "/pulls", { image: "team/", fail: "denied", ms: 10 });
  assert.equal(lab.core.puller.faults.get("team/")?.how, "denied");
  await ask("DELETE", "/pulls?image=team/");
  assert.equal(lab.core.puller.faults.size, 0);
});

test("what a request leads to began with a client that reports no facts", async () => {
  await ask("POST", "/pods", { name: "p", namespace: "default", uid: "u2", sandboxId: "5a2d", containers: [] });
  const fact = only(lab.recorded.events, "state").findLast(({ what }) => what === "sandbox");
  assert.deepEqual([fact?.origin, fact?.causedBy], ["client", undefined]);
  await ask("POST", "/sandboxes/5a2d/remove", { silently: true });
});

/** fetch() cannot send a false Host header. */
function statusWith(headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(server.url);
    const sent = request({ host: "127.0.0.1", port, path: "/state", headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once("error", reject);
    sent.end();
  });
}

test("requests from foreign pages are refused", async () => {
  const { host } = new URL(server.url);
  assert.equal(await statusWith({ host: "evil.example" }), 403);
  assert.equal(await statusWith({ host, origin: "http://evil.example" }), 403);
  assert.equal(await statusWith({ host, origin: `http://${host}` }), 200);
});

test("GET / lists the routes and their fields", async () => {
  const { status, value } = await ask("GET", "/");
  assert.equal(status, 200);
  type Told = { method: string; path: string; what: string; fields?: Record<string, string> };
  const routes = value["routes"] as Told[];
  const find = (method: string, path: string) =>
    routes.find((route) => route.method === method && route.path === path) ?? assert.fail(`no ${method} ${path}`);
  for (const path of ["/", "/state", "/changes"]) assert.ok(find("GET", path).what.length > 0);
  assert.deepEqual(Object.keys(find("POST", "/faults/RPC").fields ?? {}), [
    "delayMs",
    "hangs",
    "code",
    "message",
    "count",
  ]);
  assert.match(find("POST", "/pods").fields?.["uid"] ?? "", /text, required$/);
  assert.match(find("POST", "/containers/ID/kill").fields?.["exitCode"] ?? "", /a whole number from 0 to 255$/);
  assert.equal(find("POST", "/sandboxes/ID/not-ready").fields, undefined);
});

test("HEAD is answered for readable paths", async () => {
  for (const path of ["/state", "/changes"]) {
    const response = await fetch(`${server.url}${path}`, { method: "HEAD" });
    assert.deepEqual([response.status, await response.text()], [200, ""]);
  }
});

test("changes arrive as lines at once", async () => {
  const stop = new AbortController();
  const response = await fetch(`${server.url}/changes`, { signal: stop.signal });
  const reader = response.body?.getReader();
  lab.sandbox();
  const { value } = (await reader?.read()) ?? {};
  assert.match(Buffer.from(value ?? []).toString(), /^\{"kind":"sandbox",.*"to":"ready"\}\n$/);
  stop.abort();
});

test("only addresses of this machine, and free ports", async () => {
  await assert.rejects(serveControl(lab.runtime.control, "0.0.0.0:0", lab.recorded.trace), { code: "USAGE" });
  await assert.rejects(serveControl(lab.runtime.control, new URL(server.url).host, lab.recorded.trace), {
    code: "USAGE",
  });
});
