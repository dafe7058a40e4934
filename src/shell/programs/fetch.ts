import { openForWriting } from "../fs/open-file.js";
import { resolvePath } from "../fs/paths.js";
import type { Connection } from "../process/ports.js";
import type { Self } from "../process/process.js";
import { readAll, readLine } from "../process/streams.js";
import { baseCommand, complain, parseArgs, print, usage } from "./console.js";

interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: Buffer;
}

/** `wget [-q] [-O FILE] [--spider] URL` and `curl [-s] [-f] [-i] [-I] [-o FILE] URL`, in the pods' network. */
export async function fetchUrl(self: Self): Promise<number> {
  const isCurl = baseCommand(self) === "curl";
  const args = self.argv.slice(1).flatMap((arg) => shortOption(arg));
  const { options, rest, unknown } = parseArgs(args, isCurl ? "sSfkgqLiIvo:m:X:H:w:d:" : "qSO:T:Yp:");
  if (unknown !== undefined) return usage(self, `unrecognized option '${unknown}'`);
  const target = parseUrl(rest[0] ?? "");
  if (target === undefined) return usage(self, "only http:// URLs of the pods' network can be fetched");
  const connection = self.machine.connect(target.host, target.port);
  if (connection === undefined) {
    const where = `${target.host} (${target.host}:${target.port})`;
    if (isCurl)
      await print2(self, `curl: (7) Failed to connect to ${target.host} port ${target.port}: Connection refused\n`);
    else await complain(self, `can't connect to remote host ${where}: Connection refused`);
    return isCurl ? 7 : 1;
  }
  const data = options.get(isCurl ? "d" : "p");
  const method = options.has("I") ? "HEAD" : (options.get("X") ?? (data === undefined ? "GET" : "POST"));
  const answer = await request(self, connection, method, target, data);
  const output = options.get(isCurl ? "o" : "O") ?? (isCurl ? "-" : target.path.split("/").at(-1) || "index.html");
  if (!isCurl && answer.status >= 400) {
    await complain(self, `server returned error: HTTP/1.1 ${answer.status}`);
    return 1;
  }
  if (isCurl && options.has("f") && answer.status >= 400) {
    await print2(self, `curl: (22) The requested URL returned error: ${answer.status}\n`);
    return 22;
  }
  if (options.has("Y")) return 0;
  const shown =
    options.has("i") || options.has("I") ? Buffer.concat([Buffer.from(answer.head), answer.body]) : answer.body;
  const sink =
    output === "-" ? self.stdout : openForWriting(self.machine.fs, resolvePath(self.cwd, output), { append: false });
  await sink.write(shown, self.signal);
  if (options.has("w"))
    await print(self, (options.get("w") ?? "").replace("%{http_code}", String(answer.status)).replaceAll("\\n", "\n"));
  return 0;
}

const LONG_OPTIONS: Readonly<Record<string, string>> = {
  "--spider": "-Y",
  "--silent": "-s",
  "--fail": "-f",
  "--head": "-I",
  "--include": "-i",
  "--quiet": "-q",
  "--location": "-L",
  "--globoff": "-g",
  "--connect-timeout": "-m",
  "--max-time": "-m",
  "--timeout": "-T",
  "--output": "-o",
  "--post-data": "-p",
  "--data": "-d",
};

/** The short form of a long option; `--name=value` becomes two arguments. */
function shortOption(arg: string): readonly string[] {
  const [name = "", ...value] = arg.split("=");
  const short = LONG_OPTIONS[name];
  return short === undefined ? [arg] : value.length === 0 ? [short] : [short, value.join("=")];
}

const print2 = async (self: Self, text: string) => self.stderr.write(Buffer.from(text), self.signal);

function parseUrl(text: string): { readonly host: string; readonly port: number; readonly path: string } | undefined {
  const match = /^(?:http:\/\/)?(\[[^\]]+\]|[^/:]+)(?::(\d+))?(\/.*)?$/.exec(text);
  if (match === null) return undefined;
  return { host: (match[1] ?? "").replace(/^\[|\]$/g, ""), port: Number(match[2] ?? 80), path: match[3] ?? "/" };
}

async function request(
  self: Self,
  { incoming, outgoing }: Connection,
  method: string,
  { host, port, path }: { readonly host: string; readonly port: number; readonly path: string },
  data: string | undefined,
): Promise<Answer> {
  const content = data === undefined ? "" : `Content-Length: ${Buffer.byteLength(data)}\r\n`;
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\nUser-Agent: ${baseCommand(self)}\r\nAccept: */*\r\nConnection: close\r\n${content}\r\n${data ?? ""}`;
  await outgoing.write(Buffer.from(head), self.signal);
  const bytes = await readAll(incoming, self.signal, self);
  outgoing.release();
  incoming.release();
  const end = bytes.indexOf("\r\n\r\n");
  const answerHead = bytes.subarray(0, end + 4).toString();
  return {
    status: Number(/^HTTP\/\S+ (\d+)/.exec(answerHead)?.[1] ?? 0),
    head: answerHead,
    body: bytes.subarray(end + 4),
  };
}

/** `nc [-z] [-u] HOST PORT`: stdin to the connection, the connection to stdout. With -u each line is a datagram. */
export async function netcat(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "zvuw:");
  const [host = "", port = ""] = rest;
  if (unknown !== undefined || rest.length !== 2) return usage(self, "usage: nc [-z] HOST PORT");
  if (options.has("u")) return sendLines(self, host, Number(port));
  const connection = self.machine.connect(host, Number(port));
  if (connection === undefined) {
    await complain(self, `${host} (${host}:${port}): Connection refused`);
    return 1;
  }
  const { incoming, outgoing } = connection;
  try {
    if (!options.has("z")) await Promise.all([toConnection(self, connection), fromConnection(self, connection)]);
    else outgoing.release();
  } finally {
    incoming.release();
  }
  return 0;
}

async function sendLines(self: Self, host: string, port: number): Promise<number> {
  for (let line = await readLine(self.stdin, self.signal, self); line !== undefined; ) {
    const answer = self.machine.sendDatagram(host, port, line);
    if (answer !== undefined) await self.stdout.write(answer, self.signal);
    line = await readLine(self.stdin, self.signal, self);
  }
  return 0;
}

async function toConnection(self: Self, { outgoing }: Connection): Promise<void> {
  for (
    let bytes = await self.stdin.read(self.signal);
    bytes !== undefined;
    bytes = await self.stdin.read(self.signal)
  ) {
    await outgoing.write(bytes, self.signal);
  }
  outgoing.release();
}

async function fromConnection(self: Self, { incoming }: Connection): Promise<void> {
  for (let bytes = await incoming.read(self.signal); bytes !== undefined; bytes = await incoming.read(self.signal)) {
    await self.stdout.write(bytes, self.signal);
  }
}
