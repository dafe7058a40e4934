import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { getRequestAttributes } from "../../../src/kubelet/server/attributes.js";
import { decodeLogQuery } from "../../../src/kubelet/server/log-query.js";
import { matchRoute } from "../../../src/kubelet/server/routes.js";
import { maskStreamUrl, resolveStreamUrl } from "../../../src/kubelet/server/stream-url.js";
import {
  isUpgradeRequest,
  portForwardPorts,
  remoteCommandOptions,
} from "../../../src/staging/streaming/stream-options.js";
import { isWebSocketRequest } from "../../../src/staging/streaming/websocket/subprotocols.js";

const attributes = [
  // method, path               verb      subresource
  ["GET", "/pods", "get", "proxy"],
  ["POST", "/exec/a/b/c", "create", "proxy"],
  ["PUT", "/x", "update", "proxy"],
  ["PATCH", "/x", "patch", "proxy"],
  ["DELETE", "/x", "delete", "proxy"],
  ["HEAD", "/pods", "", "proxy"],
  ["GET", "/healthz", "get", "proxy"],
  ["GET", "/containerLogs/a/b/c", "get", "proxy"],
  ["GET", "/stats/summary", "get", "stats"],
  ["GET", "/stats", "get", "stats"],
  ["GET", "/statsx", "get", "proxy"],
  ["GET", "/metrics", "get", "metrics"],
  ["GET", "/metrics/cadvisor", "get", "metrics"],
  ["GET", "/logs/", "get", "log"],
  ["GET", "/logs/x/y", "get", "log"],
  ["POST", "/checkpoint/a/b/c", "create", "checkpoint"],
] as const;
for (const [method, path, verb, subresource] of attributes) {
  test(`kubelet server: ${method} ${path} is ${verb} nodes/${subresource}`, () => {
    assert.deepEqual(getRequestAttributes(method, path), { verb, subresource });
  });
}

const routes = [
  ["GET", "/pods", "pods {}"],
  ["GET", "/pods/", "pods {}"],
  ["POST", "/pods", "wrong-method GET"],
  ["GET", "/pods/x", "no-route"],
  ["GET", "/runningpods", "moved /runningpods/"],
  ["GET", "/runningpods/", "runningpods {}"],
  ["GET", "/exec/ns/pod/c", 'exec {"namespace":"ns","pod":"pod","container":"c"}'],
  ["POST", "/exec/ns/pod/u/c", 'exec {"namespace":"ns","pod":"pod","uid":"u","container":"c"}'],
  ["PUT", "/exec/ns/pod/c", "wrong-method GET, POST"],
  ["GET", "/exec/ns/pod", "no-route"],
  ["GET", "/exec", "no-route"],
  ["GET", "/exec/ns/pod/c/", 'exec {"namespace":"ns","pod":"pod","container":"c"}'],
  ["GET", "/attach/ns/pod/c", 'attach {"namespace":"ns","pod":"pod","container":"c"}'],
  ["POST", "/portForward/ns/pod", 'portForward {"namespace":"ns","pod":"pod"}'],
  ["POST", "/portForward/ns/pod/u", 'portForward {"namespace":"ns","pod":"pod","uid":"u"}'],
  ["POST", "/portforward/ns/pod", "not-served"],
  ["POST", "/run/ns/pod/c", 'run {"namespace":"ns","pod":"pod","container":"c"}'],
  ["GET", "/run/ns/pod/c", "wrong-method POST"],
  ["GET", "/containerLogs/ns/pod/c", 'containerLogs {"namespace":"ns","pod":"pod","container":"c"}'],
  ["POST", "/containerLogs/ns/pod/c", "wrong-method GET"],
  ["GET", "/containerLogs/ns/pod/u/c", "no-route"],
  ["DELETE", "/healthz", 'healthz {"path":"/healthz"}'],
  ["GET", "/healthz/ping", 'healthz {"path":"/healthz/ping"}'],
  ["GET", "/healthz/other", "not-served"],
  ["GET", "/metrics/other", "not-served"],
  ["GET", "/stats/summary", 'stats {"what":"summary"}'],
  ["GET", "/stats/container", "no-route"],
  ["GET", "/stats", "moved /stats/"],
  ["GET", "/logs", "moved /logs/"],
  ["GET", "/logs/syslog", 'logs {"path":"/logs/syslog"}'],
  ["GET", "/logs/../etc/passwd", "moved /etc/passwd"],
  ["GET", "/debug/pprof/heap", 'disabled {"path":"/debug/pprof/heap"}'],
  ["PUT", "/debug/flags/v", 'disabled {"path":"/debug/flags/v"}'],
  ["GET", "/", "not-served"],
  ["GET", "/constructor", "not-served"],
  ["GET", "//pods", "moved /pods"],
  ["GET", "/exec//ns/pod/c", "moved /exec/ns/pod/c"],
  ["GET", "/pods/.", "moved /pods/"],
] as const;
for (const [method, path, want] of routes) {
  test(`kubelet server: ${method} ${path}: ${want}`, () => {
    const match = matchRoute(method, path);
    const seen = {
      found: () => match.kind === "found" && `${match.name} ${JSON.stringify(match.params)}`,
      moved: () => match.kind === "moved" && `moved ${match.path}`,
      "wrong-method": () => match.kind === "wrong-method" && `wrong-method ${match.allow.join(", ")}`,
      "no-route": () => "no-route",
      "not-served": () => "not-served",
    };
    assert.equal(seen[match.kind](), want);
  });
}

