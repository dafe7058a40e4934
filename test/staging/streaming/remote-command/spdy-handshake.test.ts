import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "vitest";
import { connectSpdyRemoteCommand, spdyRemoteCommand } from "../../../../src/staging/client-go/remotecommand/spdy.js";
import { SUCCESS } from "../../../../src/staging/streaming/remote-command/status-text.js";
import { FakeClock, settle } from "../../../support/fake-clock.js";
import { RawPeer, socketPair } from "../spdy-support.js";
import { startUpgradeServer, type UpgradeServer } from "../support/upgrade-server.js";

import { cat, PIPES, type Setup, serve, signal } from "./spdy-command.js";

/** A raw client: sends a request and reads the answer's head. */
async function ask(server: UpgradeServer, headers: readonly string[]) {
  const socket = connect(server.port, "127.0.0.1");
  socket.write(["POST /exec HTTP/1.1", "Host: x", ...headers, "", ""].join("\r\n"));
  let text = "";
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += (chunk as Buffer).toString("latin1");
    if (text.includes("\r\n\r\n")) break;
  }
  return { socket, text };
}

const UPGRADE = ["Connection: Upgrade", "Upgrade: SPDY/3.1"];
const REFUSALS: readonly (readonly [what: string, headers: readonly string[], answer: RegExp])[] = [
  [
    "no version",
    UPGRADE,
    /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*unable to upgrade: X-Stream-Protocol-Version is required\n$/,
  ],
  [
    "an unknown version",
    [...UPGRADE, "X-Stream-Protocol-Version: v9.channel.k8s.io, v8"],
    /^HTTP\/1\.1 403 Forbidden\r\nX-Accepted-Stream-Protocol-Versions: v4\.channel\.k8s\.io\r\n[\s\S]*client supports \[v9\.channel\.k8s\.io v8\], server accepts \[v4\.channel\.k8s\.io v3\.channel\.k8s\.io v2\.channel\.k8s\.io channel\.k8s\.io\]\n$/,
  ],
  [
    "another protocol",
    ["Connection: Upgrade", "Upgrade: tcp", "X-Stream-Protocol-Version: channel.k8s.io"],
    /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*missing upgrade headers in request: http\.Header\{"Connection":\[\]string\{"Upgrade"\}, "Upgrade":\[\]string\{"tcp"\}, "X-Stream-Protocol-Version":\[\]string\{"channel\.k8s\.io"\}\}\n$/,
  ],
];
for (const [what, headers, answer] of REFUSALS) {
  test(`refused in upstream's words: ${what}`, async () => {
    await using setup = await serve(PIPES, cat);
    const { socket, text } = await ask(setup.server, headers);
    assert.match(text, answer);
    await once(socket, "close");
    assert.equal(setup.refusals.length, 1);
    assert.match(setup.refusals[0] ?? "", /^StreamError: unable to upgrade/);
  });
}

