import assert from "node:assert/strict";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { Trace } from "../../../src/trace/trace.js";
import { FactHistory } from "../../../src/trace/ui/fact-history.js";
import { parseFacts } from "../../../src/trace/ui/facts.js";
import { LiveServer, type LiveWindow } from "../../../src/trace/ui/live-server.js";
import { SystemClock } from "../../../src/util/clock.js";
import { FakeClock, untilTrue } from "../../support/fake-clock.js";

const open: LiveServer[] = [];
afterEach(async () => {
  for (const live of open.splice(0)) await live.close();
});

async function serve(history?: FactHistory) {
  const clock = new SystemClock();
  const live = await LiveServer.open({ port: 0, clock, ...(history === undefined ? {} : { history }) });
  open.push(live);
  const trace = new Trace(new FakeClock());
  trace.addSink(live);
  const note = (text: string) => trace.emit({ kind: "note", text }, { actor: "user" });
  return { live, trace, note };
}

interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** instead of the page's own */
  readonly token?: string;
}

/** node:http rather than fetch: Host and Origin can be anything. */
function begin(live: LiveServer, path: string, { method = "GET", headers = {}, body = "", token }: Asking = {}) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    const query = token === "" ? "" : `?token=${token ?? live.token}`;
    const sent = request({ host: "127.0.0.1", port: live.port, method, path: path + query, headers }, resolve);
    sent.on("error", reject);
    sent.end(body);
  });
}

async function ask(live: LiveServer, path: string, asking?: Asking) {
  const response = await begin(live, path, asking);
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, headers: response.headers, text };
}

/** Reads the events of a page until `isEnough`. */
async function follow(live: LiveServer, isEnough: (text: string) => boolean, asking?: Asking): Promise<string> {
  const response = await begin(live, "/events", asking);
  let text = "";
  for await (const chunk of response) {
    text += String(chunk);
    if (isEnough(text)) break;
  }
  response.destroy();
  return text;
}

const press = (live: LiveServer, body: string, asking: Asking = {}) =>
  ask(live, "/keys", {
    method: "POST",
    body,
    ...asking,
    headers: { "content-type": "application/json", ...asking.headers },
  });

function notesIn(text: string): string[] {
  const lines = [...text.matchAll(/^data: (.*)$/gm)].map(([, line]) => line ?? "");
  return parseFacts(lines.join("\n")).flatMap(({ event }) => (event.kind === "note" ? [event.text] : []));
}

function windowWith(pressed: string[], more: Partial<LiveWindow> = {}): LiveWindow {
  return {
    tables: () => [{ title: "1 pod", columns: ["pod"], rows: [["default/web"]] }],
    keys: () => [{ key: "f", short: "flood", label: "change it ten times", enabled: true }],
    press: async (key) => void pressed.push(key),
    ...more,
  };
}

describe("the page", () => {
  test("is for whoever has its token, runs nothing from elsewhere and connects to its server only", async () => {
    const { live } = await serve();
    assert.match(live.url, /^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{22}$/);
    const { status, headers, text } = await ask(live, "/");
    assert.deepEqual([status, headers["content-type"]], [200, "text/html; charset=utf-8"]);
    assert.equal(headers["content-security-policy"], "frame-ancestors 'none'");
    assert.match(text, /default-src 'none';[^"]*connect-src 'self'/);
    assert.match(text, /<html lang="en" data-live>/);
  });

  const refused: readonly [string, string, Asking, number, RegExp][] = [
    ["no token", "/", { token: "" }, 403, /needs its token/],
    ["no token for the events", "/events", { token: "" }, 403, /needs its token/],
    ["a wrong token", "/", { token: "x" }, 403, /needs its token/],
    ["a wrong token of the right length", "/events", { token: "x".repeat(22) }, 403, /needs its token/],
    ["another path without a token", "/x", { token: "" }, 403, /needs its token/],
    ["another path", "/x", {}, 404, /nothing at \/x/],
    ["a path that looks like a host", "//x", {}, 404, /nothing at \/\/x/],
    ["a POST of the page", "/", { method: "POST" }, 405, /POST is not for \/: use GET, HEAD/],
    ["a DELETE of the events", "/events", { method: "DELETE" }, 405, /use GET/],
    ["a GET of the keys", "/keys", {}, 405, /GET is not for \/keys: use POST/],
    ["a foreign name", "/", { headers: { host: "evil.example" } }, 403, /is not this server/],
    ["a foreign page", "/events", { headers: { origin: "http://evil.example" } }, 403, /is not this page/],
  ];
  for (const [name, path, asking, status, error] of refused) {
    test(`${name} is refused with ${status}`, async () => {
      const { live } = await serve();
      const answer = await ask(live, path, asking);
      assert.deepEqual([answer.status, Object.keys(JSON.parse(answer.text))], [status, ["error"]]);
      assert.match(JSON.parse(answer.text).error, error);
    });
  }

  test("half-open requests and requests without the token do not take all connections", async () => {
    const { live } = await serve();
    const sockets = Array.from({ length: 100 }, () => connect(live.port, "127.0.0.1"));
    for (const socket of sockets) socket.on("error", () => {}).write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    await untilTrue(() => sockets.filter(({ closed }) => closed).length >= 36);
    const page = await ask(live, "/");
    assert.equal(page.status, 200);
    const events = await begin(live, "/events");
    for (let more = 0; more < 40; more++) await ask(live, "/x", { token: "" });
    assert.equal(events.destroyed, false);
    events.destroy();
    for (const socket of sockets) socket.destroy();
  });

  test("a port that is taken is a usage error with a way out", async () => {
    const { live } = await serve();
    await expect(LiveServer.open({ port: live.port, clock: new SystemClock() })).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringContaining("the port is taken"),
      hint: expect.stringContaining("--ui"),
    });
  });
});