const NONE = { follow: false, previous: false, timestamps: false };
const DECODE = '400 {"message": "Unable to decode query."}';
const INVALID = '422 {"message": "Invalid request."}';
const queries: readonly [string, object | string][] = [
  ["", NONE],
  ["follow=true&previous=1&timestamps", { follow: true, previous: true, timestamps: true }],
  ["follow=false&previous=0&timestamps=False", NONE],
  ["follow=yes", { ...NONE, follow: true }],
  ["tailLines=5", { ...NONE, tailLines: 5 }],
  ["tail=5", { ...NONE, tailLines: 5 }],
  ["tail=all&tailLines=5", NONE],
  ["tailLines=0&limitBytes=1&sinceSeconds=1", { ...NONE, tailLines: 0, limitBytes: 1, sinceSeconds: 1 }],
  ["sinceTime=2026-01-01T00:00:00Z", { ...NONE, sinceTimeMs: Date.UTC(2026, 0, 1) }],
  ["sinceTime=2026-01-01T02:00:00%2B02:00", { ...NONE, sinceTimeMs: Date.UTC(2026, 0, 1) }],
  ["sinceTime=", NONE],
  ["unknown=1", NONE],
  ["tailLines=x", DECODE],
  ["tailLines=", DECODE],
  ["tailLines=1.5", DECODE],
  ["limitBytes=9223372036854775808", DECODE],
  ["sinceTime=yesterday", DECODE],
  ["tailLines=-1", INVALID],
  ["limitBytes=0", INVALID],
  ["sinceSeconds=0", INVALID],
  ["sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z", INVALID],
];
for (const [query, want] of queries) {
  test(`kubelet server: containerLogs?${query}`, () => {
    const seen = decodeLogQuery(new URLSearchParams(query));
    assert.deepEqual("status" in seen ? `${seen.status} ${seen.text}` : seen, want);
  });
}

const NO_STREAMS = { problem: "you must specify at least 1 of stdin, stdout, stderr" };
const commands = [
  ["input=1&output=1&error=1", { stdin: true, stdout: true, stderr: true, tty: false }],
  ["input=1&output=1&error=1&tty=1", { stdin: true, stdout: true, stderr: false, tty: true }],
  ["output=1", { stdin: false, stdout: true, stderr: false, tty: false }],
  ["tty=1&error=1", NO_STREAMS],
  ["stdout=true", NO_STREAMS],
  ["output=true", NO_STREAMS],
  ["", NO_STREAMS],
] as const;
for (const [query, want] of commands) {
  test(`kubelet server: exec?${query}`, () => {
    assert.deepEqual(remoteCommandOptions(new URLSearchParams(query)), want);
  });
}

