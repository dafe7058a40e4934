import { createSecureContext, type SecureContext } from "node:tls";
import { resolvePath } from "../../fs/paths.js";
import { listenTcp, listenUdp } from "../../net/listen.js";
import { selfSignedContext } from "../../net/serving-certificate.js";
import type { Connection } from "../../process/ports.js";
import type { Self } from "../../process/process.js";
import { SIGTERM } from "../../process/signals.js";
import { print } from "../console.js";
import { untilKilled, untilSignal } from "../system.js";
import type { Flags } from "./flags.js";
import { goLog } from "./go-log.js";
import { bodyOf, type Endpoint, listenAndServe, serve } from "./web.js";

const HEALTHY_MS = 10_000;

/** `liveness`: /healthz is 200 for 10 s and 500 afterwards. */
export async function liveness(self: Self): Promise<number> {
  const startedMs = self.machine.clock.now();
  return listenAndServe(self, 8080, ({ path, query, answer }) => {
    const ageMs = self.machine.clock.now() - startedMs;
    if (path === "/started") return answer(200, `${ageMs / 1000}s`);
    if (path === "/redirect") return answer(302, "", { location: decodeURIComponent(query.get("loc") ?? "") });
    if (path !== "/healthz") return answer(404, "404 page not found\n");
    return ageMs > HEALTHY_MS ? answer(500, `error: ${ageMs / 1000}`) : answer(200, "ok");
  });
}

/** `fake-gitserver`: answers every request of `git clone` with one sentence. */
export async function fakeGitServer(self: Self): Promise<number> {
  return listenAndServe(self, 8000, ({ answer }) => answer(200, "I am a fake git server"));
}

/** `test-webserver`: serves the files of the container, as Go's http.FileServer does. */
export async function testWebserver(self: Self, flags: Flags): Promise<number> {
  const { fs } = self.machine;
  return listenAndServe(self, flags.number("port", 80), ({ path, answer }) => {
    const file = resolvePath("/", path);
    if (!fs.exists(file)) return answer(404, "404 page not found\n");
    const headers = { "content-type": "text/html; charset=utf-8" };
    if (fs.stat(file).type !== "directory") return answer(200, fs.readFile(file));
    const lines = fs.readdir(file).map((name) => {
      const shown = fs.lstat(resolvePath(file, name)).type === "directory" ? `${name}/` : name;
      return `<a href="${shown}">${shown}</a>\n`;
    });
    return answer(200, `<pre>\n${lines.join("")}</pre>\n`, headers);
  });
}

/** `nettest`: counts what other pods write. Differs: it contacts no peers, because that needs the API server. */
export async function nettest(self: Self, flags: Flags): Promise<number> {
  const { hostname } = self.machine.uts;
  const received: Record<string, number> = {};
  const errors: string[] = [];
  const ended = new Promise<number>((quit) => {
    const errno = serve(self, flags.number("port", 8080), async ({ path, request, answer }) => {
      if (path === "/quit") return quit(0);
      if (path === "/status") return answer(200, "fail");
      const state = { Hostname: hostname, Sent: null, Received: received, Errors: errors, Log: null };
      if (path === "/read")
        return answer(200, JSON.stringify({ ...state, StillContactingPeers: false }, undefined, "\t"));
      if (path !== "/write") return answer(404, "404 page not found\n");
      const source = sourceOf(await bodyOf(request));
      if (source === "") errors.push(`${hostname}: Got request with no source`);
      else received[source] = (received[source] ?? 0) + 1;
      answer(200, `${JSON.stringify({ Hostname: hostname })}\n`);
    });
    if (errno !== undefined) quit(1);
  });
  return Promise.race([ended, untilKilled(self)]);
}

function sourceOf(body: string): string {
  try {
    const { Source: source }: { readonly Source?: unknown } = JSON.parse(body);
    return typeof source === "string" ? source : "";
  } catch {
    return ""; // not JSON
  }
}

const AWAIT_DELETION_MS = 60_000;

/** `serve-hostname`: answers with the host name over HTTP, TCP or UDP. */
export async function serveHostname(self: Self, flags: Flags): Promise<number> {
  const { machine, signal } = self;
  const port = flags.number("port", 9376);
  const [hasTcp, hasUdp] = [flags.isSet("tcp"), flags.isSet("udp")];
  const sendName = async ({ outgoing }: Connection) => outgoing.write(Buffer.from(machine.uts.hostname), signal);
  if (hasTcp) serveTcp(self, port, sendName);
  if (hasUdp) listenUdp(self, port, () => Buffer.from(machine.uts.hostname));
  if (!hasTcp && !hasUdp) {
    serve(self, port, async ({ peer, answer }) => {
      await goLog(self, `HTTP request from ${peer}`);
      answer(200, machine.uts.hostname, flags.isSet("close") ? { connection: "close" } : {});
    });
  }
  await goLog(self, `Serving on port ${port}.`);
  await untilSignal(self, SIGTERM);
  await goLog(self, "Shutting down after receiving signal: terminated.");
  await goLog(self, "Awaiting pod deletion.");
  await machine.clock.sleep(AWAIT_DELETION_MS, signal);
  return 0;
}

