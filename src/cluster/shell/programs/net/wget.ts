import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { NetError } from "../../../../util/net/net-error.js";
import { FsError } from "../../fs/fs-error.js";
import { resolvePath } from "../../fs/paths.js";
import { deadline } from "../../net/deadline.js";
import { bodyOf, HttpFailure, headLines, sendHttp } from "../../net/http-client.js";
import { lookUpHost } from "../../net/resolver.js";
import { connectTls } from "../../net/tls.js";
import { openSink } from "../../process/descriptors.js";
import { duplexOf } from "../../process/duplex.js";
import type { Self } from "../../process/process.js";
import { usage, warn } from "../console.js";
import { type NetOptions, type OptionTable, parseOptions } from "./options.js";
import { hostHeader, parseTarget, redirected, type Target } from "./url.js";

/** busybox's options; those without a meaning here do nothing. */
const OPTIONS: OptionTable = {
  continue: "c",
  header: ":",
  "no-check-certificate": "",
  "output-document": "O:",
  "output-file": "o:",
  "directory-prefix": "P:",
  "post-data": ":",
  "post-file": ":",
  proxy: "Y:",
  quiet: "q",
  "server-response": "S",
  spider: "",
  timeout: "T:",
  tries: "t:",
  "user-agent": "U:",
};
const DEFAULT_TIMEOUT_MS = 900_000;
const MAX_REDIRECTS = 20;

class WgetError extends Error {
  override readonly name = "WgetError";
}

/** `wget [-q] [-S] [-O FILE] [-T SECONDS] [--spider] [--post-data TEXT] URL`, as busybox has it. Differs: shows no progress. */
export async function wget(self: Self): Promise<number> {
  const options = parseOptions(self.argv.slice(1), OPTIONS);
  const [url] = options.rest;
  if (options.problem !== undefined || url === undefined) return usage(self, options.problem);
  try {
    for (const one of options.rest) await fetchUrl(self, options, one);
    return 0;
  } catch (error) {
    self.signal.throwIfAborted();
    await warn(self, `wget: ${messageOf(error)}\n`);
    return 1;
  }
}

/** @throws any error that does not end wget */
function messageOf(error: unknown): string {
  if (error instanceof WgetError) return error.message;
  if (error instanceof HttpFailure) return "error getting response";
  if (error instanceof FsError) return `can't open '${error.path}': ${error.text}`;
  throw error;
}

async function fetchUrl(self: Self, options: NetOptions, url: string): Promise<void> {
  let target = parseTarget(url);
  for (let count = 0; count <= MAX_REDIRECTS; count++) {
    if (target === undefined) throw new WgetError(`bad address '${url}'`);
    using limit = deadline(self.machine.clock, options.milliseconds("timeout") ?? DEFAULT_TIMEOUT_MS, self.signal);
    try {
      const { response, stream } = await exchange(self, options, target, limit.signal);
      try {
        target = await take(self, options, target, response, limit.signal);
        if (target === undefined) return;
      } finally {
        stream.destroy();
      }
    } catch (error) {
      if (limit.isOver) throw new WgetError("download timed out");
      throw error;
    }
  }
  throw new WgetError("too many redirections");
}

async function exchange(
  self: Self,
  options: NetOptions,
  target: Target,
  signal: AbortSignal,
): Promise<{ readonly response: IncomingMessage; readonly stream: Duplex }> {
  const { host, port } = target;
  const [ip] = await lookUpHost(self, host, signal);
  if (ip === undefined) throw new WgetError(`bad address '${host.includes(":") ? host : hostHeader(target)}'`);
  await tell(self, options, `Connecting to ${hostHeader(target)} (${ip}:${port})`);
  const stream = await connect(self, target, ip, signal);
  try {
    const post = options.text("post-data");
    const file = options.text("post-file");
    const given = file === undefined ? post : self.machine.fs.readFile(resolvePath(self.cwd, file));
    const body = given === undefined ? undefined : Buffer.from(given);
    const headers = [
      ["Host", hostHeader(target)],
      ["User-Agent", options.text("user-agent") ?? "Wget"],
      ["Connection", "close"],
      ...(target.credentials === undefined
        ? []
        : [["Authorization", `Basic ${Buffer.from(target.credentials).toString("base64")}`]]),
      ...(body === undefined ? [] : [["Content-Type", "application/x-www-form-urlencoded"]]),
      ...options.all("header").map((line) => {
        const at = line.indexOf(":");
        return [line.slice(0, at), line.slice(at + 1).trim()];
      }),
    ] as [string, string][];
    const method = options.has("spider") ? "HEAD" : body === undefined ? "GET" : "POST";
    const message = { method, path: target.path, headers, ...(body === undefined ? {} : { body }) };
    return { response: await sendHttp(stream, message, signal), stream };
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

async function connect(self: Self, { scheme, host, port }: Target, ip: string, signal: AbortSignal): Promise<Duplex> {
  try {
    const stream = duplexOf(await self.machine.network.connect({ ip, port }, signal, self), self.signal);
    // As busybox, which does not verify certificates.
    return scheme === "http" ? stream : await connectTls(stream, { host, isInsecure: true }, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof NetError)) throw new WgetError("error getting response: Connection reset by peer");
    throw new WgetError(`can't connect to remote host (${ip}): ${error.message}`);
  }
}

/** Writes the response. @returns where it redirects to */
async function take(
  self: Self,
  options: NetOptions,
  target: Target,
  response: IncomingMessage,
  signal: AbortSignal,
): Promise<Target | undefined> {
  const lines = headLines(response);
  if (options.has("server-response")) await warn(self, lines.map((line) => `  ${line}\n`).join(""));
  const status = response.statusCode ?? 0;
  const { location } = response.headers;
  if (status >= 300 && status < 400 && location !== undefined) return redirected(target, location);
  if (status < 200 || status >= 300) throw new WgetError(`server returned error: ${lines[0]}`);
  if (options.has("spider")) {
    await tell(self, options, "remote file exists");
    return undefined;
  }
  const name = options.text("output-document") ?? (target.path.split("?")[0]?.split("/").at(-1) || "index.html");
  const isStdout = name === "-";
  const path = resolvePath(
    self.cwd,
    options.has("directory-prefix") ? `${options.text("directory-prefix")}/${name}` : name,
  );
  const { fs } = self.machine;
  if (!options.has("output-document") && fs.exists(path)) throw new WgetError(`can't open '${name}': File exists`);
  const sink = isStdout ? self.stdout : openSink(self, path, { append: false });
  await tell(self, options, isStdout ? "writing to stdout" : `saving to '${name}'`);
  for await (const bytes of bodyOf(response, signal)) {
    await sink.write(bytes, signal);
    await self.turn();
  }
  await tell(self, options, isStdout ? "written to stdout" : `'${name}' saved`);
  return undefined;
}

async function tell(self: Self, options: NetOptions, text: string): Promise<void> {
  if (!options.has("quiet")) await warn(self, `${text}\n`);
}