const OFFERS: readonly (readonly [headers: readonly string[], chosen: string])[] = [
  [
    ["X-Stream-Protocol-Version: v2.channel.k8s.io", "X-Stream-Protocol-Version: v4.channel.k8s.io"],
    "v2.channel.k8s.io",
  ],
  [["X-Stream-Protocol-Version: v5.channel.k8s.io, v3.channel.k8s.io"], "v3.channel.k8s.io"],
  [["x-stream-protocol-version: channel.k8s.io"], "channel.k8s.io"],
];
for (const [headers, chosen] of OFFERS) {
  test(`of ${headers.join(" and ")}, ${chosen} is chosen`, async () => {
    await using setup = await serve(PIPES, cat);
    const { socket, text } = await ask(setup.server, [...UPGRADE, ...headers]);
    assert.equal(
      text,
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${chosen}\r\n\r\n`,
    );
    socket.destroy();
    await settle();
  });
}

async function rawClient(setup: Setup): Promise<RawPeer> {
  const { socket } = await ask(setup.server, [...UPGRADE, "X-Stream-Protocol-Version: v4.channel.k8s.io"]);
  return new RawPeer(socket);
}

const synStream = (streamId: number, streamtype: string) =>
  ({ type: "SYN_STREAM", streamId, headers: { streamtype }, fin: false, unidirectional: false }) as const;

test("without streams in 30 s the connection is closed with the reason", async () => {
  await using setup = await serve(PIPES, cat);
  const peer = await rawClient(setup);
  peer.send(synStream(1, "error"), synStream(3, "stdin"), synStream(5, "no such"));
  for (let replies = 0; replies < 3; replies++) assert.equal((await peer.next())?.type, "SYN_REPLY");
  await setup.clock.advance(30_000);
  const frames = await peer.rest();
  assert.equal(frames.at(-1)?.type, "GOAWAY");
  await settle();
  assert.deepEqual(setup.refusals, ["StreamError: timed out waiting for client to create streams"]);
});

test("a client that disconnects before it opens its streams is not a timeout", async () => {
  await using setup = await serve(PIPES, cat);
  const peer = await rawClient(setup);
  peer.send(synStream(1, "error"));
  await peer.next();
  peer.socket.end();
  await peer.rest();
  await settle();
  assert.match(setup.refusals[0] ?? "", /the peer closed the connection/);
});

test("streams in another order, duplicates and unknown ones: the command runs with the last of each kind", async () => {
  await using setup = await serve({ ...PIPES, stdin: false, stderr: false }, async (session) => {
    await session.stdout?.write(Buffer.from("out"));
    await session.finish(SUCCESS);
  });
  const peer = await rawClient(setup);
  peer.send(synStream(1, "stdout"), synStream(3, "what"), synStream(5, "stdout"), synStream(7, "error"));
  const frames = await peer.rest();
  const written = frames.flatMap((frame) =>
    frame.type === "DATA" ? [`${frame.streamId} ${frame.bytes.toString()}${frame.fin ? " FIN" : ""}`] : [],
  );
  assert.deepEqual(written, ["5 out", "5  FIN", '7 {"metadata":{},"status":"Success"}']);
});

test("a server's refusal is returned unchanged", async () => {
  await using setup = await serve(PIPES, cat, { supported: ["v2.channel.k8s.io"] });
  const answer = await connectSpdyRemoteCommand(
    setup.server.url,
    { options: PIPES, clock: setup.clock, protocols: ["v4.channel.k8s.io"] },
    signal,
  );
  assert.equal(answer.outcome, "refused");
  assert.equal(answer.outcome === "refused" && answer.status, 403);
  assert.match(answer.outcome === "refused" ? answer.body.toString() : "", /server accepts \[v2\.channel\.k8s\.io\]/);
});

test("no server, and an aborted signal", async () => {
  const clock = new FakeClock();
  const options = { options: PIPES, clock };
  await assert.rejects(connectSpdyRemoteCommand("http://127.0.0.1:1/", options, signal), (error: Error) => {
    assert.equal(error.name, "StreamError");
    return /ECONNREFUSED/.test(error.message);
  });
  const silent = await startUpgradeServer(() => new Promise(() => {}));
  const stop = new AbortController();
  const asking = assert.rejects(connectSpdyRemoteCommand(silent.url, options, stop.signal), /enough/);
  await settle();
  stop.abort(new Error("enough"));
  await asking;
  for (const socket of silent.sockets) socket.destroy();
});

test("a signal that aborts while the streams are opened closes the connection", async () => {
  const { near, far } = await socketPair();
  const clock = new FakeClock();
  const stop = new AbortController();
  const upgraded = { socket: near, head: Buffer.alloc(0), headers: { upgrade: "SPDY/3.1" } };
  const opening = assert.rejects(spdyRemoteCommand(upgraded, { options: PIPES, clock }, stop.signal), /enough/);
  far.on("error", () => far.destroy());
  await once(far, "data");
  stop.abort(new Error("enough"));
  await opening;
  far.end();
  await once(near, "close");
  assert.equal(clock.sleeping, 0);
});