/**
 * `porter`: each variable `SERVE_PORT_9001=text` serves its text on that port, and `SERVE_TLS_PORT_9002=text` over TLS.
 * Differs: no SCTP; the certificate is made here if `CERT_FILE` and `KEY_FILE` name none.
 */
export async function porter(self: Self, flags: Flags): Promise<number> {
  const inJson = flags.isSet("json-response");
  for (const [name, value] of Object.entries(self.env)) {
    const [, tls, port] = /^SERVE_(TLS_)?PORT_(\d+)$/.exec(name) ?? [];
    if (port === undefined) continue;
    const endpoint: Endpoint = ({ request, answer }) => {
      if (!inJson) return answer(200, value, { "content-type": contentType(value) });
      answer(200, JSON.stringify({ Method: request.method, Body: value }), { "content-type": "application/json" });
    };
    const context = tls === undefined ? undefined : await porterContext(self);
    if (serve(self, Number(port), endpoint, context) === undefined) continue;
    await goLog(self, `server on port "${port}" failed: listen tcp 0.0.0.0:${port}: bind: address already in use`);
  }
  await untilSignal(self, SIGTERM);
  return 0;
}

/** Go's server looks at the first bytes of an answer. */
function contentType(text: string): string {
  return /^\s*<(a|html|body|p|!doctype)\b/i.test(text) ? "text/html; charset=utf-8" : "text/plain; charset=utf-8";
}

function porterContext({ env, machine }: Self): Promise<SecureContext> | SecureContext {
  const { CERT_FILE: certFile = "", KEY_FILE: keyFile = "" } = env;
  if (certFile === "" || keyFile === "") return selfSignedContext(machine);
  const { fs } = machine;
  return createSecureContext({ cert: fs.readFile(certFile), key: fs.readFile(keyFile) });
}

const CLOSE_DELAY_MS = 500;

/** `port-forward-tester`: reads the expected data from one client, and sends chunks to it. */
export async function portForwardTester(self: Self): Promise<number> {
  const { env, machine, signal } = self;
  const connection = await new Promise<Connection>((accept, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    serveTcp(self, Number(env["BIND_PORT"]), accept);
  });
  const { incoming, outgoing } = connection;
  await print(self, "Accepted client connection\n");
  const expected = env["EXPECTED_CLIENT_DATA"] ?? "";
  if (expected !== "") {
    let read = "";
    while (read.length < expected.length) {
      const bytes = await incoming.read(signal, expected.length - read.length);
      if (bytes === undefined) break;
      read += bytes.toString();
    }
    if (read.length !== expected.length) {
      await print(
        self,
        `Expected to read ${expected.length} bytes from client, but got ${read.length} instead. err=EOF\n`,
      );
      return 2;
    }
    if (read !== expected) {
      await print(self, `Expect to read ${JSON.stringify(expected)}, but got ${JSON.stringify(read)}. err=<nil>\n`);
      return 3;
    }
    await print(self, "Received expected client data\n");
  }
  const [chunks, size, intervalMs] = ["CHUNKS", "CHUNK_SIZE", "CHUNK_INTERVAL"].map((name) => Number(env[name] ?? 0));
  for (let count = 1; count <= (chunks ?? 0); count++) {
    await outgoing.write(Buffer.alloc(size ?? 0, "x"), signal);
    if (count < (chunks ?? 0)) await machine.clock.sleep(intervalMs ?? 0, signal);
  }
  await print(self, "Shutting down connection\n");
  outgoing.release();
  await machine.clock.sleep(CLOSE_DELAY_MS, signal);
  incoming.release();
  await print(self, "Done\n");
  return 0;
}

/** Passes each connection to `accept`. @param accept if it returns a promise, the connection ends with it */
function serveTcp(self: Self, port: number, accept: (connection: Connection) => Promise<void> | void): void {
  listenTcp(self, port, (connection) => {
    const release = () => {
      connection.outgoing.release();
      connection.incoming.release();
    };
    // This also ends clients that do not read their answer.
    accept(connection)?.then(release, release);
  });
}
