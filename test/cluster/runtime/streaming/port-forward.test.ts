import assert from "node:assert/strict";
import { afterEach, beforeAll, test } from "vitest";
import { servePortForward } from "../../../../src/cluster/runtime/streaming/port-forward.js";
import type { Connection } from "../../../../src/cluster/shell/process/ports.js";
import { ByteQueue } from "../../../../src/staging/streaming/byte-queue.js";
import { StreamError } from "../../../../src/staging/streaming/bytes.js";
import type {
  ForwardedConnection,
  PortForwardServerSession,
} from "../../../../src/staging/streaming/port-forward/session.js";
import { AsyncQueue } from "../../../../src/util/async/async-queue.js";
import { loadPrograms, never, RuntimeLab } from "../lab.js";
import { FakeWriter } from "./fake-session.js";

let lab = new RuntimeLab();
beforeAll(loadPrograms);
afterEach(() => {
  lab.stop();
  lab = new RuntimeLab();
});

class FakeConnection extends FakeWriter implements ForwardedConnection {
  readonly incoming = new ByteQueue(() => {});
  failureText: string | undefined;
  isClosed = false;
  readonly failure = Promise.resolve(undefined);

  constructor(readonly port: number) {
    super();
  }

  async fail(message: string): Promise<void> {
    this.failureText = message;
    await this.close();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.incoming.end();
  }
}

class FakeForward implements PortForwardServerSession {
  readonly protocol = { framing: "SPDY", subprotocol: "portforward.k8s.io" } as const;
  readonly queue = new AsyncQueue<ForwardedConnection>();
  readonly signal = never;
  get connections() {
    return this.queue;
  }
  open(port: number): FakeConnection {
    const connection = new FakeConnection(port);
    this.queue.push(connection);
    return connection;
  }
  async close(): Promise<void> {
    this.queue.close();
  }
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function forward() {
  const sandbox = lab.sandbox();
  const session = new FakeForward();
  return { sandbox, session, done: servePortForward(session, sandbox) };
}

test("port-forward: nginx answers HTTP on 80", async () => {
  const { sandbox, session, done } = forward();
  lab.run({ image: { image: "nginx" } }, sandbox);
  await lab.settle();
  const connection = session.open(80);
  connection.incoming.push(Buffer.from("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  await lab.settle();
  assert.match(connection.text, /^HTTP\/1\.1 200 OK\r\n[\s\S]*Server: nginx/);
  assert.ok(connection.isEnded);
  connection.incoming.end();
  await lab.settle();
  assert.ok(connection.isClosed);
  session.queue.close();
  await done;
});

test("port-forward: a port without a listener, in containerd's words", async () => {
  const { sandbox, session } = forward();
  const connection = session.open(81);
  await lab.settle();
  const id = sandbox.sandboxId;
  assert.equal(
    connection.failureText,
    `error forwarding port 81 to pod ${id}, uid : failed to execute portforward in network namespace "/var/run/netns/cni-${id.slice(0, 12)}": failed to connect to localhost:81 inside namespace "${id}", IPv4: dial tcp4 127.0.0.1:81: connect: connection refused IPv6 dial tcp6: address localhost: no suitable address found `,
  );
  // The other connections continue.
  lab.run({ image: { image: "nginx" } }, sandbox);
  await lab.settle();
  const next = session.open(80);
  await lab.settle();
  assert.equal(next.failureText, undefined);
  await session.close();
});

for (const [port, why] of [
  [0, "invalid port 0"],
  [70_000, "invalid port 70000"],
] as const) {
  test(`port-forward: ${why}`, async () => {
    const { session, sandbox } = forward();
    const connection = session.open(port);
    await lab.settle();
    assert.equal(connection.failureText, `error forwarding port ${port} to pod ${sandbox.sandboxId}, uid : ${why}`);
    await session.close();
  });
}

/** A server of the test's own on port 9000 of the pod. */
function server(sandbox: ReturnType<RuntimeLab["sandbox"]>): Connection[] {
  const connections: Connection[] = [];
  sandbox.network.ports.listen(9000, (connection) => connections.push(connection));
  return connections;
}

test("port-forward: each direction ends by itself", async () => {
  const { sandbox, session } = forward();
  const connections = server(sandbox);
  const client = session.open(9000);
  client.incoming.push(Buffer.from("question"));
  client.incoming.end();
  await lab.settle();
  const [pod] = connections;
  assert.ok(pod !== undefined);
  assert.equal(String(await pod.incoming.read(never)), "question");
  assert.equal(await pod.incoming.read(never), undefined);
  await pod.outgoing.write(Buffer.from("answer"), never);
  await lab.settle();
  assert.equal(client.text, "answer");
  assert.equal(client.isEnded, false);
  pod.outgoing.release();
  await lab.settle();
  assert.ok(client.isEnded && client.isClosed);
  await session.close();
});

test("port-forward: a slow client makes the pod wait, a slow pod the client", async () => {
  const { sandbox, session } = forward();
  const connections = server(sandbox);
  const client = session.open(9000);
  await lab.settle();
  const [pod] = connections;
  assert.ok(pod !== undefined);
  client.limit(1);
  let written = 0;
  const writing = (async () => {
    for (; written < 100; written++) await pod.outgoing.write(Buffer.alloc(65_536), never);
  })();
  // The end of the session closes the connection.
  const broken = assert.rejects(writing, { name: "BrokenPipeError" });
  for (let count = 0; count < 100; count++) client.incoming.push(Buffer.alloc(65_536));
  await lab.settle();
  assert.ok(written <= 4, `${written} blocks were written to a client that takes none`);
  assert.ok(
    client.incoming.waitingBytes >= 97 * 65_536,
    `${client.incoming.waitingBytes} bytes are still the client's`,
  );
  await session.close();
  await broken;
});

test("port-forward: a broken connection of the client ends the pod's connection", async () => {
  const { sandbox, session, done } = forward();
  const connections = server(sandbox);
  const client = session.open(9000);
  await lab.settle();
  const [pod] = connections;
  assert.ok(pod !== undefined);
  const error = new StreamError("gone");
  client.incoming.fail(error);
  client.breakOff(error);
  await lab.settle();
  assert.equal(await pod.incoming.read(never), undefined);
  await pod.outgoing.write(Buffer.from("x"), never);
  await lab.settle();
  assert.ok(client.isClosed);
  await session.close();
  await done;
});

test("port-forward: the end of the session ends all connections", async () => {
  const { sandbox, session, done } = forward();
  const connections = server(sandbox);
  for (let count = 0; count < 50; count++) session.open(9000);
  await lab.settle();
  assert.equal(connections.length, 50);
  await session.close();
  await done;
  for (const pod of connections) assert.equal(await pod.incoming.read(never), undefined);
});
