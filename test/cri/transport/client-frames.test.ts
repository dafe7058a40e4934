import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { Flag, FrameType, frame, numberFrame, Setting, settingsFrame } from "../../../src/cri/transport/frames.js";
import { HeaderEncoder } from "../../../src/cri/transport/header-encoder.js";
import { encodeField, type Fields } from "../../../src/cri/transport/hpack.js";
import { untilTrue } from "../../support/fake-clock.js";
import { ask, EMPTY, HEAD, openSession, STATUS_200, scripted } from "./raw-session.js";

describe("frames that few send, and all must take", () => {
  const table: readonly (readonly [string, readonly Buffer[], Fields, string])[] = [
    [
      "a header block in three pieces",
      [
        frame(FrameType.HEADERS, Flag.END_STREAM, 1, STATUS_200),
        frame(FrameType.CONTINUATION, 0, 1, encodeField("a", "1").subarray(0, 2)),
        frame(FrameType.CONTINUATION, Flag.END_HEADERS, 1, encodeField("a", "1").subarray(2)),
      ],
      { ":status": "200", a: "1" },
      "",
    ],
    [
      "padding and priority around headers, padding around data",
      [
        frame(
          FrameType.HEADERS,
          Flag.END_HEADERS | Flag.PADDED | Flag.PRIORITY,
          1,
          Buffer.concat([Buffer.from([3, 0, 0, 0, 0, 16]), STATUS_200, Buffer.alloc(3)]),
        ),
        frame(FrameType.DATA, Flag.PADDED, 1, Buffer.concat([Buffer.from([2]), Buffer.from("hello"), Buffer.alloc(2)])),
        frame(FrameType.DATA, Flag.PADDED | Flag.END_STREAM, 1, Buffer.from([0])),
      ],
      { ":status": "200" },
      "hello",
    ],
    [
      "frames of unknown kinds, priorities, empty data, a ping",
      [
        frame(0x42, 0xff, 7, Buffer.from("?")),
        frame(FrameType.PRIORITY, 0, 1, Buffer.alloc(5)),
        frame(FrameType.PING, 0, 0, Buffer.from("pingpong")),
        frame(FrameType.HEADERS, Flag.END_HEADERS, 1, STATUS_200),
        frame(FrameType.DATA, 0, 1, EMPTY),
        frame(FrameType.DATA, 0, 1, Buffer.from("x")),
        frame(FrameType.DATA, Flag.END_STREAM, 1, EMPTY),
      ],
      { ":status": "200" },
      "x",
    ],
  ];
  for (const [name, frames, headers, body] of table) {
    test(name, async () => {
      const port = await scripted((socket) => {
        socket.write(settingsFrame([[Setting.MAX_CONCURRENT_STREAMS, 100]]));
        socket.once("data", () => socket.write(Buffer.concat(frames)));
      });
      const { session } = await openSession(port);
      const answer = await ask(session);
      assert.deepEqual([answer.headers[0], answer.body.toString(), answer.end], [headers, body, { by: "end" }]);
    });
  }

  test("a ping is answered with its own bytes, settings with an acknowledgement", async () => {
    let seen: Buffer[] = [];
    const port = await scripted((socket, received) => {
      seen = received;
      socket.write(Buffer.concat([settingsFrame([]), frame(FrameType.PING, 0, 0, Buffer.from("pingpong"))]));
    });
    await openSession(port);
    const pong = frame(FrameType.PING, Flag.ACK, 0, Buffer.from("pingpong"));
    await untilTrue(() => Buffer.concat(seen).includes(pong));
    assert.ok(Buffer.concat(seen).includes(frame(FrameType.SETTINGS, Flag.ACK, 0, EMPTY)));
  });

  test("an answer that comes before the request is sent stops the rest of it", async () => {
    let seen: Buffer[] = [];
    const port = await scripted((socket, received) => {
      seen = received;
      socket.write(settingsFrame([[Setting.INITIAL_WINDOW_SIZE, 10]]));
      socket.once("data", () =>
        socket.write(frame(FrameType.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, 1, STATUS_200)),
      );
    });
    const { session } = await openSession(port);
    const answer = await ask(session, Buffer.alloc(1_000));
    assert.deepEqual(answer.end, { by: "end" });
    const reset = numberFrame(FrameType.RST_STREAM, 1, 0);
    await untilTrue(() => Buffer.concat(seen).includes(reset));
  });
});

