import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { describe, test } from "vitest";
import { WebSocket } from "ws";
import { portForwardPath } from "../../../../src/cluster/apiserver/proxy/pod-locations.js";
import { deferred } from "../../../staging/streaming/support/upgrade-server.js";
import { settle } from "../../../support/fake-clock.js";
import { makeAuthority } from "../../../support/https-server.js";
import { PODS, ProxyLab } from "./lab.js";

const LOG = `${PODS}/p/log`;

const locations = [
  ["", "/containerLogs/default/p/c"],
  ["?container=c&follow=true&tailLines=10", "/containerLogs/default/p/c?follow=true&tailLines=10"],
  [
    "?previous=1&timestamps=true&sinceSeconds=60&limitBytes=5&follow=false",
    "/containerLogs/default/p/c?limitBytes=5&previous=true&sinceSeconds=60&timestamps=true",
  ],
  ["?sinceTime=2026-01-02T03:04:05.6%2B01:00", "/containerLogs/default/p/c?sinceTime=2026-01-02T02%3A04%3A05Z"],
] as const;
for (const [asked, wanted] of locations) {
  test(`log${asked} asks the kubelet for ${wanted}`, async () => {
    await using lab = await ProxyLab.open({ respond: (_request, response) => response.end("hello\n") });
    const { status, headers, text } = await lab.face.ask(`${LOG}${asked}`);
    assert.deepEqual([status, text], [200, "hello\n"]);
    assert.deepEqual([headers["content-type"], headers["transfer-encoding"]], ["text/plain", "chunked"]);
    const [one] = lab.kubelet.asked;
    assert.deepEqual([one?.method, one?.url, one?.headers["user-agent"]], ["GET", wanted, "Go-http-client/1.1"]);
    assert.equal(one?.client, "CN=kube-apiserver-kubelet-client,O=system:masters");
  });
}

const refusals = [
  // kubelet                         client
  [400, "previous terminated", "BadRequest", "previous terminated"],
  [401, "", "Unauthorized", "the server has asked for the client to provide credentials ( pods/log p)"],
  [403, "Forbidden (user=x)", "Forbidden", "Forbidden (user=x) ( pods/log p)"],
  [404, "no such", "NotFound", "the server could not find the requested resource ( pods/log p)"],
  [500, "broken", "InternalError", "Internal error occurred: broken"],
  [
    502,
    "bad",
    "InternalError",
    'an error on the server ("bad") has prevented the request from succeeding ( pods/log p)',
  ],
] as const;
for (const [code, said, reason, message] of refusals) {
  test(`a kubelet's ${code} to a log: ${reason}`, async () => {
    await using lab = await ProxyLab.open({ respond: (_request, response) => response.writeHead(code).end(said) });
    const { status, body } = await lab.face.ask(LOG);
    assert.deepEqual([status, body.code, body.reason, body.message], [code, code, reason, message]);
  });
}

const bad = [
  ["?tailLines=x", 'strconv.ParseInt: parsing "x": invalid syntax'],
  ["?sinceTime=yesterday", 'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse it'],
] as const;
for (const [ports, problem] of [
  ["80,x", '"x": invalid syntax'],
  ["", '"": invalid syntax'],
  ["-1", '"-1": invalid syntax'],
  ["65536", '"65536": value out of range'],
] as const) {
  test(`a port-forward to the ports ${JSON.stringify(ports)} is refused`, () => {
    const message = `cannot convert to []int32: strconv.ParseUint: parsing ${problem}`;
    const query = new URLSearchParams({ ports });
    assert.throws(
      () => portForwardPath({ apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "default" } }, query),
      {
        code: 400,
        message,
      },
    );
  });
}
for (const [query, message] of bad) {
  test(`log${query} is refused before a kubelet is asked`, async () => {
    await using lab = await ProxyLab.open();
    const { status, body } = await lab.face.ask(`${LOG}${query}`);
    assert.deepEqual([status, body.message], [400, message]);
    assert.deepEqual(lab.kubelet.asked, []);
  });
}

