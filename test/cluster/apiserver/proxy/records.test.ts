import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { SUCCESS } from "../../../../src/staging/streaming/remote-command/status-text.js";
import { untilTrue } from "../../../support/fake-clock.js";
import { type Plays, playing } from "../../../support/playing-kubelet.js";
import { assertApart, RecordedConnection } from "../../../support/tls-records.js";
import { PODS, ProxyLab } from "./lab.js";

const MANY = 40;

const plays: Plays = {
  log: "one\n",
  exec: async ({ stdout, stderr }) => {
    for (let i = 0; i < MANY; i++) await (i % 2 === 0 ? stdout : stderr)?.write(Buffer.from(`line ${i}\n`));
    return SUCCESS;
  },
  attach: async ({ stdout }) => {
    for (let i = 0; i < MANY; i++) await stdout?.write(Buffer.from(`line ${i}\n`));
    return SUCCESS;
  },
  forward: async (connection) => {
    for (let i = 0; i < MANY; i++) await connection.write(Buffer.from(`line ${i}\n`));
    await connection.close();
  },
};

describe("each WebSocket frame of the API server begins a TLS record:", () => {
  for (const [what, release, path, subprotocol] of [
    ["exec", "1.25", "p/exec?command=x&stdout=1&stderr=1", "v4.channel.k8s.io"],
    ["exec, translated to SPDY", "1.32", "p/exec?command=x&stdout=1&stderr=1", "v5.channel.k8s.io"],
    ["attach", "1.25", "p/attach?stdout=1", "v4.base64.channel.k8s.io"],
    ["port-forward", "1.25", "p/portforward?ports=80", "v4.channel.k8s.io"],
    ["log", "1.25", "p/log", "binary.k8s.io"],
  ] as const) {
    test(what, async () => {
      await using lab = await ProxyLab.open(playing(plays), { kubeVersion: release });
      await using client = await RecordedConnection.open(lab.access);
      client.upgrade(`${PODS}/${path}`, subprotocol);
      await client.ended();
      assert.ok(client.frames.length > (what === "log" ? 3 : MANY), `${client.received}`);
      assert.equal(client.records.length, client.frames.length);
      assertApart(client);
    });
  }

  test("whatever a kubelet sends in one record", async () => {
    const frames = Array.from({ length: MANY }, (_, i) => Buffer.from([0x82, 3, 1, 0x30 + i, 10]));
    const head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    await using lab = await ProxyLab.open(
      { upgrade: (_request, socket) => void socket.end(Buffer.concat([Buffer.from(head), ...frames])) },
      { kubeVersion: "1.25" },
    );
    await using client = await RecordedConnection.open(lab.access);
    client.upgrade(`${PODS}/p/exec?command=x&stdout=1`, "v4.channel.k8s.io");
    await client.ended();
    assert.equal(client.frames.length, 1 + MANY);
    assert.deepEqual(client.records, client.frames);
  });

  test("watch", async () => {
    await using lab = await ProxyLab.open();
    await Promise.all(Array.from({ length: 10 }, (_, i) => lab.pod(`more-${i}`, ["c"])));
    await using client = await RecordedConnection.open(lab.access);
    client.upgrade(`${PODS}?watch=1`, "");
    await untilTrue(() => client.frames.length >= 12);
    assert.deepEqual(client.records, client.frames);
  });
});
