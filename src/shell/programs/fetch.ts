import { openForWriting } from "../fs/open-file.js";
import { resolvePath } from "../fs/paths.js";
import type { Connection } from "../process/ports.js";
import type { Self } from "../process/process.js";
import { readAll } from "../process/streams.js";
import { baseCommand, complain, parseArgs, print, usage } from "./console.js";

interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: Buffer;
}

/** `wget [-q] [-O FILE] [--spider] URL` and `curl [-s] [-f] [-i] [-I] [-o FILE] URL`, in the pods' network. */
export async function fetchUrl(self: Self): Promise<number> {
  const isCurl = baseCommand(self) === "curl";
  const args = self.argv.slice(1).map((arg) => LONG_OPTIONS[arg] ?? arg);
  const { options, rest, unknown } = parseArgs(args, isCurl ? "sSfkLiIvo:m:X:H:w:d:" : "qSO:T:Y");
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
  const method = options.has("I") ? "HEAD" : (options.get("X") ?? "GET");
  const answer = await request(self, connection, method, target);
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
};

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
): Promise<Answer> {
  const head = `${method} ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\nUser-Agent: ${baseCommand(self)}\r\nAccept: */*\r\nConnection: close\r\n\r\n`;
  await outgoing.write(Buffer.from(head), self.signal);
  const bytes = await readAll(incoming, self.signal);
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

/** `nc [-z] HOST PORT`: stdin to the connection, the connection to stdout. */
export async function netcat(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "zvw:");
  const [host = "", port = ""] = rest;
  if (unknown !== undefined || rest.length !== 2) return usage(self, "usage: nc [-z] HOST PORT");
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
