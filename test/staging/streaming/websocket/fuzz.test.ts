import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import fc from "fast-check";
import { afterAll, beforeAll, test } from "vitest";
import { acceptPortForward } from "../../../../src/staging/streaming/port-forward/accept.js";
import { serveSpdyPortForward } from "../../../../src/staging/streaming/port-forward/spdy-server.js";
import { acceptRemoteCommand } from "../../../../src/staging/streaming/remote-command/accept.js";
import { acceptWebSocket } from "../../../../src/staging/streaming/websocket/accept.js";
import { offeredSubprotocols, PORT_FORWARD_TUNNEL } from "../../../../src/staging/streaming/websocket/subprotocols.js";
import { webSocketTunnel } from "../../../../src/staging/streaming/websocket/tunnel.js";
import { SystemClock } from "../../../../src/util/clock.js";
import { startUpgradeServer, type UpgradeServer } from "../support/upgrade-server.js";

const clock = new SystemClock();
const SUBPROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io", "v4.base64.channel.k8s.io", "channel.k8s.io"];
const options = { stdin: true, stdout: true, stderr: true, tty: true };

let server: UpgradeServer;
let open = 0;
const surprises: unknown[] = [];

/** Reads until the client is gone; the path selects the kind of session. */
beforeAll(async () => {
  process.on("unhandledRejection", (error) => surprises.push(error));
  server = await startUpgradeServer(async (request, socket, head) => {
    open++;
    try {
      if (request.url === "/forward") {
        await using session = await forwardSession(request, socket, head);
        for await (const { incoming } of session.connections) void drain(incoming);
      } else {
        const accept = { options, clock, subprotocols: SUBPROTOCOLS };
        await using session = await acceptRemoteCommand(request, socket, head, accept);
        void drain(session.stdin);
        for await (const _ of session.resizes);
        if (!session.signal.aborted) await once(session.signal, "abort");
        assert.ok(session.signal.reason instanceof Error, "it ended without a reason");
      }
    } catch {
      // Refused, or gone.
    } finally {
      open--;
    }
  });
});
afterAll(() => server[Symbol.asyncDispose]());

/** Also through a tunnel, as on an API server. */
async function forwardSession(request: IncomingMessage, socket: Duplex, head: Buffer) {
  if (!offeredSubprotocols(request).includes(PORT_FORWARD_TUNNEL)) {
    return acceptPortForward(request, socket, head, { ports: [80, 81], clock });
  }
  const { ws } = await acceptWebSocket(request, socket, head, [PORT_FORWARD_TUNNEL]);
  return serveSpdyPortForward(webSocketTunnel(ws, { clock }), Buffer.alloc(0), { clock });
}

async function drain(reader: AsyncIterable<Uint8Array> | undefined): Promise<void> {
  try {
    for await (const _ of reader ?? []);
  } catch {
    // The client is gone.
  }
}

