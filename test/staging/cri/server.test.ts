import assert from "node:assert/strict";
import { type ClientHttp2Session, connect as connectHttp2, type OutgoingHttpHeaders } from "node:http2";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, onTestFinished, test } from "vitest";
import { MAX_MESSAGE_BYTES } from "../../../src/staging/cri/grpc/status.js";
import { RUNTIME_SERVICE } from "../../../src/staging/cri/services.js";
import { untilTrue } from "../../support/fake-clock.js";
import { encodeField, Flag, type FrameHead, FrameType, frame, message, PREFACE } from "./raw-http2.js";
import { startRuntime, VERSION } from "./support.js";

type Handlers = Parameters<typeof startRuntime>[0];

async function portOf(handlers: Handlers): Promise<number> {
  const { endpoint } = await startRuntime(handlers, { endpoint: "tcp://127.0.0.1:0" });
  return Number(new URL(endpoint).port);
}

/** Node's HTTP/2 client, for requests that a gRPC client does not send. */
function openClient(port: number, initialWindowSize = 65_535): ClientHttp2Session {
  const client = connectHttp2(`http://127.0.0.1:${port}`, { settings: { initialWindowSize } });
  client.on("error", () => {});
  onTestFinished(() => client.destroy());
  return client;
}

/** Whether the server has sent such a frame. */
function has(bytes: Buffer, isWanted: (head: FrameHead) => boolean): boolean {
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    const head = { type: bytes.readUInt8(at + 3), flags: bytes.readUInt8(at + 4), id: bytes.readUInt32BE(at + 5) };
    if (isWanted(head)) return true;
  }
  return false;
}

const isGoodbye = ({ type }: FrameHead) => type === FrameType.GOAWAY;
/** The trailers of the first call. */
const isAnswer = ({ type, flags, id }: FrameHead) =>
  type === FrameType.HEADERS && (flags & Flag.END_STREAM) !== 0 && id === 1;

const HEAD = { ":method": "POST", ":path": RUNTIME_SERVICE.version.path, "content-type": "application/grpc" };

/** The answer's status (of the trailers, or of the only head) and its body. */
function ask(client: ClientHttp2Session, body: Buffer, headers: OutgoingHttpHeaders = {}) {
  return new Promise<{ readonly http: unknown; readonly grpc: unknown; readonly why: unknown; readonly body: Buffer }>(
    (resolve, reject) => {
      const stream = client.request({ ...HEAD, ...headers });
      const seen: Record<string, unknown> = {};
      const pieces: Buffer[] = [];
      stream.on("response", (fields) => Object.assign(seen, fields));
      stream.on("trailers", (fields) => Object.assign(seen, fields));
      stream.on("data", (piece: Buffer) => pieces.push(piece));
      stream.on("error", reject);
      stream.on("close", () => {
        const { ":status": http, "grpc-status": grpc, "grpc-message": why } = seen;
        resolve({ http, grpc, why, body: Buffer.concat(pieces) });
      });
      stream.end(body);
    },
  );
}