describe("a log that is followed", () => {
  test("arrives line by line, as the kubelet writes it", async () => {
    const following = deferred<ServerResponse>();
    await using lab = await ProxyLab.open({
      respond: (_request, response) => {
        response.flushHeaders();
        following.resolve(response);
      },
    });
    const answer = await lab.face.open(`${LOG}?follow=true`);
    const kubelet = await following.promise;
    for (const line of ["one\n", "two\n"]) {
      kubelet.write(line);
      const [bytes] = (await once(answer, "data")) as [Buffer];
      assert.equal(bytes.toString(), line);
    }
    kubelet.end();
    await once(answer, "end");
    assert.equal(answer.complete, true);
  });

  test("a kubelet that breaks off: the response does not look complete", async () => {
    const following = deferred<ServerResponse>();
    await using lab = await ProxyLab.open({ respond: (_request, response) => following.resolve(response) });
    const opening = lab.face.open(`${LOG}?follow=true`);
    const kubelet = await following.promise;
    kubelet.write("half");
    const answer = await opening;
    await once(answer, "data");
    kubelet.destroy();
    const [error] = (await once(answer, "error")) as [Error];
    assert.match(error.message, /aborted/);
  });

  test("a client that disconnects ends the kubelet's response", async () => {
    const following = deferred<ServerResponse>();
    await using lab = await ProxyLab.open({
      respond: (_request, response) => {
        response.flushHeaders();
        following.resolve(response);
      },
    });
    const answer = await lab.face.open(`${LOG}?follow=true`);
    const kubelet = await following.promise;
    answer.on("error", () => {});
    answer.destroy();
    await once(kubelet, "close");
  });

  test("a client that stops reading slows the kubelet down", async () => {
    const following = deferred<ServerResponse>();
    await using lab = await ProxyLab.open({ respond: (_request, response) => following.resolve(response) });
    const opening = lab.face.open(`${LOG}?follow=true`);
    const kubelet = await following.promise;
    const piece = Buffer.alloc(64 * 1024, "x");
    let written = 0;
    let isFull = false;
    while (!isFull && written < 256 << 20) {
      written += piece.length;
      if (kubelet.write(piece)) continue;
      let drained = false;
      kubelet.once("drain", () => {
        drained = true;
      });
      for (let round = 0; round < 500 && !drained; round++) await settle(1);
      isFull = !drained;
    }
    assert.ok(written < 64 << 20, `${written} bytes were written while the client did not read`);
    kubelet.end();
    let read = 0;
    for await (const bytes of await opening) read += (bytes as Buffer).length;
    assert.equal(read, written);
  });
});

test("a kubelet's certificate is verified only if its CA is configured, and not if the client opts out", async () => {
  const { certificatePem } = await makeAuthority();
  const respond = (_request: unknown, response: ServerResponse) => void response.end("hello");
  await using lab = await ProxyLab.open({ respond }, { kubeletCaPem: certificatePem });
  const refused = await lab.face.ask(LOG);
  const url = `https://127.0.0.1:${lab.kubelet.port}/containerLogs/default/p/c`;
  assert.deepEqual(
    [refused.status, refused.body.message],
    [500, `Get "${url}": x509: certificate signed by unknown authority`],
  );
  assert.equal((await lab.face.ask(`${LOG}?insecureSkipTLSVerifyBackend=true`)).text, "hello");
});

test("a foreign node address is reported as a refused connection without dialling", async () => {
  const addresses = [{ type: "InternalIP", address: "192.0.2.1" }];
  await using lab = await ProxyLab.open({}, {}, { addresses, daemonEndpoints: { kubeletEndpoint: { Port: 10250 } } });
  const { status, body } = await lab.face.ask(LOG);
  const url = "https://192.0.2.1:10250/containerLogs/default/p/c";
  assert.equal(status, 500);
  assert.equal(body.message, `Get "${url}": dial tcp 192.0.2.1:10250: connect: connection refused`);
});

