import assert from "node:assert/strict";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Stream, type Settings } from "node:http2";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, onTestFinished, test } from "vitest";
import { ClientSession } from "../../../src/cri/transport/client-session.js";
import type { ClientStream, StreamEnd } from "../../../src/cri/transport/client-stream.js";
import { Flag, FrameType, frame, numberFrame, Setting, settingsFrame } from "../../../src/cri/transport/frames.js";
import { HeaderEncoder } from "../../../src/cri/transport/header-encoder.js";
import { encodeField, type Fields } from "../../../src/cri/transport/hpack.js";
import { settle, untilTrue } from "../../support/fake-clock.js";

const HEAD = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/x"],
  [":authority", "localhost"],
] as const;

/** A session over a real socket, ready for calls. `pieceBytes`: how much of what arrives is handed in at once. */
async function openSession(port: number, pieceBytes = Number.POSITIVE_INFINITY) {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const lost: string[] = [];
  const session = await new Promise<ClientSession>((resolve, reject) => {
    const one: ClientSession = new ClientSession(
      socket,
      () => resolve(one),
      (why) => {
        lost.push(why);
        reject(new Error(why));
      },
    );
    socket.on("data", (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; at += pieceBytes) one.received(chunk.subarray(at, at + pieceBytes));
    });
  });
  return { session, lost, socket };
}

interface Answer {
  readonly headers: Fields[];
  readonly body: Buffer;
  readonly end: StreamEnd;
  readonly handle: ClientStream;
}

function ask(
  session: ClientSession,
  body = Buffer.alloc(0),
  onHandle?: (handle: ClientStream) => void,
): Promise<Answer> {
  return new Promise((resolve) => {
    const headers: Fields[] = [];
    const pieces: Buffer[] = [];
    const handle = session.request(HEAD, body, {
      headers: (fields) => headers.push(fields),
      data: (bytes, from, to) => pieces.push(Buffer.from(bytes.subarray(from, to))),
      closed: (end) => queueMicrotask(() => resolve({ headers, body: Buffer.concat(pieces), end, handle })),
    });
    onHandle?.(handle);
  });
}