async function handshake(path: string, subprotocol: string): Promise<Socket> {
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => {});
  const head = [
    `GET ${path} HTTP/1.1`,
    "Host: x",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==",
    `Sec-WebSocket-Protocol: ${subprotocol}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  let seen = "";
  while (!seen.includes("\r\n\r\n")) seen += String((await once(socket, "data"))[0]);
  return socket;
}

/** Unlike `once`, does not treat an error as the end: writing to a closed peer is normal here. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

/** A frame as in RFC 6455, or with a defect. */
const frame = fc
  .record({
    first: fc.oneof(fc.constantFrom(0x82, 0x81, 0x02, 0x80, 0x88, 0x89, 0x8a), fc.integer({ min: 0, max: 255 })),
    isMasked: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, fc.boolean()),
    payload: fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc
        .tuple(fc.constantFrom(0, 1, 3, 4, 5, 48, 52, 255), fc.uint8Array({ maxLength: 20 }))
        .map(([channel, rest]) => Uint8Array.of(channel, ...rest)),
      fc.json().map((text) => Buffer.from(`\x04${text}`)),
    ),
    claimed: fc.option(fc.constantFrom(0, 1, 125, 65_535, 2 ** 31, 2 ** 53), { nil: undefined }),
  })
  .map(({ first, isMasked, payload, claimed }) => encode(first, isMasked, payload, claimed ?? payload.length));

function encode(first: number, isMasked: boolean, payload: Uint8Array, length: number): Buffer {
  const maskBit = isMasked ? 0x80 : 0;
  let head: Buffer;
  if (length < 126) head = Buffer.from([first, maskBit | length]);
  else if (length < 65_536) {
    head = Buffer.from([first, maskBit | 126, 0, 0]);
    head.writeUInt16BE(length, 2);
  } else {
    head = Buffer.alloc(10);
    head.writeUInt8(first, 0);
    head.writeUInt8(maskBit | 127, 1);
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  const mask = [1, 2, 3, 4];
  const body = Buffer.from(payload).map((byte, i) => (isMasked ? byte ^ (mask[i % 4] ?? 0) : byte));
  return Buffer.concat([head, isMasked ? Buffer.from(mask) : Buffer.alloc(0), body]);
}

const script = fc.record({
  path: fc.constantFrom("/exec", "/forward"),
  subprotocol: fc.constantFrom(...SUBPROTOCOLS, "SPDY/3.1+portforward.k8s.io"),
  pieces: fc.array(fc.oneof({ weight: 5, arbitrary: frame }, fc.uint8Array({ maxLength: 300 })), { maxLength: 12 }),
  cut: fc.integer({ min: 1, max: 400 }),
  isEnded: fc.boolean(),
});

test("whatever a client sends: no crash, no unhandled rejection, and every connection ends", async () => {
  const property = fc.asyncProperty(script, async ({ path, subprotocol, pieces, cut, isEnded }) => {
    const socket = await handshake(path, subprotocol);
    const bytes = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
    const closed = closeOf(socket);
    for (let at = 0; at < bytes.length && !socket.destroyed; at += cut) socket.write(bytes.subarray(at, at + cut));
    socket.resume();
    if (isEnded) socket.end();
    else socket.destroy();
    await closed;
  });
  await fc.assert(property, { numRuns: 300 });
  while (server.sockets.size > 0 || open > 0) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(surprises, []);
});

const violations = [
  // defect                                frame                                              close code
  ["a frame without a mask", encode(0x82, false, Buffer.from("\x00x"), 2), 1002],
  ["a reserved bit", encode(0xf2, true, Buffer.from("\x00x"), 2), 1002],
  ["an unknown opcode", encode(0x8b, true, Buffer.from("x"), 1), 1002],
  ["a message of 3 GiB", encode(0x82, true, Buffer.from("x"), 3 * 2 ** 30), 1009],
  ["a text that is no UTF-8", encode(0x81, true, Buffer.from([0x30, 0xff]), 2), 1007],
  ["a ping that is too long", encode(0x89, true, Buffer.alloc(126), 126), 1002],
  ["a close of one byte", encode(0x88, true, Buffer.from("x"), 1), 1002],
  ["a continuation of nothing", encode(0x80, true, Buffer.from("x"), 1), 1002],
  ["a close signal for two channels", encode(0x82, true, Buffer.from([255, 0, 1]), 3), 1002],
] as const;
for (const [what, bytes, code] of violations) {
  test(`${what} is answered with a close, ${code}`, async () => {
    const socket = await handshake("/exec", "v5.channel.k8s.io");
    let seen = Buffer.alloc(0);
    socket.on("data", (data: Buffer) => {
      seen = Buffer.concat([seen, data]);
      // The close frame of a server: 0x88, its length, the code.
      const at = seen.indexOf(0x88);
      if (at >= 0 && seen.length >= at + 4) socket.end();
    });
    socket.write(bytes);
    await closeOf(socket);
    const at = seen.indexOf(0x88);
    assert.equal(seen.readUInt16BE(at + 2), code);
  });
}

test("invalid base64 is answered with a close, 1007", async () => {
  const socket = await handshake("/exec", "v4.base64.channel.k8s.io");
  let seen = Buffer.alloc(0);
  socket.on("data", (data: Buffer) => {
    seen = Buffer.concat([seen, data]);
    if (seen.indexOf(0x88) >= 0) socket.end();
  });
  socket.write(encode(0x81, true, Buffer.from("0no base64!"), 11));
  await closeOf(socket);
  assert.equal(seen.readUInt16BE(seen.indexOf(0x88) + 2), 1007);
});
