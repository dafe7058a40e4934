/**
 * Requests per second of the embedded API server, from 16 client connections in a process of their own:
 * creates, gets and lists of 1,000 leases, and a watch that is read by many.
 */
import { fork } from "node:child_process";
import { connect, type TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import { startControlPlane } from "../src/controlplane/start.js";
import { Trace } from "../src/trace/trace.js";
import { SystemClock } from "../src/util/clock.js";
import { SystemRandom } from "../src/util/random.js";

const CONNECTIONS = 16;
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
/** What a real kube-apiserver v1.25 with etcd does on two cores. */
const REAL = { create: 1450, get: 3100, list: 165 } as const;

interface Access {
  readonly port: number;
  readonly cert: string;
  readonly key: string;
}

/** One keep-alive connection that sends a request when the answer to the last one is complete. */
class Connection {
  #buffer: Buffer = Buffer.alloc(0);
  #wake: ((status: number) => void) | undefined;
  #status = 0;
  #left = -1;
  #chunked = false;

  private constructor(readonly socket: TLSSocket) {
    socket.on("data", (data) => this.#take(data));
  }

  static open(access: Access): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const { port, cert, key } = access;
      const socket = connect({ port, host: "127.0.0.1", cert, key, rejectUnauthorized: false }, () =>
        resolve(new Connection(socket)),
      );
      socket.once("error", reject);
    });
  }

  request(method: string, path: string, body = ""): Promise<number> {
    const head = `${method} ${path} HTTP/1.1\r\nhost: localhost\r\naccept: application/json\r\n`;
    const length =
      body === "" ? "" : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.socket.write(`${head}${length}\r\n${body}`);
    });
  }

  #take(data: Buffer): void {
    if (this.#left < 0) {
      this.#buffer = this.#buffer.length === 0 ? data : Buffer.concat([this.#buffer, data]);
      const end = this.#buffer.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = this.#buffer.toString("latin1", 0, end).toLowerCase();
      this.#status = Number(head.slice(9, 12));
      this.#chunked = head.includes("transfer-encoding: chunked");
      this.#left = this.#chunked ? 0 : Number(/content-length: (\d+)/.exec(head)?.[1] ?? 0);
      data = this.#buffer.subarray(end + 4);
      this.#buffer = Buffer.alloc(0);
    }
    if (this.#chunked) {
      // The last chunk is alone at the end of what arrives.
      if (data.length >= 5 && data.subarray(-5).equals(LAST_CHUNK)) this.#done();
    } else {
      this.#left -= data.length;
      if (this.#left <= 0) this.#done();
    }
  }

  #done(): void {
    this.#left = -1;
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.(this.#status);
  }
}

const LAST_CHUNK = Buffer.from("0\r\n\r\n");

async function measure(
  access: Access,
  count: number,
  request: (connection: Connection, index: number) => Promise<number>,
): Promise<number> {
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(access)));
  let next = 0;
  const statuses = new Map<number, number>();
  const startMs = performance.now();
  await Promise.all(
    connections.map(async (connection) => {
      for (let index = next++; index < count; index = next++) {
        const status = await request(connection, index);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    }),
  );
  const seconds = (performance.now() - startMs) / 1000;
  for (const { socket } of connections) socket.destroy();
  if ([...statuses.keys()].some((status) => status >= 400)) console.error("unexpected answers:", statuses);
  return count / seconds;
}

function lease(index: number): string {
  const name = `bench-${index}`;
  const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: "2026-01-01T00:00:00.000000Z" };
  return JSON.stringify({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace: "kube-node-lease" },
    spec,
  });
}

async function client(access: Access): Promise<void> {
  const get = (connection: Connection, index: number) => connection.request("GET", `${LEASES}/bench-${index % 1000}`);
  const rows = {
    create: await measure(access, 1000, (connection, index) => connection.request("POST", LEASES, lease(index))),
    get: 0,
    list: 0,
  };
  rows.list = await measure(access, 600, (connection) => connection.request("GET", LEASES));
  rows.get = await measure(access, 20_000, get);
  rows.create = await measure(access, 10_000, (connection, index) =>
    connection.request("POST", LEASES, lease(index + 1000)),
  );
  for (const [name, perSecond] of Object.entries(rows)) {
    const real = REAL[name as keyof typeof REAL];
    console.log(
      `${name.padEnd(8)} ${perSecond.toFixed(0).padStart(7)}/s   real ${String(real).padStart(5)}/s   ${(perSecond / real).toFixed(1)}x`,
    );
  }
}

async function main(): Promise<void> {
  if (process.argv[2] === "client") {
    const access = await new Promise<Access>((resolve) =>
      process.once("message", (message) => resolve(message as Access)),
    );
    await client(access);
    process.disconnect();
    return;
  }
  const clock = new SystemClock();
  const startMs = performance.now();
  await using controlPlane = await startControlPlane({
    clock,
    random: new SystemRandom(),
    trace: new Trace(clock),
    kubeVersion: "1.25",
  });
  console.log(`start    ${(performance.now() - startMs).toFixed(0)} ms`);
  const child = fork(fileURLToPath(import.meta.url), ["client"]);
  const { clientCertificatePem: cert = "", clientKeyPem: key = "", server } = controlPlane.admin;
  child.send({ port: Number(new URL(server).port), cert, key });
  await new Promise((resolve) => child.once("exit", resolve));
}

await main();
