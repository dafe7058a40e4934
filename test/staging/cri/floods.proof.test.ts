import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { onTestFinished, test } from "vitest";
import { MAX_MESSAGE_BYTES } from "../../../src/staging/cri/grpc/status.js";
import { RUNTIME_SERVICE } from "../../../src/staging/cri/services.js";
import { SystemClock } from "../../../src/util/clock.js";
import { CliProcess, newHome } from "../../support/cli-process.js";
import { childrenOf } from "../../support/processes.js";
import {
  encodeField,
  Flag,
  FrameType,
  frame,
  message,
  PREFACE,
  RawConnection,
  requestBlock,
  settings,
} from "./raw-http2.js";
import { openChannel } from "./support.js";

const { DATA, HEADERS, PRIORITY, RST_STREAM, PING, WINDOW_UPDATE, CONTINUATION } = FrameType;
const { END_HEADERS, END_STREAM } = Flag;
const FLOOD_MS = 4_000;
const MAX_RSS_MB = 300;
const INITIAL_WINDOW_SIZE = 4;
const START = Buffer.concat([PREFACE, settings()]);
const UNREAD = Buffer.concat([PREFACE, settings([INITIAL_WINDOW_SIZE, 0])]);
const EMPTY = message(Buffer.alloc(0));
const VERSION = requestBlock(RUNTIME_SERVICE.version.path);
const EVENTS = requestBlock(RUNTIME_SERVICE.getContainerEvents.path);
const CANCEL = Buffer.of(0, 0, 0, 8);

const clock = new SystemClock();
const signal = new AbortController().signal;

function times(count: number, make: (i: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, i) => make(i)));
}

/** What an attack can use. */
interface Attack {
  open(start?: Buffer): Promise<RawConnection>;
  /** Sends what `next` returns, until the server does not read any more or the time is over. */
  flood(connection: RawConnection, next: (i: number) => Buffer): Promise<void>;
}

/** One frame again and again on a new connection. */
function repeated(bytes: Buffer, prepare: Buffer = Buffer.alloc(0)) {
  return async ({ open, flood }: Attack) => {
    const many = times(1_000, () => bytes);
    await flood(await open(Buffer.concat([START, prepare])), () => many);
  };
}

/** A hundred streams at a time on a new connection. */
function streams(make: (id: number) => Buffer, start = START) {
  return async ({ open, flood }: Attack) =>
    flood(await open(start), (i) => times(100, (j) => make(2 * (100 * i + j) + 1)));
}

const openCall = frame(HEADERS, END_HEADERS, 1, VERSION);
const call = (id: number, block = VERSION) =>
  Buffer.concat([frame(HEADERS, END_HEADERS, id, block), frame(DATA, END_STREAM, id, EMPTY)]);

async function announcedMessages({ open, flood }: Attack): Promise<void> {
  const start = times(50, (i) =>
    Buffer.concat([
      frame(HEADERS, END_HEADERS, 2 * i + 1, VERSION),
      frame(DATA, 0, 2 * i + 1, message(Buffer.alloc(0), 0, MAX_MESSAGE_BYTES)),
    ]),
  );
  const connection = await open(Buffer.concat([START, start]));
  const limitMs = clock.now() + FLOOD_MS;
  let sent = 0;
  while (!connection.isRefused && clock.now() < limitMs) {
    // Within the connection's window: otherwise nghttp2 ends the connection.
    const bytes = times(50, (i) => times(20, () => frame(DATA, 0, 2 * i + 1, Buffer.of(1))));
    if (sent < 60_000 + connection.credit && (await connection.send(bytes))) sent += 1_000;
    else await clock.sleep(1, signal);
  }
  await flood(connection, () => Buffer.alloc(0));
}

async function resetsOnNewConnections({ open }: Attack): Promise<void> {
  const limitMs = clock.now() + FLOOD_MS;
  while (clock.now() < limitMs) {
    const resets = times(900, (i) => Buffer.concat([call(2 * i + 1), frame(RST_STREAM, 0, 2 * i + 1, CANCEL)]));
    const connection = await open(Buffer.concat([START, resets]));
    await clock.sleep(5, signal);
    connection.close();
  }
}

async function idleConnections({ open }: Attack): Promise<void> {
  const half = frame(HEADERS, 0, 1, VERSION.subarray(0, 20));
  for (let i = 0; i < 1_000; i++) {
    // The kernel refuses connections while its queue is full.
    await open(Buffer.concat([START, half])).catch(() => clock.sleep(5, signal));
  }
}

async function slowConnections({ open }: Attack): Promise<void> {
  const slow = await Promise.all(Array.from({ length: 100 }, () => open(PREFACE.subarray(0, 1))));
  for (let i = 1; i < PREFACE.length; i++) {
    for (const connection of slow) await connection.send(PREFACE.subarray(i, i + 1));
    await clock.sleep(FLOOD_MS / PREFACE.length, signal);
  }
}

