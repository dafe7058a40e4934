import { deadline } from "../net/deadline.js";
import { bindErrorText, listenTcp } from "../net/listen.js";
import { lookUpHost } from "../net/resolver.js";
import type { Connection } from "../process/ports.js";
import type { Self } from "../process/process.js";
import { SIGINT, SIGQUIT, SIGTERM } from "../process/signals.js";
import type { ByteSource } from "../streams.js";
import { print, warn } from "./console.js";
import { parseOptions } from "./net/options.js";
import { untilSignal } from "./system.js";

/** PostgreSQL's port and the start of its protocol (src/include/libpq/pqcomm.h). */
const DEFAULT_PORT = "5432";
const VERSION_3 = 0x0003_0000;
/** Requests for an encrypted connection: the server refuses with one letter, and the client goes on without. */
const ENCRYPTION = new Set([80_877_103, 80_877_104]);
const MAX_STARTUP_BYTES = 10_000;
/** ERRCODE_FEATURE_NOT_SUPPORTED, ERRCODE_CANNOT_CONNECT_NOW */
const NOT_SUPPORTED = "0A000";
const CANNOT_CONNECT_NOW = "57P03";
const REFUSAL = "kubelab's postgres runs no SQL";

/** `postgres [-p PORT]`: accepts connections and refuses each with an error of PostgreSQL's protocol. It has no data and no SQL. */
export async function postgres(self: Self): Promise<number> {
  const settings = parseOptions(self.argv.slice(1), { port: "p:", setting: "c:", data: "D:", host: "h:" });
  const named = settings.all("setting").findLast((one) => one.startsWith("port="));
  const port = Number(named?.slice("port=".length) ?? settings.text("port") ?? self.env["PGPORT"] ?? DEFAULT_PORT);
  const log = (text: string, level = "LOG") => warn(self, `[${self.pid}] ${level}:  ${text}\n`);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    await log("the port must be between 1 and 65535", "FATAL");
    return 1;
  }
  const listening = listenTcp(self, port, (connection) => void refuse(self, connection));
  if (typeof listening === "string") {
    await log(`could not bind IPv4 address "0.0.0.0": ${bindErrorText(listening)}`);
    await log("could not create any TCP/IP sockets", "FATAL");
    return 1;
  }
  await log(`listening on IPv4 address "0.0.0.0", port ${port}`);
  await log(`${REFUSAL}: it only accepts connections`);
  await untilSignal(self, SIGTERM, SIGINT, SIGQUIT);
  listening.close();
  await log("database system is shut down");
  return 0;
}

/** Answers a client's start. */
async function refuse(self: Self, { incoming, outgoing }: Connection): Promise<void> {
  try {
    for (;;) {
      const code = await readStartup(self, incoming);
      if (code === undefined) break;
      if (ENCRYPTION.has(code)) {
        await outgoing.write(Buffer.from("N"), self.signal);
        continue;
      }
      const fields = ["SFATAL", "VFATAL", `C${NOT_SUPPORTED}`, `M${REFUSAL}`, ""];
      const body = Buffer.from(fields.map((field) => `${field}\0`).join(""));
      const head = Buffer.from("E....");
      head.writeInt32BE(body.length + 4, 1);
      await outgoing.write(Buffer.concat([head, body]), self.signal);
      break;
    }
  } catch {
    // The client has gone, or this process has.
  }
  outgoing.release();
  incoming.release();
}

/** @returns the code of a client's first message; undefined if it is none */
async function readStartup(self: Self, incoming: ByteSource): Promise<number | undefined> {
  const head = await readExactly(incoming, 8, self.signal);
  const length = head?.readInt32BE(0) ?? 0;
  if (head === undefined || length < head.length || length > MAX_STARTUP_BYTES) return undefined;
  if (length > head.length && (await readExactly(incoming, length - head.length, self.signal)) === undefined)
    return undefined;
  return head.readInt32BE(4);
}

async function readExactly(source: ByteSource, length: number, signal: AbortSignal): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  for (let left = length; left > 0; ) {
    const bytes = await source.read(signal, left);
    if (bytes === undefined) return undefined;
    parts.push(bytes);
    left -= bytes.length;
  }
  return Buffer.concat(parts);
}

const OPTIONS = { dbname: "d:", host: "h:", port: "p:", quiet: "q", timeout: "t:", username: "U:" };
const DEFAULT_TIMEOUT_S = "3";
/** As Debian's libpq. Differs: kubelab's server has no socket there, so this is the port at 127.0.0.1. */
const SOCKET_FOLDER = "/var/run/postgresql";
/** PGPing's values, which are the exit codes, and their words. Mirrors src/bin/scripts/pg_isready.c. */
const RESULTS = ["accepting connections", "rejecting connections", "no response", "no attempt"];
type Result = 0 | 1 | 2 | 3;

/** `pg_isready [-q] [-h HOST] [-p PORT] [-t SECONDS]`: whether a server accepts connections. */
export async function pgIsReady(self: Self): Promise<number> {
  const { env, machine } = self;
  const options = parseOptions(self.argv.slice(1), OPTIONS);
  const extra = options.rest[0];
  const problem = options.problem ?? (extra && `error: too many command-line arguments (first is "${extra}")`);
  if (problem !== undefined) {
    await warn(self, `pg_isready: ${problem}\npg_isready: hint: Try "pg_isready --help" for more information.\n`);
    return 3;
  }
  const host = options.text("host") ?? env["PGHOST"] ?? "";
  const port = options.text("port") ?? env["PGPORT"] ?? DEFAULT_PORT;
  const isLocal = host === "" || host.startsWith("/");
  const seconds = Number(options.text("timeout") ?? env["PGCONNECT_TIMEOUT"] ?? DEFAULT_TIMEOUT_S);
  const isValid = /^\d+$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535 && Number.isInteger(seconds);
  using limit = deadline(machine.clock, seconds > 0 ? seconds * 1000 : undefined, self.signal);
  const result = isValid ? await ping(self, isLocal ? "127.0.0.1" : host, Number(port), limit.signal) : 3;
  if (!options.has("quiet"))
    await print(self, `${host === "" ? SOCKET_FOLDER : host}:${port} - ${RESULTS[result] ?? ""}\n`);
  return result;
}

/** Starts a session, and judges the answer. Mirrors libpq's internal_ping. */
async function ping(self: Self, host: string, port: number, signal: AbortSignal): Promise<Result> {
  let connection: Connection | undefined;
  try {
    const [ip] = await lookUpHost(self, host, signal);
    if (ip === undefined) return 2;
    connection = await self.machine.network.connect({ ip, port }, signal, self);
    const body = Buffer.from("user\0postgres\0\0");
    const head = Buffer.alloc(8);
    head.writeInt32BE(head.length + body.length, 0);
    head.writeInt32BE(VERSION_3, 4);
    await connection.outgoing.write(Buffer.concat([head, body]), signal);
    const answer = await readExactly(connection.incoming, 5, signal);
    const length = answer?.readInt32BE(1) ?? 0;
    if (answer === undefined || !/[ER]/.test(answer.toString("latin1", 0, 1)) || length > MAX_STARTUP_BYTES) return 2;
    const rest = (await readExactly(connection.incoming, Math.max(length - 4, 0), signal))?.toString() ?? "";
    return rest.split("\0").includes(`C${CANNOT_CONNECT_NOW}`) ? 1 : 0;
  } catch {
    // Refused, unreachable, or over time.
    self.signal.throwIfAborted();
    return 2;
  } finally {
    connection?.outgoing.release();
    connection?.incoming.release();
  }
}
