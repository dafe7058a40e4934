import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { afterEach, describe, test } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import type { ForwardedConnection } from "../../../../src/staging/streaming/port-forward/session.js";
import { untilTrue } from "../../../support/fake-clock.js";
import { makeAuthority, makeLeaf } from "../../../support/https-server.js";
import { playing } from "../../../support/playing-kubelet.js";
import { PODS, ProxyLab, untilEnd } from "./lab.js";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A pod's server, the target of the fake kubelet's forwarded connections. @returns open connections */
async function lab(
  serve: (request: IncomingMessage, response: ServerResponse) => void,
  server: Server = createServer(),
) {
  server.on("request", serve);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const ports: number[] = [];
  const open = new Set<ForwardedConnection>();
  const { port } = server.address() as AddressInfo;
  const forward = async (connection: ForwardedConnection) => {
    ports.push(connection.port);
    if (connection.port === 9) return connection.fail("failed to connect to localhost:9: connection refused");
    open.add(connection);
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    const back = (async () => {
      for await (const bytes of socket) await connection.write(bytes);
      await connection.end();
    })();
    back.catch(() => {}); // the client has disconnected
    for await (const bytes of connection.incoming) socket.write(bytes);
    socket.end();
    await back;
    open.delete(connection);
  };
  const one = await ProxyLab.open(playing({ forward }));
  await one.pod("far", ["c"], "n");
  await one.pod("nowhere", ["c"]);
  for (const name of ["far", "nowhere"]) {
    const status = { podIP: "10.244.0.9", podIPs: [{ ip: "10.244.0.9" }] };
    const headers = { "content-type": "application/merge-patch+json" };
    await one.face.ask(`${PODS}/${name}/status`, { method: "PATCH", body: { status }, headers });
  }
  closing.push(async () => {
    await one[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
  });
  return { ...one, one, face: one.face, kubelet: one.kubelet, ports, open };
}

const echo = (request: IncomingMessage, response: ServerResponse) => {
  const { method, url, headers } = request;
  response.writeHead(201, { "X-Pod": "yes", "X-Asked": `${method} ${url} ${headers.host} ${headers["x-mine"]}` });
  request.pipe(response);
};

describe("pods/proxy goes through the kubelet's port-forward", () => {
  test("request and response are forwarded; the kubelet sees one port-forward", async () => {
    const { face, kubelet, ports } = await lab(echo);
    const body = Buffer.from("payload");
    const headers = { "X-Mine": "1", Authorization: "Basic c2VjcmV0" };
    const answer = await face.ask(`${PODS}/far:8080/proxy/a%20b/?x=1`, { method: "POST", body, headers });
    assert.deepEqual([answer.status, answer.text, answer.headers["x-pod"]], [201, "payload", "yes"]);
    const { host } = new URL(face.controlPlane.url);
    assert.equal(answer.headers["x-asked"], `POST /a%20b/?x=1 ${host} 1`);
    assert.deepEqual(ports, [8080]);
    assert.deepEqual(
      kubelet.asked.map(({ method, url }) => `${method} ${url}`),
      ["POST /portForward/default/far"],
    );
  });

  const BODIES = [
    // method, content type, body
    ["GET", "application/octet-stream", "\u0000\u00ff"],
    ["POST", "text/plain; charset=utf-8", "some text"],
    ["PUT", "application/json", '{"a":1'],
    ["PATCH", "application/x-anything", "a patch of no known type"],
    ["PATCH", "application/merge-patch+json", "{}"],
    ["DELETE", "text/html", "<a href='/x'>"],
    ["OPTIONS", "image/png", "picture"],
  ] as const;
  for (const [method, type, body] of BODIES) {
    test(`${method} with a body of ${type} arrives unchanged, with a length or in chunks`, async () => {
      const { face, one } = await lab((request, response) => {
        const { method: seen, headers } = request;
        response.writeHead(207, { "X-Asked": `${seen} ${headers["content-type"]}`, Allow: "GET,HEAD" });
        request.pipe(response);
      });
      const path = `${PODS}/far:8080/proxy/x`;
      const bytes = Buffer.from(body, "latin1");
      const answer = await face.ask(path, { method, body: bytes, headers: { "content-type": type } });
      const { "x-asked": asked, allow } = answer.headers;
      assert.deepEqual([answer.status, answer.bytes, asked, allow], [207, bytes, `${method} ${type}`, "GET,HEAD"]);
      const head = [`${method} ${path} HTTP/1.1`, "Host: x", `Content-Type: ${type}`, "Connection: close"];
      const chunks = `${bytes.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      const socket = await one.raw(`${head.join("\r\n")}\r\nTransfer-Encoding: chunked\r\n\r\n`);
      socket.write(chunks, "latin1");
      const seen = await untilEnd(socket);
      assert.match(seen, /^HTTP\/1\.1 207 /);
      assert.ok(seen.includes(`\r\n\r\n${bytes.length.toString(16)}\r\n${body}\r\n0\r\n`), seen);
    });
  }

  for (const method of ["HEAD", "GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
    test(`${method} without a body; the pod's answer has all but the headers of CORS for this origin`, async () => {
      const { face } = await lab(({ method: seen, headers }, response) => {
        const length = headers["content-length"] ?? headers["transfer-encoding"] ?? "none";
        const cors = { "Access-Control-Allow-Origin": "*", "Access-Control-Max-Age": "5" };
        response.writeHead(200, { "X-Asked": `${seen} ${length}`, ...cors }).end("foo");
      });
      const { headers, text } = await face.ask(`${PODS}/far/proxy/`, { method });
      assert.match(String(headers["x-asked"]), new RegExp(`^${method} (none|0)$`));
      assert.deepEqual([headers["access-control-allow-origin"], headers["access-control-max-age"]], [undefined, "5"]);
      assert.equal(text, method === "HEAD" ? "" : "foo");
    });
  }

  test("without a path: only a read is sent on to the path's slash", async () => {
    const { face } = await lab(echo);
    for (const method of ["GET", "HEAD"]) {
      const { status, headers } = await face.ask(`${PODS}/far/proxy?method=${method}`, { method });
      assert.deepEqual([status, headers.location], [301, `${PODS}/far/proxy/?method=${method}`]);
    }
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const { status, headers } = await face.ask(`${PODS}/far/proxy?method=${method}`, { method });
      assert.equal(status, 201);
      assert.match(String(headers["x-asked"]), new RegExp(`^${method} /\\?method=${method} `));
    }
  });

  test("a pod that serves TLS: its certificate is not verified", async () => {
    const { certificatePem, keyPem } = await makeLeaf(await makeAuthority(), {});
    const { face } = await lab(echo, createTlsServer({ cert: certificatePem, key: keyPem }));
    const { status, headers } = await face.ask(`${PODS}/https:far:443/proxy/x`);
    assert.deepEqual([status, headers["x-pod"]], [201, "yes"]);
  });

  test("megabytes arrive complete, and nothing stays open", async () => {
    const bytes = Buffer.alloc(3_000_000, 7);
    const { face, open } = await lab((_request, response) => void response.end(bytes));
    const { text } = await face.ask(`${PODS}/far/proxy/x`);
    assert.equal(text.length, bytes.length);
    await untilTrue(() => open.size === 0);
  });

  test("a WebSocket of the pod", async () => {
    const server = createServer();
    const sockets = new WebSocketServer({ server });
    sockets.on("connection", (ws) => ws.on("message", (data) => ws.send(`pod got ${String(data)}`)));
    const { one, open } = await lab(echo, server);
    const { ca, cert, key } = one.access;
    const ws = new WebSocket(`${one.face.controlPlane.url}${PODS}/far:80/proxy/ws`, { ca, cert, key });
    await once(ws, "open");
    ws.send("this");
    const [data] = (await once(ws, "message")) as [Buffer];
    assert.equal(data.toString(), "pod got this");
    ws.close();
    await once(ws, "close");
    await untilTrue(() => open.size === 0);
  });

  const refused = (port: string) => `dial tcp 10.244.0.9:${port}: connect: connection refused`;
  const table = [
    // path                         why
    ["far:9/proxy/x", refused("9")],
    ["far:http/proxy/x", "dial tcp: lookup tcp/http: unknown port"],
    ["far:99999/proxy/x", "dial tcp: address 99999: invalid port"],
    ["nowhere/proxy/x", refused("80")],
  ] as const;
  for (const [path, why] of table) {
    test(`GET ${path}: 503 ${why}`, async () => {
      const { face } = await lab(echo);
      const { status, body } = await face.ask(`${PODS}/${path}`);
      assert.deepEqual([status, body.message], [503, `error trying to reach service: ${why}`]);
    });
  }

  test("a kubelet that is down: 503 in upstream's words", async () => {
    const { face, kubelet } = await lab(echo);
    await kubelet.close();
    const { status, body } = await face.ask(`${PODS}/far/proxy/x`);
    const why = `dial tcp 127.0.0.1:${kubelet.port}: connect: connection refused`;
    assert.deepEqual([status, body.message], [503, `error trying to reach service: ${why}`]);
  });
});