const LARGE_HEADERS = Buffer.concat([VERSION, encodeField("x-large", "a".repeat(15_000))]);
const BOMB = message(gzipSync(Buffer.alloc(200 * 1024 * 1024)), 1);
const GZIPPED = requestBlock(RUNTIME_SERVICE.version.path, { "grpc-encoding": "gzip" });

const ATTACKS: Readonly<Record<string, (attack: Attack) => Promise<void>>> = {
  "empty CONTINUATION frames": repeated(frame(CONTINUATION, 0, 1), frame(HEADERS, 0, 1, VERSION.subarray(0, 20))),
  "PING frames": repeated(frame(PING, 0, 0, Buffer.alloc(8))),
  "SETTINGS frames": repeated(settings()),
  "PRIORITY frames": repeated(frame(PRIORITY, 0, 1_001, Buffer.of(0, 0, 0, 0, 1))),
  "WINDOW_UPDATE frames": repeated(frame(WINDOW_UPDATE, 0, 0, Buffer.of(0, 0, 0, 1))),
  "empty DATA frames": repeated(frame(DATA, 0, 1), openCall),
  "frames of an unknown type": repeated(frame(99, 0, 0)),
  "a message in every five bytes": repeated(
    frame(
      DATA,
      0,
      1,
      times(2_000, () => EMPTY),
    ),
    openCall,
  ),
  "streams that are reset at once": streams((id) =>
    Buffer.concat([frame(HEADERS, END_HEADERS, id, VERSION), frame(RST_STREAM, 0, id, CANCEL)]),
  ),
  "resets on new connections": resetsOnNewConnections,
  "streams that stay open": streams((id) => frame(HEADERS, END_HEADERS, id, VERSION)),
  "large headers": streams((id) => frame(HEADERS, END_HEADERS, id, LARGE_HEADERS)),
  "event streams that are never read": streams((id) => call(id, EVENTS), UNREAD),
  "responses that are never read": streams((id) => call(id), UNREAD),
  "messages of 16 MiB in frames of one byte": announcedMessages,
  "compressed messages": async ({ open, flood }) =>
    flood(await open(), (i) => {
      const id = 2 * i + 1;
      const data = Array.from({ length: Math.ceil(BOMB.length / 16_000) }, (_, j) =>
        frame(DATA, 0, id, BOMB.subarray(16_000 * j, 16_000 * (j + 1))),
      );
      return Buffer.concat([frame(HEADERS, END_HEADERS, id, GZIPPED), ...data, frame(DATA, END_STREAM, id)]);
    }),
  "a thousand idle connections": idleConnections,
  "a hundred connections that send one byte at a time": slowConnections,
};

/** Resident memory of a process. */
function usageOf(pid: number): { readonly rssMb: number; readonly peakMb: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mb = (field: string) => Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024);
  return { rssMb: mb("VmRSS"), peakMb: mb("VmHWM") };
}

for (const [name, attack] of Object.entries(ATTACKS)) {
  test(`the runtime's socket under attack: ${name}`, async () => {
    const home = newHome();
    const path = join(home, "cri.sock");
    const runtime = new CliProcess(home, ["runtime", "up", "--listen", `unix://${path}`]);
    onTestFinished(async () => void (await runtime.kill("SIGKILL")));
    await runtime.printed(/cri\.sock/);
    const connections: RawConnection[] = [];
    onTestFinished(() => {
      for (const connection of connections) connection.close();
    });
    const open = async (start = START) => {
      const connection = await RawConnection.open({ path });
      connections.push(connection);
      await connection.send(start);
      return connection;
    };
    const flood = async (connection: RawConnection, next: (i: number) => Buffer) => {
      const limitMs = clock.now() + FLOOD_MS;
      for (let i = 0; clock.now() < limitMs && (await connection.send(next(i))); i++) await clock.sleep(0, signal);
    };
    const { channel } = openChannel(`unix://${path}`);
    let answers = 0;
    let slowestMs = 0;
    const isAnswered = async () => {
      const beginMs = clock.now();
      const result = await channel.call(RUNTIME_SERVICE.version, {}, {});
      assert.equal(result.outcome, "ok", `${name}: another client is answered`);
      answers++;
      slowestMs = Math.max(slowestMs, clock.now() - beginMs);
    };
    // Before the attack: the kernel refuses new connections while the server's queue is full.
    await isAnswered();
    let isOver = false;
    const attacking = attack({ open, flood }).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await isAnswered();
      await clock.sleep(200, signal);
    }
    await attacking;
    await isAnswered();
    assert(runtime.child.pid !== undefined);
    // The runtime has a process of its own.
    const [pid = 0] = childrenOf(runtime.child.pid);
    const { rssMb, peakMb } = usageOf(pid);
    const ended = connections.filter(({ isRefused }) => isRefused).length;
    console.log(
      `${name}: ${rssMb} MB (peak ${peakMb} MB), ${ended} of ${connections.length} connections ended, ${answers} answers to another client, the slowest after ${slowestMs} ms`,
    );
    assert(peakMb < MAX_RSS_MB, `${peakMb} MB`);
  });
}