test("room for one: the next is sent when the other side was told of the cancelled one, a cancelled waiting one never", async () => {
  let seen: Buffer[] = [];
  const port = await scripted((socket, received) => {
    seen = received;
    socket.write(settingsFrame([[Setting.MAX_CONCURRENT_STREAMS, 1]]));
  });
  const { session } = await openSession(port);
  const bodies = ["first", "second", "third"].map((body) => Buffer.from(body));
  const sink = { headers() {}, data() {}, closed() {} };
  const [first, second] = bodies.map((body) => session.request(HEAD, body, sink));
  second?.cancel();
  first?.cancel();
  const encoder = new HeaderEncoder();
  const request = (id: number, body: Buffer) => [
    frame(FrameType.HEADERS, Flag.END_HEADERS, id, encoder.block(HEAD)),
    frame(FrameType.DATA, Flag.END_STREAM, id, body),
  ];
  const [one = EMPTY, , three = EMPTY] = bodies;
  const want = [...request(1, one), numberFrame(FrameType.RST_STREAM, 1, 8), ...request(3, three)];
  await untilTrue(() => Buffer.concat(seen).includes(three));
  assert.ok(Buffer.concat(seen).includes(Buffer.concat(want)), Buffer.concat(seen).toString("hex"));
});

describe("what breaks the rules ends the connection, and every call on it", () => {
  const ok = frame(FrameType.HEADERS, Flag.END_HEADERS, 1, STATUS_200);
  const table: readonly (readonly [string, Buffer, RegExp])[] = [
    ["a frame of more than 16 KB", Buffer.from([0, 0x40, 1, 0, 0, 0, 0, 0, 1]), /a frame of 16385 bytes/],
    [
      "a header block that refers to nothing",
      frame(FrameType.HEADERS, Flag.END_HEADERS, 1, Buffer.from([0xbe])),
      /no header field 62/,
    ],
    ["a header block that breaks off", Buffer.concat([frame(FrameType.HEADERS, 0, 1, STATUS_200), ok]), /breaks off/],
    [
      "data that is all padding",
      Buffer.concat([ok, frame(FrameType.DATA, Flag.PADDED, 1, Buffer.from([9, 0]))]),
      /all padding/,
    ],
    ["a window update without its number", frame(FrameType.WINDOW_UPDATE, 0, 0, Buffer.from([1])), /too short/],
    ["a push", frame(FrameType.PUSH_PROMISE, Flag.END_HEADERS, 1, Buffer.alloc(4)), /pushes/],
  ];
  for (const [name, bytes, why] of table) {
    test(name, async () => {
      const port = await scripted((socket) => {
        socket.write(settingsFrame([]));
        socket.once("data", () => socket.write(bytes));
      });
      const { session, lost } = await openSession(port);
      const { end } = await ask(session);
      assert.ok(end.by === "connection");
      assert.match(end.why, why);
      assert.deepEqual([lost.length, session.isOpen], [1, false]);
    });
  }

  const greetings: readonly (readonly [string, Buffer, RegExp])[] = [
    ["HTTP/1", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"), /this is no HTTP\/2: a frame of \d+ bytes/],
    ["headers", ok, /does not begin with settings/],
    ["data", frame(FrameType.DATA, 0, 1, Buffer.from("x")), /does not begin with settings/],
  ];
  for (const [name, bytes, why] of greetings) {
    test(`a server that begins with ${name}`, async () => {
      const port = await scripted((socket) => socket.write(bytes));
      await assert.rejects(openSession(port), why);
    });
  }
});