describe("events", () => {
  test("a page gets the facts so far, then those that come, then the end", async () => {
    const { live, note } = await serve();
    note("early");
    const whole = follow(live, (text) => {
      if (text.includes("early") && !text.includes("late")) note("late");
      if (text.includes("late")) void live.close();
      return false;
    });
    const text = await whole;
    assert.deepEqual(notesIn(text), ["early", "late"]);
    assert.match(text, /event: end\ndata: \{\}\n\n$/);
  });

  test("a page that comes late is told how many facts it does not get", async () => {
    const { live, note } = await serve(new FactHistory({ maxLines: 3, maxSize: 1000 }));
    for (let i = 1; i <= 8; i++) note(`n${i}`);
    const text = await follow(live, (all) => all.includes("n8"));
    assert.match(text, /event: left-out\ndata: \{"count":5\}/);
    assert.deepEqual(notesIn(text), ["n6", "n7", "n8"]);
  });

  test("a page that connects again gets only what it does not have", async () => {
    const { live, note } = await serve();
    for (const text of ["a", "b"]) note(text);
    const first = await follow(live, (all) => all.includes("event: fact"));
    const id = /^id: (\d+)$/m.exec(first)?.[1] ?? "";
    note("c");
    const second = await follow(live, (all) => all.includes("event: fact"), { headers: { "last-event-id": id } });
    assert.deepEqual([notesIn(first), notesIn(second)], [["a", "b"], ["c"]]);
    // An id of an earlier server.
    const third = await follow(live, (all) => all.includes("event: fact"), { headers: { "last-event-id": "999" } });
    assert.deepEqual(notesIn(third), ["a", "b", "c"]);
  });

  test("the servers' decisions about each request are facts of the page, frames of streams are not", async () => {
    const { live, trace, note } = await serve();
    for (const level of [3, 4] as const) trace.emit({ kind: "note", text: `level ${level}` }, { actor: "user", level });
    note("last");
    assert.deepEqual(notesIn(await follow(live, (all) => all.includes("last"))), ["level 3", "last"]);
  });

  test("state and keys are sent when a window opens, when they change, and when it closes", async () => {
    const { live } = await serve();
    let rows = [["default/web"]];
    const shown = live.present({ tables: () => [{ title: "pods", columns: ["pod"], rows }], keys: () => [] });
    const text = await follow(live, (all) => {
      if (all.includes('[["default/web"]]')) rows = [["default/db"]];
      if (all.includes('[["default/db"]]')) shown[Symbol.dispose]();
      return all.split("default/db")[1]?.includes('"tables":[]') === true;
    });
    assert.equal(text.match(/event: state/g)?.length, 4);
  });

  test("the next timers of a window's clock are a part of its state; others have none", async () => {
    const { live } = await serve();
    const timers = [{ dueMs: 9, who: "kubelet n1", what: "relist", setBy: "relistPeriod = 1 s" }];
    const shown = live.present({ tables: () => [], future: () => ({ nowMs: 5, isPaused: true, timers }) });
    const text = await follow(live, (all) => {
      if (all.includes('"future"')) shown[Symbol.dispose]();
      return all.split('"future"')[1]?.includes('"tables":[]}') === true;
    });
    assert.match(text, /"future":{"nowMs":5,"isPaused":true,"timers":\[{"dueMs":9,/);
  });

  test("a long table is cut, and says so", async () => {
    const { live } = await serve();
    const rows = Array.from({ length: 203 }, (_, i) => [`row ${i}`]);
    live.present({ tables: () => [{ title: "t", columns: ["c"], rows, note: "healthy" }] });
    const text = await follow(live, (all) => all.includes("row 199"));
    assert.match(text, /\["row 199"\]\],"note":"healthy; 3 more are not shown"/);
  });

  test("a state that cannot be read is reported, and the page goes on", async () => {
    const { live, note } = await serve();
    live.present({ tables: () => Promise.reject(new Error("no answer")) });
    const text = await follow(live, (all) => {
      if (all.includes("no answer")) note("goes on");
      return all.includes("goes on");
    });
    assert.match(text, /cannot be read now: no answer/);
  });

  test("more pages than there is room for are refused", async () => {
    const { live } = await serve();
    const pages = await Promise.all(Array.from({ length: 16 }, () => begin(live, "/events")));
    assert.equal((await ask(live, "/events")).status, 503);
    for (const page of pages) page.destroy();
  });

  test("a page that does not read holds neither the memory nor the end", async () => {
    const { live, note } = await serve(new FactHistory({ maxLines: 1000, maxSize: 64 * 1024 }));
    const page = await begin(live, "/events");
    const text = "x".repeat(8 * 1024);
    for (let i = 0; i < 2000; i++) {
      note(text);
      // Lets the server write.
      if (i % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await live.close();
    let got = "";
    page.on("error", () => undefined);
    try {
      for await (const chunk of page) got += String(chunk);
    } catch {
      // The server has cut the connection.
    }
    assert.ok(notesIn(got).length < 2000);
  });
});

describe("keys", () => {
  test("a key has the effect that it has in the terminal", async () => {
    const { live } = await serve();
    const pressed: string[] = [];
    const shown = live.present(windowWith(pressed));
    assert.deepEqual(JSON.parse((await press(live, '{"key":"f"}')).text), { pressed: "f" });
    shown[Symbol.dispose]();
    assert.equal((await press(live, '{"key":"f"}')).status, 404);
    assert.deepEqual(pressed, ["f"]);
  });

  const refused: readonly [string, string, Asking, number, RegExp][] = [
    ["an unknown key", '{"key":"q"}', {}, 404, /no key \\"q\\"/],
    ["no JSON", "key=f", {}, 400, /not a key/],
    ["no key", '{"kye":"f"}', {}, 400, /not a key/],
    ["a key that is no text", '{"key":1}', {}, 400, /not a key/],
    ["a long body", JSON.stringify({ key: "f", more: "x".repeat(2000) }), {}, 400, /not a key/],
    ["a form", "key=f", { headers: { "content-type": "text/plain" } }, 415, /JSON/],
    ["no token", '{"key":"f"}', { token: "" }, 403, /token/],
    ["a foreign page", '{"key":"f"}', { headers: { origin: "http://evil.example" } }, 403, /not this page/],
  ];
  for (const [name, body, asking, status, error] of refused) {
    test(`${name} is refused with ${status}`, async () => {
      const { live } = await serve();
      const pressed: string[] = [];
      live.present(windowWith(pressed));
      const answer = await press(live, body, asking);
      assert.equal(answer.status, status, answer.text);
      assert.match(answer.text, error);
      assert.deepEqual(pressed, []);
    });
  }

  test("a key that fails in an unexpected way is reported", async () => {
    const { live } = await serve();
    live.present(windowWith([], { press: () => Promise.reject(new Error("boom")) }));
    const answer = await press(live, '{"key":"f"}');
    assert.deepEqual([answer.status, JSON.parse(answer.text)], [500, { error: "boom" }]);
  });

  test("more keys than can wait are refused", async () => {
    const { live } = await serve();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let count = 0;
    const isFull = new Promise<void>((resolve) => {
      live.present(
        windowWith([], {
          press: () => {
            if (++count === 16) resolve();
            return held;
          },
        }),
      );
    });
    const waiting = Array.from({ length: 16 }, () => press(live, '{"key":"f"}'));
    await isFull;
    assert.equal((await press(live, '{"key":"f"}')).status, 429);
    release();
    for (const answer of await Promise.all(waiting)) assert.equal(answer.status, 200);
  });
});
