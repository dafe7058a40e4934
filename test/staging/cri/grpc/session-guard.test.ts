import assert from "node:assert/strict";
import { onTestFinished, test } from "vitest";
import { SESSION_LIMITS, type SessionLimits } from "../../../../src/staging/cri/grpc/session-guard.js";
import { expectOk } from "../../../../src/staging/cri/grpc/status.js";
import { RUNTIME_SERVICE } from "../../../../src/staging/cri/services.js";
import { untilTrue } from "../../../support/fake-clock.js";
import { Flag, FrameType, frame, message, PREFACE, RawConnection, requestBlock, settings } from "../raw-http2.js";
import { openChannel, startRuntime, VERSION } from "../support.js";

const INITIAL_WINDOW_SIZE = 4;
const CANCEL = Buffer.of(0, 0, 0, 8);
const START = Buffer.concat([PREFACE, settings()]);
const UNREAD = Buffer.concat([PREFACE, settings([INITIAL_WINDOW_SIZE, 0])]);
const LONG = "x".repeat(600_000);

/** A runtime with small limits; StopContainer waits until its client cancels it. */
async function startLimited(limits: Partial<SessionLimits>) {
  const server = await startRuntime(
    {
      version: () => ({ ...VERSION, runtimeName: LONG }),
      status: () => ({}),
      stopContainer: (_request, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    },
    { limits: { ...SESSION_LIMITS, ...limits } },
  );
  const open = async (start = START) => {
    const connection = await RawConnection.open({ path: server.endpoint.slice("unix://".length) });
    onTestFinished(() => connection.close());
    await connection.send(start);
    return connection;
  };
  const { channel } = openChannel(server.endpoint);
  return {
    guard: server.guard,
    open,
    /** Another client is answered. */
    isServed: async () => expectOk(await channel.call(RUNTIME_SERVICE.status, {}, {}), "get the status"),
  };
}

function call(name: "version" | "stopContainer", count: number): Buffer {
  const block = requestBlock(RUNTIME_SERVICE[name].path);
  return Buffer.concat(
    Array.from({ length: count }, (_, i) =>
      Buffer.concat([
        frame(FrameType.HEADERS, Flag.END_HEADERS, 2 * i + 1, block),
        frame(FrameType.DATA, Flag.END_STREAM, 2 * i + 1, message(Buffer.alloc(0))),
      ]),
    ),
  );
}

test("the oldest connection without a stream ends when there are too many", async () => {
  const { guard, open, isServed } = await startLimited({ sessions: 3 });
  const busy = await open();
  await busy.send(call("stopContainer", 1));
  await untilTrue(() => guard.counts.streams === 1);
  const idle = await open();
  await open();
  await untilTrue(() => guard.counts.sessions === 3);
  await open();
  await untilTrue(() => idle.isRefused);
  assert.equal(busy.isRefused, false);
  await isServed();
  assert.equal(guard.counts.sessions, 3);
});

test("a client that has sent requests keeps its connection when others only connect", async () => {
  const { guard, open, isServed } = await startLimited({ sessions: 3 });
  await isServed();
  for (let i = 0; i < 10; i++) await open();
  await untilTrue(() => guard.endedSessions === 8);
  await isServed();
  assert.equal(guard.endedSessions, 8);
});

test("a session that has more streams than the settings allow ends", async () => {
  const { guard, open, isServed } = await startLimited({ streamsPerSession: 5 });
  const client = await open();
  await untilTrue(() => client.count(FrameType.SETTINGS) > 0);
  await client.send(frame(FrameType.SETTINGS, Flag.ACK, 0));
  await client.send(call("stopContainer", 5));
  await untilTrue(() => guard.counts.streams === 5);
  const block = requestBlock(RUNTIME_SERVICE.stopContainer.path);
  await client.send(frame(FrameType.HEADERS, Flag.END_HEADERS, 11, block));
  await untilTrue(() => client.isRefused && guard.counts.streams === 0);
  await isServed();
});

test("the session with most streams ends when all sessions have too many", async () => {
  const { guard, open, isServed } = await startLimited({ streams: 10 });
  const large = await open();
  await large.send(call("stopContainer", 7));
  const small = await open();
  await small.send(call("stopContainer", 3));
  await untilTrue(() => guard.counts.streams === 10);
  await isServed();
  await untilTrue(() => large.isRefused && guard.counts.streams === 3);
  assert.equal(small.isRefused, false);
});

test("a request in chunks of one byte counts what its chunks cost", async () => {
  const { guard, open, isServed } = await startLimited({ bytes: 100_000 });
  const client = await open();
  await client.send(frame(FrameType.HEADERS, Flag.END_HEADERS, 1, requestBlock(RUNTIME_SERVICE.status.path)));
  await client.send(frame(FrameType.DATA, 0, 1, message(Buffer.alloc(0), 0, 1_000)));
  for (let i = 0; i < 500; i++) await client.send(frame(FrameType.DATA, 0, 1, Buffer.of(1)));
  await untilTrue(() => client.isRefused);
  await untilTrue(() => guard.counts.bytes === 0);
  await isServed();
});

test("a client that does not read its responses is disconnected", async () => {
  const { guard, open, isServed } = await startLimited({ bytes: 2_000_000 });
  const client = await open(UNREAD);
  await client.send(call("version", 8));
  await untilTrue(() => client.isRefused);
  assert.equal(guard.endedSessions, 1);
  await isServed();
});

test("a client that cancels its calls at once is disconnected", async () => {
  const { guard, open, isServed } = await startLimited({ resets: 20 });
  const client = await open();
  for (let i = 0; i < 30 && !client.isRefused; i++) {
    const id = 2 * i + 1;
    const head = frame(FrameType.HEADERS, Flag.END_HEADERS, id, requestBlock("/nothing"));
    await client.send(Buffer.concat([head, frame(FrameType.RST_STREAM, 0, id, CANCEL)]));
  }
  await untilTrue(() => client.isRefused && guard.counts.streams === 0);
  await isServed();
});

test("a client that cancels all its running calls at once is disconnected, and the process survives", async () => {
  const { guard, open, isServed } = await startLimited({ resets: 20 });
  for (let round = 1; round <= 10; round++) {
    const client = await open();
    await client.send(call("stopContainer", 200));
    await untilTrue(() => guard.counts.streams === 200);
    const resets = Array.from({ length: 200 }, (_, i) => frame(FrameType.RST_STREAM, 0, 2 * i + 1, CANCEL));
    await client.send(Buffer.concat(resets));
    await untilTrue(() => client.isRefused && guard.counts.streams === 0);
    await isServed();
    assert.equal(guard.endedSessions, round);
  }
});