for (const [subprotocol, wanted] of [
  ["binary.k8s.io", ["", "hello\n"]],
  ["base64.binary.k8s.io", ["", "aGVsbG8K"]],
] as const) {
  test(`a log over a WebSocket, ${subprotocol}`, async () => {
    await using lab = await ProxyLab.open({ respond: (_request, response) => response.end("hello\n") });
    const { ca, cert, key } = lab.access;
    const ws = new WebSocket(`${lab.face.controlPlane.url}${LOG}`, subprotocol, { ca, cert, key });
    const seen: string[] = [];
    ws.on("message", (data: Buffer) => seen.push(data.toString()));
    const [code] = await once(ws, "close");
    assert.deepEqual([seen, code], [wanted, 1000]);
  });
}

describe("the proxy to nodes and pods", () => {
  test("forwards requests and responses without hop-by-hop headers", async () => {
    await using lab = await ProxyLab.open({
      respond: (request, response) => {
        response.writeHead(201, {
          "X-Kubelet": "yes",
          "Access-Control-Allow-Origin": "*",
          "Content-Type": "text/plain",
        });
        request.pipe(response);
      },
    });
    const path = "/api/v1/nodes/n/proxy/run/a%20b/?x=1&y=%2F";
    const body = Buffer.from("payload");
    const headers = { "X-Mine": "1", Authorization: "Basic c2VjcmV0" };
    const answer = await lab.face.ask(path, { method: "POST", body, headers });
    assert.deepEqual([answer.status, answer.text, answer.headers["x-kubelet"]], [201, "payload", "yes"]);
    assert.equal(answer.headers["access-control-allow-origin"], undefined);
    assert.equal(answer.headers["cache-control"], "no-cache, private");
    const [one] = lab.kubelet.asked;
    assert.deepEqual([one?.method, one?.url], ["POST", "/run/a%20b/?x=1&y=%2F"]);
    const { "x-mine": mine, "x-forwarded-for": by, "x-forwarded-uri": uri, authorization } = one?.headers ?? {};
    assert.deepEqual([mine, by, uri], ["1", "127.0.0.1", "/api/v1/nodes/n/proxy/run/a b/"]);
    assert.equal(authorization, undefined);
    const other = await lab.face.ask("/api/v1/nodes/n/proxy/run/%E6%BC%A2");
    assert.deepEqual([other.status, lab.kubelet.asked[1]?.url], [201, "/run/%E6%BC%A2"]);
    const seen = String(lab.kubelet.asked[1]?.headers["x-forwarded-uri"]);
    assert.equal(Buffer.from(seen, "latin1").toString(), "/api/v1/nodes/n/proxy/run/漢");
    const broken = await lab.face.ask("/api/v1/nodes/n/proxy/run/%0A");
    const why = 'error trying to reach service: net/http: invalid header field value for "X-Forwarded-Uri"';
    assert.deepEqual([broken.status, broken.status === 503 && JSON.parse(broken.text).message], [503, why]);
  });

  const table = [
    // path                                            status, message or place
    ["/api/v1/nodes/n/proxy", 301, "/api/v1/nodes/n/proxy/"],
    ["/api/v1/nodes/n/proxy?a=b", 301, "/api/v1/nodes/n/proxy/?a=b"],
    ["/api/v1/nodes/n:1/proxy/", 400, "address not allowed"],
    ["/api/v1/nodes/a:b:c:d/proxy/", 400, 'invalid node request "a:b:c:d"'],
    ["/api/v1/nodes/nope/proxy/", 404, 'nodes "nope" not found'],
    [`${PODS}/p:8080/proxy/`, 400, "address not allowed"],
    [`${PODS}/nope/proxy/`, 404, 'pods "nope" not found'],
  ] as const;
  for (const [path, code, wanted] of table) {
    test(`GET ${path}: ${code} ${wanted}`, async () => {
      await using lab = await ProxyLab.open();
      const answer = await lab.face.ask(path);
      assert.deepEqual([answer.status, answer.headers.location ?? answer.body.message], [code, wanted]);
    });
  }

  test("a kubelet that is down: 503 in upstream's words", async () => {
    await using lab = await ProxyLab.open();
    await lab.kubelet.close();
    const { status, body } = await lab.face.ask("/api/v1/nodes/n/proxy/healthz");
    const why = `dial tcp 127.0.0.1:${lab.kubelet.port}: connect: connection refused`;
    assert.deepEqual([status, body.message], [503, `error trying to reach service: ${why}`]);
  });
});