async function serve(
  answer: (stream: ServerHttp2Stream, body: Buffer) => void,
  settings: Settings = {},
): Promise<{ readonly port: number; readonly server: Http2Server }> {
  const server = createHttp2Server({ settings });
  server.on("session", (session) => session.on("error", () => {}));
  server.on("stream", (stream) => {
    const pieces: Buffer[] = [];
    stream.on("error", () => {});
    stream.on("data", (piece: Buffer) => pieces.push(piece));
    stream.on("end", () => answer(stream, Buffer.concat(pieces)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, server };
}

const echo = (stream: ServerHttp2Stream, body: Buffer) => {
  stream.respond({ ":status": 200, "x-length": String(body.length) }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "x-done": "yes" }));
  stream.end(body);
};

describe("with Node's own server", () => {
  for (const pieceBytes of [1, 7, Number.POSITIVE_INFINITY]) {
    test(`requests and answers, ${pieceBytes} bytes at a time`, async () => {
      const { port } = await serve(echo);
      const { session } = await openSession(port, pieceBytes);
      for (const length of [0, 1, 100, 16_384, 16_385, 40_000]) {
        const body = Buffer.alloc(length, length);
        const answer = await ask(session, body);
        assert.deepEqual(answer.body, body);
        assert.deepEqual(answer.end, { by: "end" });
        assert.equal(answer.headers[0]?.[":status"], "200");
        assert.equal(answer.headers[0]?.["x-length"], String(length));
        assert.deepEqual(answer.headers[1], { "x-done": "yes" });
      }
    });
  }

  test("a request larger than the other side's windows goes out as they open", async () => {
    const { port } = await serve(echo, { initialWindowSize: 1_000 });
    const { session } = await openSession(port);
    const bodies = [Buffer.alloc(3_000_000, 1), Buffer.alloc(500_000, 2), Buffer.alloc(10, 3)];
    const answers = await Promise.all(bodies.map((body) => ask(session, body)));
    for (const [i, answer] of answers.entries())
      assert.ok(answer.body.equals(bodies[i] ?? Buffer.alloc(0)), `body ${i}`);
  });

  test("an answer of forty megabytes gets through windows of sixteen", async () => {
    const { port } = await serve((stream) => {
      stream.respond({ ":status": 200 });
      stream.end(Buffer.alloc(40_000_000, 7));
    });
    const { session } = await openSession(port);
    assert.equal((await ask(session)).body.length, 40_000_000);
  });

  test("no more streams at once than the other side allows", async () => {
    let open = 0;
    let most = 0;
    const { port } = await serve(
      (stream, body) => {
        most = Math.max(most, ++open);
        stream.on("close", () => open--);
        setImmediate(() => echo(stream, body));
      },
      { maxConcurrentStreams: 3 },
    );
    const { session } = await openSession(port);
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => ask(session, Buffer.from([i]))));
    assert.deepEqual(
      answers.map(({ body }) => body[0]),
      Array.from({ length: 40 }, (_, i) => i),
    );
    assert.equal(most, 3);
  });

  test("a stream that is reset says with which code; the others go on", async () => {
    const { port } = await serve((stream, body) => (body[0] === 1 ? stream.close(11) : echo(stream, body)));
    const { session } = await openSession(port);
    const [reset, fine] = await Promise.all([ask(session, Buffer.from([1])), ask(session, Buffer.from([2]))]);
    assert.deepEqual(reset.end, { by: "reset", code: 11 });
    assert.deepEqual(fine.end, { by: "end" });
  });

  test("a cancelled stream is told of, and nothing more comes of it", async () => {
    const codes: number[] = [];
    const { port } = await serve((stream) => {
      stream.on("close", () => codes.push(stream.rstCode));
      stream.respond({ ":status": 200 });
      stream.write(Buffer.alloc(100_000));
    });
    const { session } = await openSession(port);
    let pieces = 0;
    let ended = false;
    const handle = session.request(HEAD, Buffer.alloc(0), {
      headers: () => {},
      data: () => {
        pieces++;
        handle.cancel();
      },
      closed: () => {
        ended = true;
      },
    });
    await untilTrue(() => codes.length > 0);
    assert.deepEqual([pieces, ended, codes], [1, false, [8]]);
  });

  test("a paused stream stops the other side at its window, until it is resumed", async () => {
    const total = 60_000_000;
    let written = 0;
    const { port } = await serve((stream) => {
      stream.respond({ ":status": 200 });
      const more = () => {
        while (written < total && stream.write(Buffer.alloc(1_000_000))) written += 1_000_000;
        written += 1_000_000;
        if (written < total) stream.once("drain", more);
        else stream.end();
      };
      more();
    });
    const { session } = await openSession(port);
    let received = 0;
    let handle: ClientStream | undefined;
    const over = new Promise<void>((resolve) => {
      handle = session.request(HEAD, Buffer.alloc(0), {
        headers: () => {},
        data: (_bytes, from, to) => {
          received += to - from;
        },
        closed: () => resolve(),
      });
      handle.pause();
    });
    let before = -1;
    while (received !== before) {
      before = received;
      await settle(200);
    }
    assert.equal(received, 16 * 1024 * 1024);
    handle?.resume();
    await over;
    assert.ok(received >= total, `${received} bytes`);
  });

  test("after a goodbye no call is taken; those before it are answered", async () => {
    const { port } = await serve((stream, body) => {
      stream.session?.close();
      setImmediate(() => echo(stream, body));
    });
    const { session, lost } = await openSession(port);
    const answer = await ask(session, Buffer.from([5]));
    assert.deepEqual([answer.body[0], answer.end.by, session.isOpen], [5, "end", false]);
    const after = await ask(session);
    assert.equal(after.end.by, "connection");
    await untilTrue(() => lost.length > 0);
  });
});

/** A server that says exactly these bytes, in this order, once the preface is there. */
async function scripted(script: (socket: Socket, received: Buffer[]) => void): Promise<number> {
  const server = createServer((socket) => {
    const received: Buffer[] = [];
    socket.on("error", () => {});
    socket.on("data", (chunk: Buffer) => received.push(chunk));
    socket.once("data", () => script(socket, received));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const EMPTY = Buffer.alloc(0);
const STATUS_200 = Buffer.from([0x88]);

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
