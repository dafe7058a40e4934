import { onAbort } from "../../../../util/async/abort.js";
import { NetError } from "../../../../util/net/net-error.js";
import { type Deadline, deadline } from "../../net/deadline.js";
import { type BindErrno, bindErrorText, type Listening, listenTcp, listenUdp } from "../../net/listen.js";
import { lookUpHost } from "../../net/resolver.js";
import type { Connection, SocketAddress } from "../../process/ports.js";
import type { Self } from "../../process/process.js";
import { BytesSource } from "../../streams.js";
import { fail, print, usage, warn } from "../console.js";
import { untilKilled } from "../system.js";
import { type NetOptions, parseOptions } from "./options.js";

const OPTIONS = {
  listen: "l",
  keep: "k",
  port: "p:",
  zero: "z",
  verbose: "v",
  udp: "u",
  timeout: "w:",
  exec: "e:",
  numeric: "n",
  telnet: "t",
  ipv4: "4",
  source: "s:",
  interval: "i:",
  quit: "q:",
  close: "N",
};
const MAX_DATAGRAM_BYTES = 65_507;

/**
 * `nc [-zvnu] [-w SECONDS] HOST PORT` and `nc -l [-k] [-u] [-p PORT] [-e PROGRAM]`: stdin to the connection, the connection to
 * stdout. With -u each piece of input is a datagram.
 */
export async function netcat(self: Self): Promise<number> {
  const options = parseOptions(self.argv.slice(1), OPTIONS);
  const { rest, problem } = options;
  const isListening = options.has("listen");
  const port = Number(options.text("port") ?? rest.at(-1));
  const isComplete = isListening ? rest.length <= 2 : rest.length === 2;
  if (problem !== undefined || !isComplete || !Number.isInteger(port) || port < 1 || port > 65_535)
    return usage(self, problem);
  if (isListening) return options.has("udp") ? serveUdp(self, port) : serve(self, options, port);
  const [host = ""] = rest;
  using limit = deadline(self.machine.clock, options.milliseconds("timeout"), self.signal);
  const [ip] = await lookUpHost(self, host, limit.signal).catch((error: unknown) => onlyIfOver(limit, error));
  if (ip === undefined) {
    await warn(self, `nc: bad address '${host}'\n`);
    return 1;
  }
  const to = { ip, port: Number(rest[1]) };
  const shown = `${host} (${ip}:${to.port})`;
  if (options.has("udp")) return sendDatagrams(self, options, to);
  let connection: Connection;
  try {
    connection = await self.machine.network.connect(to, limit.signal, self);
  } catch (error) {
    const why = error instanceof NetError ? error.message : onlyIfOver(limit, error) && "Connection timed out";
    await warn(self, `nc: ${shown}: ${why}\n`);
    return 1;
  }
  limit[Symbol.dispose]();
  if (options.has("verbose")) await warn(self, `${shown} open\n`);
  if (options.has("zero")) closeBoth(connection);
  else if (options.has("exec")) await runProgram(self, connection, options.text("exec") ?? "");
  else await talk(self, connection);
  return 0;
}

/** `telnet HOST [PORT]`: without telnet's own protocol. Mirrors busybox's networking/telnet.c. */
export async function telnet(self: Self): Promise<number> {
  const { rest, problem } = parseOptions(self.argv.slice(1), {});
  const [host, portText = "23", ...others] = rest;
  if (problem !== undefined || host === undefined || others.length > 0) return usage(self, problem);
  const port = Number(portText);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) return fail(self, `bad port '${portText}'`);
  const [ip] = await lookUpHost(self, host);
  if (ip === undefined) return fail(self, `bad address '${host}'`);
  try {
    const connection = await self.machine.network.connect({ ip, port }, self.signal, self);
    await print(self, `Connected to ${host}\n`);
    await talk(self, connection);
    return 0;
  } catch (error) {
    if (!(error instanceof NetError)) throw error;
    return fail(self, `can't connect to remote host (${ip}): ${error.message}`);
  }
}

/** Reports a timeout as no result. @throws any other error */
function onlyIfOver(limit: Deadline, error: unknown): readonly [] {
  if (!limit.isOver) throw error;
  return [];
}

