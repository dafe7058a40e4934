import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { test } from "vitest";
import { probeHttp } from "../../../src/kubelet/prober/http-probe.js";
import { DialError, PortForwardDialer } from "../../../src/kubelet/prober/probe-dialer.js";
import { withTimeout } from "../../../src/kubelet/prober/timeout.js";
import type { ForwardedConnection } from "../../../src/staging/streaming/port-forward/session.js";
import { FakeClock, settle } from "../../support/fake-clock.js";

const SIGNAL = new AbortController().signal;
const TARGET = { podUid: "u", host: "10.244.0.5", port: 80, isPod: true };
const REFUSED = "failed to connect to localhost:80: dial tcp4 127.0.0.1:80: connect: connection refused";

/** What a forward gives, over a socket of this machine. */
class SocketConnection implements ForwardedConnection {
  readonly port = 80;
  readonly incoming: AsyncIterable<Uint8Array>;
  readonly failure: Promise<string | undefined>;
  isClosed = false;

  constructor(readonly socket: Socket) {
    this.incoming = socket;
    this.failure = new Promise((resolve) => socket.once("close", () => resolve(undefined)));
  }
  async write(bytes: Uint8Array): Promise<void> {
    this.socket.write(bytes);
  }
  async end(): Promise<void> {
    this.socket.end();
  }
  async fail(): Promise<void> {}
  async close(): Promise<void> {
    this.isClosed = true;
    this.socket.destroy();
  }
}

/** A forward to a closed port, or to a silent server. */
class DeadConnection implements ForwardedConnection {
  readonly port = 80;
  isClosed = false;
  constructor(readonly failure: Promise<string | undefined>) {}
  get incoming(): AsyncIterable<Uint8Array> {
    const { failure } = this;
    return { [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: await failure }) }) };
  }
  async write(): Promise<void> {}
  async end(): Promise<void> {}
  async fail(): Promise<void> {}
  async close(): Promise<void> {
    this.isClosed = true;
  }
}

const dialerOf = (connection: ForwardedConnection) => new PortForwardDialer({ forward: async () => connection });

test("forwarded probes: an HTTP probe reaches the pod through its runtime", async () => {
  const server = createServer(({ headers }, response) => response.end(headers.host));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const asked: unknown[] = [];
  const opened: SocketConnection[] = [];
  const dialer = new PortForwardDialer({
    forward: async (podUid, port) => {
      asked.push([podUid, port]);
      const connection = new SocketConnection(connect((server.address() as AddressInfo).port, "127.0.0.1"));
      opened.push(connection);
      return connection;
    },
  });
  const deps = { dialer, clock: new FakeClock() };
  const options = { podUid: "u", podIp: "10.244.0.5", port: 8080, timeoutMs: 1_000, kubeVersion: "1.25" };
  const outcome = await probeHttp(deps, { port: 8080 }, options, SIGNAL);
  server.close();
  assert.deepEqual(outcome, { result: "success", output: "10.244.0.5:8080" });
  assert.deepEqual(asked, [["u", 8080]]);
  assert.ok(opened.every(({ isClosed }) => isClosed));
});

test("forwarded probes: the result contains the runtime's error with the pod's address", async () => {
  const dead = new DeadConnection(Promise.resolve(REFUSED));
  const deps = { dialer: dialerOf(dead), clock: new FakeClock() };
  const options = { podUid: "u", podIp: "10.244.0.5", port: 80, timeoutMs: 1_000, kubeVersion: "1.25" };
  const why = "dial tcp 10.244.0.5:80: connect: connection refused";
  assert.deepEqual(await probeHttp(deps, { port: 80 }, options, SIGNAL), {
    result: "failure",
    output: `Get "http://10.244.0.5:80/": ${why}`,
  });
  await assert.rejects(dialerOf(dead).reach(TARGET, SIGNAL), new DialError(why));
  assert.ok(dead.isClosed);
});

test("forwarded probes: a connection that ends well, or stays, was accepted", async () => {
  const over = new DeadConnection(Promise.resolve(undefined));
  await dialerOf(over).reach(TARGET, SIGNAL);
  assert.ok(over.isClosed);
  const stays = new DeadConnection(new Promise(() => {}));
  const clock = new FakeClock();
  const reached = withTimeout(clock, 1_000, SIGNAL, (inner) => dialerOf(stays).reach(TARGET, inner));
  await settle();
  await clock.advance(1_000);
  await reached;
  assert.ok(stays.isClosed);
});

test("forwarded probes: no stream, and a host of the probe's own", async () => {
  const dialer = new PortForwardDialer({ forward: () => Promise.reject(new Error("no such sandbox")) });
  await assert.rejects(dialer.dial(TARGET, SIGNAL), new DialError("dial tcp 10.244.0.5:80: no such sandbox"));
  await assert.rejects(
    dialer.dial({ ...TARGET, isPod: false }, SIGNAL),
    /this kubelet dials only this machine and the pods of its node/,
  );
});

test("forwarded probes: a host that is the address of another pod is reached through that pod", async () => {
  const asked: string[] = [];
  const dialer = new PortForwardDialer({
    forward: async (podUid) => {
      asked.push(podUid);
      return new DeadConnection(Promise.resolve(undefined));
    },
    podAt: (address) => (address === "10.244.0.6" ? "other" : undefined),
  });
  await dialer.reach({ ...TARGET, host: "10.244.0.6", isPod: false }, SIGNAL);
  (await dialer.dial({ ...TARGET, host: "10.244.0.6", isPod: false }, SIGNAL)).destroy();
  await assert.rejects(dialer.reach({ ...TARGET, host: "10.244.0.7", isPod: false }, SIGNAL), DialError);
  assert.deepEqual(asked, ["other", "other"]);
});
