import assert from "node:assert/strict";
import { connect } from "node:tls";
import { expect, test } from "vitest";
import { PODS, ProxyLab, untilEnd, untilSeen, upgradeText } from "./lab.js";

/** What a browser sends for a page of another site. It adds no header of its own, only the page's subprotocols. */
const FOREIGN = [
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "Origin: https://evil.example",
];
const SWITCHED = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const V4 = "Sec-WebSocket-Protocol: v4.channel.k8s.io";
const TOKEN = Buffer.from("wrong").toString("base64url");

const paths = [
  `${PODS}/p/exec?command=ls&stdout=true`,
  `${PODS}/p/attach?stdout=true`,
  `${PODS}/p/portforward?ports=80`,
  `${PODS}/p/proxy/`,
  `${PODS}/p/log?follow=true`,
  "/api/v1/nodes/n/proxy/run/default/p/c?cmd=ls",
  `${PODS}?watch=true`,
];

test.each(paths)("a page of another site without credentials reaches nothing: %s", async (path) => {
  await using lab = await ProxyLab.open();
  const { host, port, ca } = lab.access;
  for (const protocol of [V4, `${V4}, base64url.bearer.authorization.k8s.io.${TOKEN}`]) {
    const socket = connect({ host, port, ca });
    socket.write(upgradeText("GET", path, [...FOREIGN, protocol]));
    const answer = await untilEnd(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 403 Forbidden/);
    expect(answer).not.toMatch(/HTTP\/1\.1 101|access-control-allow-origin/i);
  }
  assert.deepEqual(lab.kubelet.asked, []);
});

// Mirrors wsstream.Conn, which accepts any Origin: credentials decide.
test("with credentials the origin does not matter", async () => {
  await using lab = await ProxyLab.open({
    upgrade: (_request, socket) => void socket.end(SWITCHED),
  });
  const socket = await lab.raw(upgradeText("GET", paths[0] ?? "", [...FOREIGN, V4]));
  await untilSeen(socket, "HTTP/1.1 101");
  assert.equal(lab.kubelet.asked.length, 1);
});