describe("services/proxy chooses a ready pod", () => {
  const ENDPOINTS = "/api/v1/namespaces/default/endpoints";
  const SERVICES = "/api/v1/namespaces/default/services";

  async function withService(addresses: readonly object[], ports: readonly object[] = [{ name: "http", port: 8080 }]) {
    const opened = await lab(echo);
    const { face } = opened;
    const service = { metadata: { name: "web" }, spec: { ports: [{ name: "http", port: 80 }] } };
    await face.ask(SERVICES, { method: "POST", body: { apiVersion: "v1", kind: "Service", ...service } });
    const subsets = addresses.length === 0 ? [] : [{ addresses, ports }];
    const endpoints = { apiVersion: "v1", kind: "Endpoints", metadata: { name: "web" }, subsets };
    await face.ask(ENDPOINTS, { method: "POST", body: endpoints });
    return opened;
  }

  const pod = (name: string, ip = "10.244.0.9", namespace = "default") => ({
    ip,
    targetRef: { kind: "Pod", name, namespace },
  });

  for (const id of ["web:http", "web:80", "http:web:http"]) {
    test(`${id}: by name or number of the service's port, to the port of the pod`, async () => {
      const { face, ports } = await withService([pod("far")]);
      const answer = await face.ask(`${SERVICES}/${id}/proxy/a?x=1`);
      assert.equal(answer.status, 201);
      assert.match(String(answer.headers["x-asked"]), /^GET \/a\?x=1 /);
      assert.deepEqual(ports, [8080]);
    });
  }

  for (const method of ["HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
    test(`${method} through the service`, async () => {
      const { face } = await withService([pod("far")]);
      const { status, headers } = await face.ask(`${SERVICES}/web:http/proxy/a`, { method });
      assert.equal(status, 201);
      assert.match(String(headers["x-asked"]), new RegExp(`^${method} /a `));
    });
  }

  const table: readonly [id: string, addresses: readonly object[], code: number, message: string][] = [
    ["web:http", [], 503, 'no endpoints available for service "web"'],
    ["web:81", [pod("far")], 503, 'no service port 81 found for service "web"'],
    ["web:other", [pod("far")], 503, 'no endpoints available for service "web:other"'],
    ["web", [pod("far")], 503, 'no endpoints available for service "web"'],
    ["web:http", [{ ip: "10.244.0.9" }], 503, 'no endpoints available for service "web:http"'],
    ["web:http", [pod("far", "10.244.0.8")], 503, 'no endpoints available for service "web:http"'],
    ["web:http", [pod("far", "10.244.0.9", "other")], 503, 'no endpoints available for service "web:http"'],
    ["web:http", [pod("missing")], 503, 'no endpoints available for service "web:http"'],
    ["nobody:http", [pod("far")], 404, 'endpoints "nobody" not found'],
    ["ftp:web:http", [pod("far")], 400, 'invalid service request "ftp:web:http"'],
  ];
  for (const [id, addresses, code, message] of table) {
    test(`${id} with ${JSON.stringify(addresses)}: ${code}`, async () => {
      const { face } = await withService(addresses);
      const { status, body } = await face.ask(`${SERVICES}/${id}/proxy/x`);
      assert.deepEqual([status, body.message], [code, message]);
    });
  }

  test("addresses that are no pods are passed over", async () => {
    const { face, ports } = await withService([{ ip: "10.244.0.7" }, pod("missing", "10.244.0.8"), pod("far")]);
    assert.equal((await face.ask(`${SERVICES}/web:http/proxy/x`)).status, 201);
    assert.deepEqual(ports, [8080]);
  });
});
