import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { HttpsClient } from "../../support/https-client.js";
import { POD } from "./fake-host.js";
import { IDENTITIES, Lab } from "./lab.js";

const NOT_FOUND = "404 page not found\n";
const { admin } = IDENTITIES;

describe("kubelet server: paths", () => {
  const exec = "/exec/default/web/c";
  const rows: readonly [string, string, number, string][] = [
    ["GET", "/healthz?verbose", 200, "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n"],
    ["GET", "/healthz/syncloop", 200, "ok"],
    [
      "GET",
      "/healthz?verbose&exclude=ping&exclude=x",
      200,
      '[+]ping excluded: ok\n[+]log ok\n[+]syncloop ok\nwarn: some health checks cannot be excluded: no matches for "x"\nhealthz check passed\n',
    ],
    ["GET", "/configz", 200, '{"kubeletconfig":{"port":10250}}'],
    ["GET", "/runningpods/", 200, '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":null}\n'],
    ["POST", "/pods", 405, "405: Method Not Allowed"],
    ["GET", "/pods/x", 404, "404: Page Not Found"],
    ["GET", "/none", 404, NOT_FOUND],
    ["GET", "/stats/summary", 404, "404: Page Not Found"],
    ["GET", "/logs/syslog", 404, NOT_FOUND],
    ["GET", "/spec/", 404, NOT_FOUND],
    ["GET", "/healthz/log", 200, "ok"],
    ["GET", "/logs/../../etc/passwd", 301, ""],
    ["GET", "/debug/pprof/", 405, "profiling endpoint is disabled.\n"],
    ["PUT", "/debug/flags/v", 405, "flags endpoint is disabled.\n"],
    ["GET", "/runningpods", 301, ""],
    ["GET", "/pods%zz", 400, "400 Bad Request"],
    ["POST", exec, 400, "you must specify at least 1 of stdin, stdout, stderr"],
    ["POST", `${exec}?output=1`, 500, "Upgrade request required\n"],
    ["POST", "/exec/default/none/c?output=1", 404, "pod does not exist"],
    ["POST", "/exec/default/web/missing?output=1", 500, 'container not found ("missing")'],
    ["POST", "/exec/default/web/gone?output=1", 404, "rpc error: code = NotFound desc = no such container"],
    [
      "POST",
      "/exec/default/web/busy?output=1",
      429,
      "rpc error: code = ResourceExhausted desc = maximum number of in-flight requests exceeded",
    ],
    ["POST", "/attach/default/web/c", 400, "you must specify at least 1 of stdin, stdout, stderr"],
    ["POST", "/attach/default/none/c?output=1", 404, "pod does not exist"],
    ["POST", "/portForward/default/none", 404, "pod does not exist"],
    ["POST", "/portForward/default/web/other", 404, "pod not found"],
    ["POST", "/portForward/default/web/uid-1", 500, "Upgrade request required\n"],
    ["POST", "/run/default/web/c?cmd=echo%20a", 200, "output\n"],
    ["POST", "/run/default/web/c?cmd=false", 500, "command 'false' exited with 1: "],
    ["POST", "/run/default/none/c?cmd=false", 404, "pod does not exist"],
    ["GET", "/containerLogs/default/web/c", 200, "hello\n"],
    ["GET", "/containerLogs/default/web/i", 200, "hello\n"],
    ["GET", "/containerLogs/default/web/x", 404, 'container "x" not found in pod "web"'],
    ["GET", "/containerLogs/default/none/c", 404, 'pod "none" does not exist'],
    ["GET", "/containerLogs/default/web/c?tailLines=x", 400, '{"message": "Unable to decode query."}'],
    ["GET", "/containerLogs/default/web/c?tailLines=-1", 422, '{"message": "Invalid request."}'],
  ];
  let lab: Lab;
  let client: HttpsClient;
  beforeAll(async () => {
    lab = await Lab.start();
    client = lab.client(admin);
  });
  afterAll(() => lab[Symbol.asyncDispose]());

  for (const [method, path, status, text] of rows) {
    test(`${method} ${path} is ${status}`, async () => {
      const answer = await client.ask(path, { method });
      assert.equal(answer.status, status);
      assert.equal(answer.text, text);
    });
  }

  test("/pods has spec and status, and no kind inside the list", async () => {
    const { body, headers } = await client.ask("/pods");
    const { kind: _kind, apiVersion: _apiVersion, ...pod } = POD;
    assert.deepEqual(body, { kind: "PodList", apiVersion: "v1", metadata: {}, items: [pod] });
    assert.equal(headers["content-type"], "application/json");
  });

  test("a refused method gets Allow, a busy runtime Retry-After", async () => {
    const refused = await client.ask("/exec/default/web/c", { method: "PUT" });
    assert.equal(refused.headers.allow, "GET, POST");
    const busy = await client.ask("/exec/default/web/busy?output=1", { method: "POST" });
    assert.equal(busy.headers["retry-after"], "60");
    assert.equal((await client.ask("/logs?x=1")).headers.location, "/logs/?x=1");
  });

  test("the host gets the path's and the query's parameters", async () => {
    lab.host.asked.length = 0;
    await client.ask("/exec/default/web/u1/c?command=sh&command=-c&command=a%20b&input=1&output=1&tty=1", {
      method: "POST",
    });
    await client.ask("/attach/default/web/c?error=1");
    await client.ask("/portForward/default/web");
    await client.ask("/run/default/web/c?cmd=echo%20a%20b", { method: "POST" });
    await client.ask("/containerLogs/default/web/c?follow=true&tailLines=3");
    const container = { podFullName: "web_default", podUid: undefined, containerName: "c" };
    const tty = { stdin: true, stdout: true, stderr: false, tty: true };
    const errors = { stdin: false, stdout: false, stderr: true, tty: false };
    assert.deepEqual(lab.host.asked, [
      { exec: { ...container, podUid: "u1", streams: tty, command: ["sh", "-c", "a b"] } },
      { attach: { ...container, streams: errors } },
      { portForward: { podName: "web", podNamespace: "default", podUid: "uid-1", ports: [] } },
      { run: { ...container, command: ["echo", "a", "b"] } },
      {
        podFullName: "web_default",
        container: "c",
        options: { follow: true, previous: false, timestamps: false, tailLines: 3 },
      },
    ]);
  });

  const urlencoded = "application/x-www-form-urlencoded";
  const multipart = "multipart/form-data; boundary=b";
  const part = '--b\r\nContent-Disposition: form-data; name="cmd"\r\n\r\nid -u\r\n--b--\r\n';
  const forms: readonly (readonly [what: string, path: string, type: string, body: string, command: string[]])[] = [
    ["curl -d", "", urlencoded, "cmd=id+-u", ["id", "-u"]],
    ["a form in front of the query", "?cmd=ls", urlencoded, "x=1&cmd=id", ["id"]],
    ["curl -F", "", multipart, part, ["id", "-u"]],
    ["a form without its boundary", "?cmd=ls", "multipart/form-data", part, ["ls"]],
    ["another type", "?cmd=ls", "text/plain", "cmd=id", ["ls"]],
  ];
  for (const [what, query, type, body, command] of forms) {
    test(`/run reads ${what}`, async () => {
      lab.host.asked.length = 0;
      const headers = { "content-type": type };
      const { status } = await client.ask(`/run/default/web/c${query}`, { method: "POST", headers, body });
      const run = { podFullName: "web_default", podUid: undefined, containerName: "c", command };
      assert.deepEqual([status, lab.host.asked], [200, [{ run }]]);
    });
  }

  test("/exec reads the streams from a form, and the command from the query only", async () => {
    lab.host.asked.length = 0;
    const asking = { method: "POST", headers: { "content-type": urlencoded }, body: "output=1&command=rm" };
    const { status, text } = await client.ask("/exec/default/web/c?command=id", asking);
    assert.deepEqual([status, text], [500, "Upgrade request required\n"]);
    const streams = { stdin: false, stdout: true, stderr: false, tty: false };
    const exec = { podFullName: "web_default", podUid: undefined, containerName: "c", streams, command: ["id"] };
    assert.deepEqual(lab.host.asked, [{ exec }]);
  });

  test("a stuck sync loop is unhealthy, and only its own check gives the reason", async () => {
    lab.host.syncLoop = "sync Loop took longer than expected";
    const all = await client.ask("/healthz");
    const one = await client.ask("/healthz/syncloop");
    lab.host.syncLoop = undefined;
    assert.deepEqual(
      [all.status, all.text],
      [500, "[+]ping ok\n[+]log ok\n[-]syncloop failed: reason withheld\nhealthz check failed\n"],
    );
    assert.deepEqual([one.status, one.text], [500, "internal server error: sync Loop took longer than expected\n"]);
  });

  test("an upgrade of an ordinary path gets an ordinary response, and the connection ends", async () => {
    const seen = await client.raw(
      "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    );
    assert.match(seen, /^HTTP\/1.1 200 OK\r\n.*\r\n\r\nok$/s);
  });

  const broken: readonly [string, string, RegExp][] = [
    ["no HTTP", "hello\r\n\r\n", /^HTTP\/1.1 400 /],
    ["a header without its end", `GET /pods HTTP/1.1\r\nX: ${"x".repeat(1_100_000)}\r\n\r\n`, /^HTTP\/1.1 431 /],
    [
      "two lengths",
      "POST /run/a/b/c HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
      /^HTTP\/1.1 400 /,
    ],
    [
      "a bad path that wants another protocol",
      "GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
      /^HTTP\/1.1 400 /,
    ],
    ["a tunnel", "CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n", /^$/],
    [
      "a body that nobody wants",
      "POST /pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
      /^HTTP\/1.1 405 /,
    ],
  ];
  for (const [what, bytes, want] of broken) {
    test(`${what} does no harm`, async () => {
      assert.match(await client.raw(bytes), want);
      assert.equal((await client.ask("/healthz")).text, "ok");
    });
  }

  test("200 parallel requests do not wait for each other", async () => {
    const answers = await Promise.all(Array.from({ length: 200 }, () => client.ask("/pods")));
    assert.equal(answers.filter(({ status }) => status === 200).length, 200);
  });
});
