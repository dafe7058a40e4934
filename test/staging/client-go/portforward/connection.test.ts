import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { test } from "vitest";
import { carry } from "../../../../src/staging/client-go/portforward/connection.js";
import { StreamError } from "../../../../src/staging/streaming/bytes.js";
import type { ForwardedConnection } from "../../../../src/staging/streaming/port-forward/session.js";
import type { TraceEvent } from "../../../../src/trace/events.js";
import { Trace } from "../../../../src/trace/trace.js";
import { FakeClock } from "../../../support/fake-clock.js";

const REFUSED = "dial tcp4 127.0.0.1:81: connect: connection refused";

async function* ended(): AsyncGenerator<Buffer> {}
/** The reset of the data came before its end was read. */
// biome-ignore lint/correctness/useYield: it fails before its first piece
async function* reset(): AsyncGenerator<Buffer> {
  throw new StreamError("the other side reset the stream");
}

const CASES: readonly (readonly [string, () => AsyncIterable<Buffer>, () => Promise<string | undefined>, string[]])[] =
  [
    ["the pod refuses", ended, async () => REFUSED, [`an error occurred forwarding to 81: ${REFUSED}`]],
    ["... and its data is reset", reset, async () => REFUSED, [`an error occurred forwarding to 81: ${REFUSED}`]],
    ["the data is reset without an error", reset, async () => undefined, []],
    ["the connection to the server breaks", reset, () => Promise.reject(new StreamError("closed")), []],
  ];

for (const [title, incoming, failure, want] of CASES) {
  test(`a forwarded connection: ${title}`, async () => {
    const clock = new FakeClock();
    const trace = new Trace(clock);
    const facts: TraceEvent[] = [];
    trace.addSink({ write: (fact) => facts.push(fact) });
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
    client.on("error", () => {});
    const [socket] = (await once(server, "connection")) as [Socket];
    const remote: ForwardedConnection = {
      port: 81,
      incoming: incoming(),
      failure: failure(),
      write: async () => {},
      end: async () => {},
      fail: async () => {},
      close: async () => {},
    };
    const nothing = { close: async () => {}, closed: Promise.resolve(), [Symbol.asyncDispose]: async () => {} };
    const protocol = { framing: "SPDY", subprotocol: "portforward.k8s.io" } as const;
    await carry(trace, { protocol, connect: async () => remote, ...nothing }, socket, 81, undefined);
    assert.deepEqual(
      facts.flatMap((fact) => (fact.kind === "error" ? [fact.message] : [])),
      want,
    );
    assert.ok(socket.destroyed);
    client.destroy();
    server.close();
  });
}
