import { request } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { servePlegPage } from "../../../src/commands/pleg/endpoints.js";
import { plegWindow } from "../../../src/commands/pleg/window.js";
import { Pleg } from "../../../src/testbed/pleg/pleg.js";
import type { LabRuntime } from "../../../src/testbed/runtime/lab-runtime.js";
import type { LiveServer } from "../../../src/trace/ui/live-server.js";
import { SystemClock } from "../../../src/util/clock.js";
import { recordingTrace } from "../../support/trace.js";
import { FakeLab } from "./fake-lab.js";

const open: LiveServer[] = [];
afterEach(async () => {
  for (const page of open.splice(0)) await page.close();
});

async function serve(lab: LabRuntime | undefined) {
  const clock = new SystemClock();
  const { trace, events } = recordingTrace(clock);
  const pleg = new Pleg({ service: NO_PODS, clock, trace }, { kubeVersion: "1.25", evented: false });
  const page = await servePlegPage({ pleg, trace, runtime: "fake 1", lab }, plegWindow(pleg, lab, undefined), {
    host: "127.0.0.1",
    port: 0,
  });
  open.push(page);
  return { page, pleg, trace, events };
}

const NO_PODS = {
  listPodSandbox: async () =>
    ({
      outcome: "ok",
      value: [{ id: "p1-s", state: 0, createdAt: 1n, metadata: { name: "p1", uid: "u1", namespace: "default" } }],
    }) as const,
  listContainers: async () => ({ outcome: "ok", value: [] }) as const,
  podSandboxStatus: async () => ({ outcome: "not-found", code: "NotFound", message: "", text: "" }) as const,
  containerStatus: async () => ({ outcome: "not-found", code: "NotFound", message: "", text: "" }) as const,
  async *getContainerEvents(): AsyncGenerator<never> {},
};

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** node:http rather than fetch: Host and Origin can be anything. */
function ask(
  page: LiveServer,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body = "",
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(page.url);
    const sent = request({ host: "127.0.0.1", port, method, path, headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += String(chunk);
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

describe("a POST", () => {
  test("with a body is refused, because the body would be ignored", async () => {
    const lab = new FakeLab();
    const { page } = await serve(lab);
    const form = { "content-type": "application/x-www-form-urlencoded", "content-length": "9" };
    const { status, text } = await ask(page, "POST", "/actions/hang", form, "target=p1");
    expect([status, text]).toEqual([400, expect.stringContaining("a body is not read here")]);
    expect((await ask(page, "POST", "/actions/hang", { "content-length": "0" })).status).toBe(200);
    expect(lab.done).toEqual(["hang -"]);
  });

  test("performs the action, as curl sends it, and the trace shows it", async () => {
    const lab = new FakeLab();
    const { page, events } = await serve(lab);
    const answer = await ask(page, "POST", "/actions/kill?target=p1-c");
    expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { did: "did kill" }]);
    expect(lab.done).toEqual(["kill p1-c"]);
    expect(events).toContainEqual(expect.objectContaining({ kind: "note", text: "did kill", actor: "user" }));
  });

  test("for an unknown action is refused with a sentence", async () => {
    const { page } = await serve(new FakeLab());
    const answer = await ask(page, "POST", "/actions/nothing");
    expect([answer.status, JSON.parse(answer.text).error]).toEqual([400, "no action nothing"]);
  });

  test("is read strictly: unknown fields are refused", async () => {
    const lab = new FakeLab();
    const { page } = await serve(lab);
    for (const query of ["traget=p1-c", "target=p1-c&target=p1-s", "target=p1-c&code=3"]) {
      const answer = await ask(page, "POST", `/actions/kill?${query}`);
      expect([answer.status, JSON.parse(answer.text).error]).toEqual([400, expect.stringContaining("one target")]);
    }
    expect(lab.done).toEqual([]);
  });

  test("on a real runtime is refused", async () => {
    const { page } = await serve(undefined);
    expect((await ask(page, "POST", "/actions/kill?target=p1-c")).status).toBe(403);
  });
});

describe("a GET never changes anything", () => {
  for (const method of ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"]) {
    test(`${method} of an action is not allowed`, async () => {
      const lab = new FakeLab();
      const { page } = await serve(lab);
      const answer = await ask(page, method, "/actions/kill?target=p1-c");
      expect([answer.status, answer.headers["allow"], lab.done]).toEqual([405, "POST", []]);
    });
  }
  test("POST of the page is not allowed", async () => {
    const { page } = await serve(new FakeLab());
    expect((await ask(page, "POST", "/")).status).toBe(405);
  });
});

describe("strangers", () => {
  const table: readonly [string, (port: string) => Record<string, string>, number][] = [
    ["127.0.0.1", (port) => ({ host: `127.0.0.1:${port}` }), 200],
    ["localhost", (port) => ({ host: `localhost:${port}` }), 200],
    ["LOCALHOST", (port) => ({ host: `LOCALHOST:${port}` }), 200],
    ["[::1]", (port) => ({ host: `[::1]:${port}` }), 200],
    ["its own page", (port) => ({ host: `localhost:${port}`, origin: `http://localhost:${port}` }), 200],
    ["a name that was made to point here", (port) => ({ host: `evil.example:${port}` }), 403],
    ["a name that only begins well", (port) => ({ host: `127.0.0.1.evil.example:${port}` }), 403],
    ["another port", () => ({ host: "127.0.0.1:1" }), 403],
    ["no port", () => ({ host: "127.0.0.1" }), 403],
    ["a foreign page", (port) => ({ host: `localhost:${port}`, origin: "http://evil.example" }), 403],
    ["a foreign page of this machine", (port) => ({ host: `localhost:${port}`, origin: "http://localhost:1" }), 403],
    ["a page over TLS", (port) => ({ host: `localhost:${port}`, origin: `https://localhost:${port}` }), 403],
    ["a sandboxed page", (port) => ({ host: `localhost:${port}`, origin: "null" }), 403],
  ];
  for (const [name, headers, want] of table) {
    test(`${name}: ${want}`, async () => {
      const lab = new FakeLab();
      const { page } = await serve(lab);
      const { port } = new URL(page.url);
      expect((await ask(page, "POST", "/actions/hang", headers(port))).status).toBe(want);
      expect((await ask(page, "GET", "/state", headers(port))).status).toBe(want);
      expect(lab.done).toHaveLength(want === 200 ? 1 : 0);
    });
  }
});

describe("the page", () => {
  test("is the live page, and needs no token", async () => {
    const { page } = await serve(new FakeLab());
    const { status, headers, text } = await ask(page, "GET", "/");
    expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
    expect(text).toContain('<html lang="en" data-live>');
    expect((await ask(page, "GET", "/../etc/passwd")).status).toBe(404);
    expect((await ask(page, "GET", "/actions/%zz")).status).toBe(404);
    // Once read as a host without a name, and the end of the whole process.
    for (const path of ["//", "//x", "*"]) expect((await ask(page, "GET", path)).status).toBe(404);
  });

  test("the state shows PLEG's view next to the runtime's", async () => {
    const { page, pleg } = await serve(new FakeLab());
    await pleg.generic.relist(new AbortController().signal);
    const state = JSON.parse((await ask(page, "GET", "/state")).text);
    expect(state.pods).toMatchObject([
      { name: "default/p1", entries: [{ id: "p1-s", kind: "sandbox", known: "running", actual: "running" }] },
      { name: "not seen yet", entries: [{ id: "p1-c", actual: "running" }] },
    ]);
    expect(state.healthy).toBe(true);
  });

  test("facts and states come live", async () => {
    const { page, trace } = await serve(new FakeLab());
    const { port } = new URL(page.url);
    const seen = await new Promise<string>((resolve, reject) => {
      let text = "";
      const sent = request({ host: "127.0.0.1", port, path: "/events" }, (response) => {
        trace.emit({ kind: "note", text: "hello page" }, { actor: "user" });
        response.on("data", (chunk) => {
          text += String(chunk);
          if (!text.includes("event: state") || !text.includes("hello page")) return;
          sent.destroy();
          resolve(text);
        });
      });
      sent.on("error", reject);
      sent.end();
    });
    expect(seen).toMatch(/event: fact\ndata: .*"kind":"note","text":"hello page"/);
  });
});

test("a port that is taken is a usage error with a way out", async () => {
  const { page } = await serve(undefined);
  const clock = new SystemClock();
  const { trace } = recordingTrace(clock);
  const pleg = new Pleg({ service: NO_PODS, clock, trace }, { kubeVersion: "1.25", evented: false });
  const address = { host: "127.0.0.1", port: Number(new URL(page.url).port) };
  await expect(
    servePlegPage({ pleg, trace, runtime: "fake", lab: undefined }, plegWindow(pleg, undefined, undefined), address),
  ).rejects.toMatchObject({
    code: "USAGE",
    hint: expect.stringContaining("--http 127.0.0.1:0"),
  });
});
