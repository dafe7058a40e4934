import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { Duplex } from "node:stream";
import { onTestFinished, test } from "vitest";
import { methodsOf, serveGrpc } from "../../../../src/staging/cri/grpc/grpc-server.js";
import { RUNTIME_SERVICE } from "../../../../src/staging/cri/services.js";
import { message } from "../raw-http2.js";
import { socketUrl, VERSION } from "../support.js";

async function serve(): Promise<string> {
  const methods = methodsOf(RUNTIME_SERVICE, { version: () => VERSION });
  const server = await serveGrpc(methods, socketUrl());
  onTestFinished(() => server.close());
  return server.endpoint.slice("unix://".length);
}

/** A connection whose bytes arrive so many at a time. */
function inPieces(path: string, size: number): Duplex {
  const socket = connect(path);
  const slow = new Duplex({
    read: () => {},
    write: (bytes: Buffer, _encoding, done) => {
      for (let at = 0; at < bytes.length; at += size) socket.write(bytes.subarray(at, at + size));
      done();
    },
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.on("data", (bytes) => slow.push(bytes)).on("end", () => slow.push(null));
  socket.on("error", (error) => slow.destroy(error));
  return slow;
}

/** @returns the call's `grpc-status` */
async function call(path: string, authority: string, size = Number.POSITIVE_INFINITY, calls = 1): Promise<string[]> {
  const session = connectHttp2("http://localhost", {
    createConnection: () => (Number.isFinite(size) ? inPieces(path, size) : connect(path)),
  });
  session.on("error", () => {});
  onTestFinished(() => session.destroy());
  const statuses: string[] = [];
  for (let i = 0; i < calls; i++) {
    const stream = session.request({
      ":method": "POST",
      ":path": RUNTIME_SERVICE.version.path,
      ":authority": authority,
      "content-type": "application/grpc",
      te: "trailers",
    });
    stream.end(message(Buffer.alloc(0)));
    stream.resume();
    const [trailers] = (await once(stream, "trailers")) as [{ readonly "grpc-status"?: string }];
    statuses.push(trailers["grpc-status"] ?? "");
  }
  return statuses;
}

const AUTHORITIES = [
  "localhost",
  "/run/x/kubelet.sock",
  "/var/lib/kubelet/device-plugins/kubelet.sock",
  "/",
  "/Users/Ada Lovelace/~state/kubelet.sock",
  `/${"long/".repeat(40)}kubelet.sock`,
];
for (const authority of AUTHORITIES) {
  for (const size of [1, 7, Number.POSITIVE_INFINITY]) {
    test(`a client is served whose authority is ${authority.slice(0, 40)}, ${size} bytes at a time`, async () => {
      assert.deepEqual(await call(await serve(), authority, size, 2), ["0", "0"]);
    });
  }
}

test("bytes that are no HTTP/2 end their own connection only", async () => {
  const path = await serve();
  const socket = connect(path);
  socket
    .on("error", () => {})
    .resume()
    .write(Buffer.alloc(1_000, 1));
  await once(socket, "close");
  assert.deepEqual(await call(path, "/x"), ["0"]);
});
