import { listenUdp } from "../../net/listen.js";
import type { SocketAddress } from "../../process/ports.js";
import type { Self } from "../../process/process.js";
import { exitCodeOf } from "../../process/process.js";
import { SIGTERM } from "../../process/signals.js";
import { BytesSource, HeldSink } from "../../streams.js";
import { untilKilled } from "../system.js";
import { askUdp, getHttp } from "./dial.js";
import { durationMs, type Flags } from "./flags.js";
import { goLog } from "./go-log.js";
import { bodyOf, type Endpoint, type Exchange, serve } from "./web.js";

/**
 * `netexec`: an HTTP server that tests send commands to, and a UDP server that answers with the host name.
 * Differs: no TLS and no SCTP; a UDP answer comes at once.
 */
export async function netexec(self: Self, flags: Flags): Promise<number> {
  const [httpPort, udpPort] = [flags.number("http-port", 8080), flags.number("udp-port", 8081)];
  const ended = new Promise<number>((exit) => {
    const override = flags.text("http-override");
    const endpoint: Endpoint = (exchange) => route(self, overridden(exchange, override), exit);
    if (serve(self, httpPort, endpoint) !== undefined) exit(1);
    const delay = flags.number("delay-shutdown", 0);
    if (delay > 0) self.onSignal(SIGTERM, () => void shutdown(self, delay, exit));
  });
  const udp = listenUdp(self, udpPort, (bytes, peer) => udpAnswer(self, bytes, peer));
  await goLog(self, `Started HTTP server on port ${httpPort}`);
  if (typeof udp !== "string") await goLog(self, `Started UDP server on port ${udpPort}`);
  try {
    return await Promise.race([ended, untilKilled(self)]);
  } finally {
    if (typeof udp !== "string") udp.close();
  }
}

async function shutdown(self: Self, seconds: number, exit: (code: number) => void): Promise<void> {
  await goLog(self, `Sleeping ${seconds} seconds before terminating...`);
  await self.machine.clock.sleep(seconds * 1000, self.signal);
  exit(0);
}

function overridden(exchange: Exchange, override: string): Exchange {
  if (override === "") return exchange;
  const url = new URL(override, "http://pod");
  return { ...exchange, path: url.pathname, query: url.searchParams };
}

function udpAnswer({ machine }: Self, bytes: Buffer, { ip, port }: SocketAddress): Buffer | undefined {
  const text = bytes.toString().trim().toLowerCase();
  if (text === "hostname") return Buffer.from(machine.uts.hostname);
  if (text.startsWith("echo ")) return Buffer.from(text.slice("echo ".length));
  return text === "clientip" ? Buffer.from(`${ip}:${port}`) : undefined;
}

async function route(self: Self, exchange: Exchange, exit: (code: number) => void): Promise<void> {
  const { path, query, answer, peer } = exchange;
  await goLog(self, `GET ${path}${query.size === 0 ? "" : `?${query}`}`);
  switch (path) {
    case "/clientip":
      return answer(200, peer);
    case "/dial":
      return dial(self, exchange);
    case "/echo":
      return answer(Number(query.get("code") ?? "") || 200, query.get("msg") ?? "");
    case "/exit":
      return exitLater(self, exchange, exit);
    case "/healthz":
      return answer(200, "");
    case "/hostname":
    case "/hostName":
      return answer(200, self.machine.uts.hostname);
    case "/redirect":
      return answer(Number(query.get("code") ?? "") || 302, "", { location: query.get("location") ?? "" });
    case "/shell":
      return shell(self, exchange);
    case "/shutdown":
      return exit(0);
    case "/upload":
      return upload(self, exchange);
    default:
      return answer(
        200,
        `NOW: ${new Date(self.machine.clock.now()).toISOString().replace("T", " ").replace("Z", " +0000 UTC")}`,
      );
  }
}

async function exitLater(self: Self, { query, answer }: Exchange, exit: (code: number) => void): Promise<void> {
  const waitMs = durationMs(query.get("wait") || "0");
  const timeoutMs = durationMs(query.get("timeout") || "0");
  if (waitMs === undefined || timeoutMs === undefined) {
    return answer(200, "arguments 'wait' and 'timeout' must be valid golang durations or empty\n");
  }
  if (waitMs > 0) await self.machine.clock.sleep(waitMs, self.signal);
  if (timeoutMs > 0) answer(200, "");
  exit(Number(query.get("code") ?? 0) || 0);
}

async function dial(self: Self, { query, answer }: Exchange): Promise<void> {
  const [host, port, request] = [query.get("host") ?? "", Number(query.get("port")), query.get("request") ?? ""];
  const protocol = (query.get("protocol") || "http").toLowerCase();
  const tries = Number(query.get("tries") || 1);
  if (!Number.isInteger(tries)) return answer(400, "tries parameter is invalid.\n");
  if (request === "") return answer(400, "request parameter not specified. <nil>\n");
  if (protocol !== "http" && protocol !== "udp") return answer(400, `unsupported protocol. ${protocol}\n`);
  const responses: string[] = [];
  const errors: string[] = [];
  for (let count = 0; count < tries; count++) {
    await self.turn();
    try {
      responses.push(await (protocol === "http" ? getHttp : askUdp)(self, host, port, request));
    } catch (error) {
      errors.push((error as Error).message);
    }
  }
  answer(
    200,
    JSON.stringify({ ...(errors.length === 0 ? {} : { errors }), ...(responses.length === 0 ? {} : { responses }) }),
  );
}

async function shell(self: Self, { query, answer }: Exchange): Promise<void> {
  const { env, cwd, pid, machine, signal } = self;
  const out = new HeldSink(self.memory);
  const command = query.get("shellCommand") || query.get("cmd") || "";
  const child = machine.spawn({
    argv: ["/bin/sh", "-c", command],
    env,
    cwd,
    stdin: new BytesSource(),
    stdout: out,
    stderr: out,
    parentPid: pid,
  });
  const code = exitCodeOf(await child.exited);
  signal.throwIfAborted();
  const output = out.take().replace(/[\udc80-\udcff]/gu, "\ufffd");
  answer(
    200,
    JSON.stringify({ ...(code === 0 ? {} : { error: `exit status ${code}` }), ...(output === "" ? {} : { output }) }),
  );
}

/** Stores the `file` part of a form under /uploads. */
async function upload(self: Self, { request, answer }: Exchange): Promise<void> {
  const body = await bodyOf(request);
  const boundary = /boundary="?([^";]+)/.exec(request.headers["content-type"] ?? "")?.[1] ?? "";
  const section = body.split(`--${boundary}`).find((one) => /name="file"/.test(one));
  if (boundary === "" || section === undefined) return answer(200, JSON.stringify({ error: "Unable to upload file." }));
  const content = section.slice(section.indexOf("\r\n\r\n") + 4, -2);
  const path = `/uploads/upload${Math.floor(self.machine.clock.now())}`;
  self.machine.fs.write(path, Buffer.from(content, "latin1"), { truncate: true, mode: 0o700 });
  answer(201, JSON.stringify({ output: path }));
}
