import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, onTestFinished, test } from "vitest";
import { untilTrue } from "../../support/fake-clock.js";
import { importsOf, sourceFiles } from "../../support/source-files.js";
import { begin, call, GRPC_SERVERS, openSession, type TestedServer } from "./grpc-servers.js";
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

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const SERVE = ["serveGrpc", "serveSocket", "serveCri"];

describe("each gRPC server is made in the one way, and is tested here", () => {
  const imports = sourceFiles(join(ROOT, "src"))
    .flatMap(importsOf)
    .map((found) => ({ ...found, path: relative(ROOT, found.file) }));

  test("the files that open a server", () => {
    const opening = imports.filter(({ path, names = [] }) => {
      return !path.startsWith("src/staging/cri/") && names.some((name) => SERVE.includes(name));
    });
    assert.deepEqual([...new Set(opening.map(({ path }) => path))].sort(), Object.keys(GRPC_SERVERS).sort());
  });

  test("the files that make a server of grpc-js, or of HTTP/2", () => {
    const making = imports.filter(({ specifier, path, isType }) => {
      if (isType || (specifier !== "@grpc/grpc-js" && specifier !== "node:http2")) return false;
      return /\bnew (Grpc)?Server\(|\bcreate(Secure)?Server\(/.test(readFileSync(join(ROOT, path), "utf8"));
    });
    // The second one serves HTTPS: a browser's or client-go's authority is a host.
    assert.deepEqual(
      [...new Set(making.map(({ path }) => path))],
      ["src/staging/cri/grpc/grpc-server.ts", "src/staging/server/http2.ts"],
    );
  });
});

/** `:authority` as Go's encoder writes it: its index in the static table, to be kept in the dynamic one, and the value. */
const AUTHORITIES: Readonly<Record<string, Buffer>> = {
  "plain text": Buffer.concat([Buffer.of(0x41, 31), Buffer.from("/run/containerd/containerd.sock")]),
  "Huffman's code": Buffer.from("419662cb6a6087a9233545b246087a9233545b245d07275f", "hex"),
};
/** The same field in later requests: the newest one of the dynamic table. */
const INDEXED = Buffer.of(0x80 | 62);

describe("a client whose authority is the path of the socket", () => {
  for (const [name, start] of Object.entries(GRPC_SERVERS)) {
    for (const [form, authority] of Object.entries(AUTHORITIES)) {
      test(`is served by ${name}, if it writes the path in ${form}`, async () => {
        const { socket, methods } = await start();
        const [rpc] = methods.filter(({ isStream }) => !isStream);
        const connection = await openRaw(socket);
        const fields = { ":method": "POST", ":scheme": "http", ":path": rpc?.path ?? "", te: "trailers" };
        const head = Object.entries({ ...fields, "content-type": "application/grpc" });
        const rest = head.map(([key, value]) => encodeField(key, value));
        const request = (id: number, field: Buffer) => [
          frame(FrameType.HEADERS, Flag.END_HEADERS, id, Buffer.concat([...rest.slice(0, 3), field, ...rest.slice(3)])),
          frame(FrameType.DATA, Flag.END_STREAM, id, message(Buffer.alloc(0))),
        ];
        await connection.send(Buffer.concat([PREFACE, settings(), ...request(1, authority), ...request(3, INDEXED)]));
        await untilTrue(() => connection.endedStreams === 2 || connection.isClosed);
        // A refused request has no response, but a frame that ends its stream.
        assert.equal(connection.count(FrameType.RST_STREAM), 0);
        assert.ok(connection.count(FrameType.HEADERS) >= 2);
      });
    }
  }
});

/** Those of RFC 9113, 7, and one that it does not know. */
const CODES = [...Array(14).keys(), 0xbeef];

/** Each call has the next code: all methods are tried, and all codes, rather than each with each. */
function codeAt(call: number): number {
  return CODES[call % CODES.length] as number;
}

/** Each connection has calls of one share of the methods; there are more codes than shares. */
const SHARES = 3;

function resetFrame(id: number, code: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(code);
  return frame(FrameType.RST_STREAM, 0, id, payload);
}

/** What a client sends before it resets a call, and whether the server reads it before the reset. */
const REQUESTS: Readonly<Record<string, { readonly frames: typeof head; readonly isRead: boolean }>> = {
  "nothing else": { frames: () => Buffer.alloc(0), isRead: true },
  "the head": { frames: head, isRead: true },
  "the head, in one piece with the reset": { frames: head, isRead: false },
  "a part of the request": {
    frames: (id, path) => Buffer.concat([head(id, path), frame(FrameType.DATA, 0, id, Buffer.of(0, 0))]),
    isRead: true,
  },
  "the request": { frames: request, isRead: true },
  "the request, in one piece with the reset": { frames: request, isRead: false },
};

function head(id: number, path: string): Buffer {
  return frame(FrameType.HEADERS, Flag.END_HEADERS, id, requestBlock(path));
}

function request(id: number, path: string): Buffer {
  return Buffer.concat([head(id, path), frame(FrameType.DATA, Flag.END_STREAM, id, message(Buffer.alloc(0)))]);
}

describe("a server answers after its clients", () => {
  for (const [name, start] of Object.entries(GRPC_SERVERS)) {
    for (const [what, { frames, isRead }] of Object.entries(REQUESTS)) {
      test(`of ${name} have reset calls after ${what}`, async () => {
        const { socket, methods } = await start();
        const unexpected = uncaughtErrors();
        const connection = await openRaw(socket);
        await connection.send(Buffer.concat([PREFACE, settings()]));
        for (let made = 0; made < CODES.length; made += methods.length) {
          const calls = methods.map(({ path }, i) => ({ id: 2 * (made + i) + 1, path, code: codeAt(made + i) }));
          const parts = calls.map(({ id, path, code }) => [frames(id, path), resetFrame(id, code)]);
          if (isRead) await roundTrip(connection, Buffer.concat(parts.map(([first = PREFACE]) => first)));
          await roundTrip(connection, Buffer.concat(parts.flatMap((all) => (isRead ? all.slice(1) : all))));
        }
        await answers({ socket, methods });
        assert.deepEqual(unexpected(), []);
      });
    }

    test(`of ${name} have ended connections with calls`, async () => {
      const { socket, methods } = await start();
      const unexpected = uncaughtErrors();
      for (const [i, code] of ([...CODES, "cut"] as const).entries()) {
        const session = openSession(socket);
        for (const [at, { path }] of methods.entries()) {
          if (at % SHARES === i % SHARES) begin(session, path).end(message(Buffer.alloc(0)));
        }
        await new Promise<void>((resolve) => session.ping(() => resolve()));
        if (code === "cut") session.destroy();
        else session.destroy(undefined, code);
      }
      await answers({ socket, methods });
      assert.deepEqual(unexpected(), []);
    });
  }
});

async function answers({ socket, methods }: TestedServer): Promise<void> {
  const rpc = methods.find(({ isStream }) => !isStream);
  assert.match(await call(openSession(socket), rpc?.path ?? ""), /^\d+$/);
}

async function openRaw(path: string): Promise<RawConnection> {
  const connection = await RawConnection.open({ path });
  onTestFinished(() => connection.close());
  return connection;
}

/** Sends frames, and waits until the server has read them: it answers the PING that follows. */
async function roundTrip(connection: RawConnection, frames: Buffer): Promise<void> {
  const before = connection.count(FrameType.PING);
  await connection.send(Buffer.concat([frames, frame(FrameType.PING, 0, 0, Buffer.alloc(8))]));
  await untilTrue(() => connection.isRefused || connection.count(FrameType.PING) > before);
}

/** Collects what would end the process, until the test ends. */
function uncaughtErrors(): () => readonly string[] {
  const errors: string[] = [];
  const before = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  const note = (error: Error) => errors.push(error.message);
  process.on("uncaughtException", note);
  onTestFinished(() => {
    process.off("uncaughtException", note);
    for (const listener of before) process.on("uncaughtException", listener);
  });
  return () => errors;
}