function closeBoth({ incoming, outgoing }: Connection): void {
  outgoing.release();
  incoming.release();
}

/**
 * Copies in both directions until the other side has ended.
 * @param isServer a server without input keeps its side open for its clients
 */
async function talk(self: Self, connection: Connection, isServer = false): Promise<void> {
  const { incoming, outgoing } = connection;
  // Remaining input has no reader after the other side has ended.
  const sending = copyInput(self, connection)
    .then(() => (isServer ? undefined : outgoing.release()))
    .catch(() => {});
  for (let bytes = await incoming.read(self.signal); bytes !== undefined; bytes = await incoming.read(self.signal)) {
    await self.stdout.write(bytes, self.signal);
  }
  incoming.release();
  // A terminal may never end.
  if (isServer && self.stdin.isTerminal !== true) await sending;
  outgoing.release();
}

async function copyInput(self: Self, { outgoing }: Connection): Promise<void> {
  for (;;) {
    const bytes = await self.stdin.read(self.signal);
    if (bytes === undefined) break;
    await outgoing.write(bytes, self.signal);
  }
}

/** Runs a program whose input and output are the connection. */
async function runProgram(self: Self, { incoming, outgoing }: Connection, program: string): Promise<void> {
  const { env, cwd, pid, stderr } = self;
  const child = self.machine.spawn({
    argv: program.split(" "),
    env,
    cwd,
    stdin: incoming,
    stdout: outgoing,
    stderr,
    parentPid: pid,
  });
  closeBoth({ incoming, outgoing, peer: { ip: "", port: 0 } });
  await child.exited;
}

async function serve(self: Self, options: NetOptions, port: number): Promise<number> {
  const keeps = options.has("keep");
  const program = options.text("exec");
  const isVerbose = options.has("verbose");
  let listening = "EADDRINUSE" as Listening | BindErrno;
  const take = async (connection: Connection) => {
    const { ip, port: from } = connection.peer;
    if (isVerbose)
      await warn(self, `connect to ${self.machine.network.ip}:${port} from ${ip}:${from} (${ip}:${from})\n`);
    await (program === undefined ? talk(self, connection, true) : runProgram(self, connection, program));
  };
  const ended = new Promise<void>((resolve, reject) => {
    onAbort(self.signal, () => reject(self.signal.reason));
    listening = listenTcp(self, port, (connection) => {
      if (!keeps && typeof listening !== "string") listening.close();
      take(connection).then(() => (keeps ? undefined : resolve()), reject);
    });
  });
  // A process that ends early does not await it: its port is in use, or its stderr is closed.
  ended.catch(() => {});
  if (typeof listening === "string") {
    await warn(self, `nc: bind: ${bindErrorText(listening)}\n`);
    return 1;
  }
  if (isVerbose) await warn(self, `listening on 0.0.0.0:${port} ...\n`);
  await ended;
  return 0;
}

/** Prints incoming datagrams; the first line of input answers each of them. */
async function serveUdp(self: Self, port: number): Promise<number> {
  const listening = listenUdp(self, port, async (bytes) => {
    await self.stdout.write(bytes, self.signal);
    return undefined;
  });
  if (typeof listening !== "string") return untilKilled(self);
  await warn(self, `nc: bind: ${bindErrorText(listening)}\n`);
  return 1;
}

async function sendDatagrams(self: Self, options: NetOptions, to: SocketAddress): Promise<number> {
  const { network } = self.machine;
  const stdin = options.has("zero") ? new BytesSource(Buffer.from("\n")) : self.stdin;
  for (;;) {
    const bytes = await stdin.read(self.signal, MAX_DATAGRAM_BYTES);
    if (bytes === undefined) return 0;
    try {
      const answer = await network.sendDatagram(to, bytes, self.signal);
      if (answer !== undefined) await self.stdout.write(answer, self.signal);
    } catch (error) {
      if (!(error instanceof NetError)) throw error;
      await warn(self, `nc: ${to.ip}:${to.port}: ${error.message}\n`);
      return 1;
    }
  }
}