const cannot = (text: string, part: string, why: string) => ({
  problem: `unable to parse "${text}" as a port: strconv.ParseUint: parsing "${part}": ${why}`,
});
const ports = [
  ["", { problem: 'query parameter "port" is required' }],
  ["port=", { problem: 'query parameter "port" cannot be empty' }],
  ["port=80", [80]],
  ["port=80&port=443,8080", [80, 443, 8080]],
  ["port=http", cannot("http", "http", "invalid syntax")],
  ["port=80,", cannot("80,", "", "invalid syntax")],
  ["port=65536", cannot("65536", "65536", "value out of range")],
  ["port=0", { problem: 'port "0" must be > 0' }],
] as const;
for (const [query, want] of ports) {
  test(`kubelet server: portForward?${query} over a WebSocket`, () => {
    assert.deepEqual(portForwardPorts(new URLSearchParams(query), true), want);
  });
}

describe("kubelet server: small decisions", () => {
  test("SPDY names its ports per stream", () =>
    assert.deepEqual(portForwardPorts(new URLSearchParams("port=x"), false), []));

  test("what is an upgrade", () => {
    assert.equal(isUpgradeRequest({ connection: "keep-alive, Upgrade" }), true);
    assert.equal(isUpgradeRequest({ connection: "keep-alive", upgrade: "SPDY/3.1" }), false);
    assert.equal(isWebSocketRequest({ headers: { connection: "keep-alive, Upgrade", upgrade: "WebSocket" } }), true);
    assert.equal(isWebSocketRequest({ headers: { connection: "Upgrade", upgrade: "SPDY/3.1" } }), false);
    assert.equal(isWebSocketRequest({ headers: { upgrade: "websocket" } }), false);
  });
});

const urls = [
  ["http://127.0.0.1:1234/exec/abcdefgh", "http://127.0.0.1:1234/exec/abcdefgh", undefined],
  ["http://0.0.0.0:1234/exec/abcdefgh", "http://127.0.0.1:1234/exec/abcdefgh", "0.0.0.0"],
  ["http://[::]:1234/exec/abcdefgh", "http://127.0.0.1:1234/exec/abcdefgh", "[::]"],
  ["https://0.0.0.0:1234/attach/x?y=1", "https://127.0.0.1:1234/attach/x?y=1", "0.0.0.0"],
  ["http://[::1]:1234/exec/x", "http://[::1]:1234/exec/x", undefined],
  ["//127.0.0.2:1234/exec/x", "http://127.0.0.2:1234/exec/x", undefined],
] as const;
for (const [text, url, replaced] of urls) {
  test(`kubelet server: the runtime's URL ${JSON.stringify(text)} becomes ${url}`, () => {
    const seen = resolveStreamUrl(text);
    assert("url" in seen);
    assert.equal(seen.url.href, url);
    assert.equal(seen.replacedHost, replaced);
  });
}

const refusedUrls = [
  ["/exec/x", "it is not a URL"],
  ["", "it is not a URL"],
  ["ftp://127.0.0.1/x", "it is not an http or https URL"],
  ["http://user:secret@127.0.0.1/x", "it has credentials"],
  ["http://192.0.2.1:10250/exec/x", "192.0.2.1 is not an address of this machine"],
  ["//metadata.example/exec/x", "metadata.example is not an address of this machine"],
  ["http://127.0.0.1.example/exec/x", "127.0.0.1.example is not an address of this machine"],
] as const;
for (const [text, problem] of refusedUrls) {
  test(`kubelet server: the runtime's URL ${JSON.stringify(text)} is refused: ${problem}`, () => {
    assert.deepEqual(resolveStreamUrl(text), { problem });
  });
}

test("kubelet server: a stream's URL is shown without its secret", () => {
  assert.equal(maskStreamUrl("http://127.0.0.1:1234/exec/abcdefgh?x=secret"), "http://127.0.0.1:1234/exec/ab****");
  assert.equal(maskStreamUrl("http://u:secret@127.0.0.1/exec/abcdefgh"), "http://****@127.0.0.1/exec/ab****");
});