describe("what a server answers", () => {
  const table: readonly (readonly [string, Buffer, OutgoingHttpHeaders, http: number, grpc: string | undefined])[] = [
    ["a call", message(Buffer.alloc(0)), {}, 200, "0"],
    ["an unknown method", message(Buffer.alloc(0)), { ":path": "/runtime.v1.RuntimeService/Nothing" }, 200, "12"],
    ["a call of v1alpha2", message(Buffer.alloc(0)), { ":path": "/runtime.v1alpha2.RuntimeService/Version" }, 200, "0"],
    [
      "a newer call",
      message(Buffer.alloc(0)),
      { ":path": "/runtime.v1alpha2.RuntimeService/RuntimeConfig" },
      200,
      "12",
    ],
    ["an unknown service", message(Buffer.alloc(0)), { ":path": "/runtime.v2.RuntimeService/Version" }, 200, "12"],
    ["another content type", Buffer.from("{}"), { "content-type": "application/json" }, 415, undefined],
    ["a request without a message", Buffer.alloc(0), {}, 200, "12"],
    ["an invalid message", message(Buffer.from([0xff, 0xff])), {}, 200, "13"],
    ["a compressed message", message(Buffer.from([1]), 1), {}, 200, "13"],
    ["a gzipped message", message(gzipSync(Buffer.alloc(0)), 1), { "grpc-encoding": "gzip" }, 200, "12"],
    ["an invalid timeout", message(Buffer.alloc(0)), { "grpc-timeout": "soon" }, 200, "13"],
    ["a message over the limit", message(Buffer.alloc(0), 0, MAX_MESSAGE_BYTES + 1), {}, 200, "8"],
  ];
  for (const [what, body, headers, http, grpc] of table) {
    test(`${what}: HTTP ${http}, gRPC ${grpc}; the connection stays usable`, async () => {
      const client = openClient(await portOf({}));
      const answer = await ask(client, body, headers);
      assert.deepEqual([answer.http, answer.grpc], [http, grpc]);
      assert.equal((await ask(client, message(Buffer.alloc(0)))).grpc, "0");
    });
  }

  test("an error with half a surrogate pair arrives, and the server stays up", async () => {
    const client = openClient(
      await portOf({
        version: () => {
          throw new Error("half a character: \ud83d");
        },
      }),
    );
    for (let i = 0; i < 2; i++) {
      const { grpc, why } = await ask(client, message(Buffer.alloc(0)));
      assert.deepEqual([grpc, why], ["2", "half%20a%20character:%20%EF%BF%BD"]);
    }
  });

  test("an answer larger than the client's flow-control window", async () => {
    const version = "v".repeat(300_000);
    const client = openClient(await portOf({ version: () => ({ ...VERSION, version }) }), 1_000);
    const { body, grpc } = await ask(client, message(Buffer.alloc(0)));
    assert.equal(grpc, "0");
    assert.equal(RUNTIME_SERVICE.version.response.decode(body.subarray(5)).version, version);
  });

  test("a cancelled call aborts the handler's signal; later calls succeed", async () => {
    const ended: string[] = [];
    const client = openClient(
      await portOf({
        stopContainer: (_request, { signal }) => {
          signal.addEventListener("abort", () => ended.push("cancelled"));
          ended.push("asked");
          return new Promise<never>(() => {});
        },
      }),
    );
    const stream = client.request({ ...HEAD, ":path": RUNTIME_SERVICE.stopContainer.path });
    stream.on("error", () => {});
    stream.end(message(Buffer.alloc(0)));
    await untilTrue(() => ended.includes("asked"));
    stream.close(8);
    await untilTrue(() => ended.includes("cancelled"));
    assert.equal((await ask(client, message(Buffer.alloc(0)))).grpc, "0");
  });
});

describe("invalid connections", () => {
  const SETTINGS = frame(FrameType.SETTINGS, 0, 0, Buffer.alloc(0));
  const START = Buffer.concat([PREFACE, SETTINGS]);
  const BLOCK = Buffer.concat(
    Object.entries({ ":scheme": "http", ":authority": "localhost", ...HEAD }).map(([name, value]) =>
      encodeField(name, value),
    ),
  );
  const CALL = Buffer.concat([
    frame(FrameType.HEADERS, 0, 1, BLOCK.subarray(0, 20)),
    frame(FrameType.CONTINUATION, Flag.END_HEADERS, 1, BLOCK.subarray(20)),
    frame(FrameType.DATA, Flag.END_STREAM, 1, message(Buffer.alloc(0))),
  ]);
  const table: readonly (readonly [string, Buffer, isServed: boolean])[] = [
    ["HTTP/1.1", Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), false],
    ["another frame within a header block", Buffer.concat([START, CALL.subarray(0, 29), SETTINGS]), false],
    ["an even stream ID", Buffer.concat([START, frame(FrameType.HEADERS, 4, 2, BLOCK)]), false],
    ["a call before the settings", Buffer.concat([PREFACE, CALL]), false],
    ["a push", Buffer.concat([START, frame(FrameType.PUSH_PROMISE, Flag.END_HEADERS, 1, Buffer.alloc(4))]), false],
    ["a frame of 16 MB", Buffer.concat([START, Buffer.from("ffffff000000000001", "hex")]), false],
    ["headers in two frames", Buffer.concat([START, CALL]), true],
  ];
  for (const [what, bytes, isServed] of table) {
    for (const pieceBytes of [1, bytes.length]) {
      test(`${what}, ${pieceBytes} bytes at a time: ${isServed ? "served" : "the connection ends"}`, async () => {
        const port = await portOf({});
        const socket = connect(port, "127.0.0.1");
        onTestFinished(() => void socket.destroy());
        let seen = Buffer.alloc(0);
        let isClosed = false;
        socket.on("data", (chunk: Buffer) => {
          seen = Buffer.concat([seen, chunk]);
        });
        socket
          .on("error", () => {})
          .on("close", () => {
            isClosed = true;
          });
        for (let at = 0; at < bytes.length && !isClosed; at += pieceBytes) {
          socket.write(bytes.subarray(at, at + pieceBytes));
        }
        const isOver = () => (isServed ? has(seen, isAnswer) : isClosed || has(seen, isGoodbye));
        await untilTrue(isOver);
        assert.equal((await ask(openClient(port), message(Buffer.alloc(0)))).grpc, "0", "other connections are served");
      });
    }
  }
});
