import assert from "node:assert/strict";
import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Stream, type Settings } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, onTestFinished, test } from "vitest";
import type { ClientStream } from "../../../src/cri/transport/client-stream.js";
import { settle, untilTrue } from "../../support/fake-clock.js";
import { ask, HEAD, openSession } from "./raw-session.js";

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
