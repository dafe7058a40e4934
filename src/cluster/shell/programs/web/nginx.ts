import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import { onAbort } from "../../../../util/async/abort.js";
import { encodeText } from "../../byte-text.js";
import { FsError } from "../../fs/fs-error.js";
import { openForWriting } from "../../fs/open-file.js";
import { bindErrorText, listenTcp } from "../../net/listen.js";
import { accountOf } from "../../process/accounts.js";
import type { Listener } from "../../process/ports.js";
import type { Process, ProcessUser, Self } from "../../process/process.js";
import { sendSignal } from "../../process/process-table.js";
import { SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM } from "../../process/signals.js";
import type { ByteSink } from "../../streams.js";
import { fail, warn } from "../console.js";
import { formatDate } from "../date.js";
import { untilSignal } from "../system.js";
import { serveHttp } from "./http-server.js";
import { NginxProblem, readServers, type Server, type Settings, settingsFor } from "./nginx-config.js";
import { findStaticFile } from "./static-files.js";

const PID_FILE = "/var/run/nginx.pid";
const MAIN_CONFIG = "/etc/nginx/nginx.conf";
/** Linux's numbers, which servers print. */
const ERRNOS = { EPERM: 1, ENOENT: 2, EACCES: 13, ENOTDIR: 20, ENOSPC: 28, EROFS: 30, EADDRINUSE: 98 } as const;

/**
 * A web server that behaves like nginx: `server` blocks by port and name, locations, `root`, `alias`, `return`, `try_files`,
 * static files, access log. It listens in the pod's network only. Differs: what it cannot do, such as `proxy_pass`, is named
 * in a warning and answered with 502 or 501.
 */
export async function nginx(self: Self): Promise<number> {
  const { fs, user } = self.machine;
  const config = fs.exists(MAIN_CONFIG) ? fs.readFile(MAIN_CONFIG).toString() : "";
  const pidFile = /^\s*pid\s+([^\s;]+)/m.exec(config)?.[1] ?? PID_FILE;
  const asked = self.argv.slice(1).find((word) => /^-[vVtTs]/.test(word));
  if (asked !== undefined) return answerOption(self, asked, pidFile);
  self.become([`nginx: master process ${self.argv.join(" ")}`]);
  let servers: readonly Server[];
  try {
    servers = await readSite(self);
  } catch (error) {
    if (!(error instanceof NginxProblem)) throw error;
    return fail(self, `[emerg] ${error.message}`);
  }
  // Only root can start workers of another user.
  const name = /^\s*user\s+([\w-]+)/m.exec(config)?.[1] ?? "nginx";
  const account = user.uid === 0 ? accountOf(fs, name) : undefined;
  // An image for other users than root names folders that they can write.
  const problem = config.includes("_temp_path") ? undefined : makeCaches(self, account?.uid);
  if (problem !== undefined) return fail(self, problem);
  const log = openAccessLog(self);
  const server = serveHttp(self, (request, response) => answer(self, servers, log, request, response));
  const listens = new Set<string>();
  const bindProblem = openSockets(self, servers, listens, server.listener);
  if (bindProblem !== undefined) return fail(self, bindProblem);
  onAbort(self.signal, () => server.close());
  const pidProblem = writePid(self, pidFile);
  if (pidProblem !== undefined) return fail(self, pidProblem);
  await notice(self, "start worker processes");
  const workers: Workers = { current: undefined, kept: Promise.resolve() };
  workers.kept = keepWorker(self, account, workers).catch(() => {}); // the process has ended
  self.onSignal(SIGHUP, () => {
    const read = async () => {
      await notice(self, "signal 1 (SIGHUP) received, reconfiguring");
      const fresh = await readSite(self);
      const problem = openSockets(self, fresh, listens, server.listener);
      if (problem !== undefined) throw new NginxProblem(problem);
      servers = fresh;
      await reload(self, account, workers);
    };
    read().catch((error: unknown) => {
      // Otherwise the process has ended.
      if (error instanceof NginxProblem) notice(self, error.message.replace("[emerg] ", ""), "emerg").catch(() => {});
    });
  });
  const signal = await untilSignal(self, SIGTERM, SIGINT, SIGQUIT);
  const signalName = SIGNAL_NAMES.get(signal) ?? "";
  await notice(self, `signal ${signal} (${signalName}) received, ${signal === SIGQUIT ? "shutting down" : "exiting"}`);
  const last = workers.current;
  workers.current = undefined;
  last?.kill(signal);
  await workers.kept;
  await notice(self, "exit");
  return 0;
}

const SIGNAL_NAMES = new Map<number, string>([
  [SIGTERM, "SIGTERM"],
  [SIGINT, "SIGINT"],
  [SIGQUIT, "SIGQUIT"],
]);

/** Opens the sockets that `listens` lacks. Differs: a reload closes none. @returns the problem of one */
function openSockets(
  self: Self,
  servers: readonly Server[],
  listens: Set<string>,
  listener: Listener,
): string | undefined {
  for (const { port, address } of servers.flatMap(({ sockets }) => sockets)) {
    const name = `${address ?? "0.0.0.0"}:${port}`;
    if (listens.has(name)) continue;
    const listening = listenTcp(self, port, listener, address);
    if (typeof listening === "string")
      return `[emerg] bind() to ${name} failed (${ERRNOS[listening]}: ${bindErrorText(listening)})`;
    listens.add(name);
  }
  return undefined;
}

const CACHE_FOLDER = "/var/cache/nginx";
const CACHES = ["client_temp", "proxy_temp", "fastcgi_temp", "uwsgi_temp", "scgi_temp"];

/** Makes what nginx needs before it listens. Mirrors ngx_create_paths. @param uid of its workers @returns the problem of a folder */
function makeCaches({ machine: { fs }, umask }: Self, uid: number | undefined): string | undefined {
  for (const path of CACHES.map((name) => `${CACHE_FOLDER}/${name}`)) {
    let call = `mkdir() "${path}"`;
    try {
      if (!fs.exists(path)) fs.mkdir(path, { mode: 0o700 & ~umask });
      if (uid === undefined || fs.stat(path).uid === uid) continue;
      call = `chown("${path}", ${uid})`;
      fs.chown(path, { uid });
    } catch (error) {
      return problemOf(call, error);
    }
  }
  return undefined;
}

interface Workers {
  current: Process | undefined;
  /** resolves when the current one has ended for good, and the log has it */
  kept: Promise<void>;
}

/** Starts a worker for the new configuration, and ends the one before it. */
async function reload(self: Self, account: ProcessUser | undefined, workers: Workers): Promise<void> {
  for (const text of ["reconfiguring", "start worker processes"]) await notice(self, text);
  const before = workers.current;
  workers.kept = keepWorker(self, account, workers);
  before?.kill(SIGQUIT);
  await workers.kept;
}

/**
 * Starts the worker as its own user, and again when it ends, until a reload replaces it.
 * Differs: the master serves, and there is one worker.
 */
async function keepWorker(self: Self, account: ProcessUser | undefined, workers: Workers): Promise<void> {
  const { machine, signal, pid, env, cwd, stdin, stdout, stderr } = self;
  const owner = account === undefined ? machine : machine.asUser(account);
  const options = { argv: [WORKER], env, cwd, stdin, stdout, stderr, parentPid: pid };
  for (;;) {
    const worker = owner.fork(work, options);
    workers.current = worker;
    using _ = onAbort(signal, () => worker.kill(SIGKILL));
    await notice(self, `start worker process ${worker.pid}`);
    const status = await worker.exited;
    await notice(self, `signal 17 (SIGCHLD) received from ${worker.pid}`);
    const how = status.kind === "signaled" ? `exited on signal ${status.signal}` : `exited with code ${status.code}`;
    await notice(self, `worker process ${worker.pid} ${how}`, status.kind === "signaled" ? "alert" : "notice");
    if (workers.current === worker) await machine.clock.sleep(RESPAWN_MS, signal);
    // A reload or the master's end can come meanwhile, too.
    if (workers.current !== worker) return;
  }
}

const WORKER = "nginx: worker process";
/** A worker that cannot live must not keep its master busy. */
const RESPAWN_MS = 100;

async function work(self: Self): Promise<number> {
  self.onSignal(SIGHUP, "ignore");
  const signal = await untilSignal(self, SIGTERM, SIGINT, SIGQUIT);
  if (signal === SIGQUIT) await notice(self, "gracefully shutting down");
  for (const text of ["exiting", "exit"]) await notice(self, text);
  return 0;
}

/** `nginx -t` */
async function testConfig(self: Self): Promise<number> {
  try {
    readServers(self, MAIN_CONFIG, undefined, () => {});
    await warn(self, `nginx: the configuration file ${MAIN_CONFIG} syntax is ok\n`);
    await warn(self, `nginx: configuration file ${MAIN_CONFIG} test is successful\n`);
    return 0;
  } catch (error) {
    if (!(error instanceof NginxProblem)) throw error;
    await warn(self, `nginx: [emerg] ${error.message}\nnginx: configuration file ${MAIN_CONFIG} test failed\n`);
    return 1;
  }
}

/** `nginx -v`, `nginx -s reload`. */
async function answerOption(self: Self, option: string, pidFile: string): Promise<number> {
  const { fs } = self.machine;
  if (/^-[vV]/.test(option)) {
    await warn(self, `nginx version: nginx/${self.env["NGINX_VERSION"] ?? "1.25.3"}\n`);
    return 0;
  }
  if (/^-[tT]/.test(option)) return testConfig(self);
  const word = option.slice(2) || (self.argv.at(self.argv.indexOf(option) + 1) ?? "");
  const signal = SIGNALS.get(word);
  if (signal === undefined) return fail(self, `invalid option: "-s ${word}"`);
  const pid = fs.exists(pidFile) ? fs.readFile(pidFile).toString().trim() : "";
  if (pid === "") return fail(self, `[error] invalid PID number "" in "${pidFile}"`);
  const problem = sendSignal(self.machine, pid, signal);
  return problem === undefined ? 0 : fail(self, `[alert] kill(${pid}, ${signal}) failed`);
}

const SIGNALS = new Map([
  ["stop", SIGTERM],
  ["quit", SIGQUIT],
  ["reload", SIGHUP],
]);

/** Mirrors ngx_create_pidfile. @returns the problem of the file */
function writePid({ machine: { fs }, pid }: Self, path: string): string | undefined {
  try {
    fs.write(path, Buffer.from(`${pid}\n`), { truncate: true });
    return undefined;
  } catch (error) {
    return problemOf(`open() "${path}"`, error);
  }
}

function problemOf(call: string, error: unknown): string {
  if (!(error instanceof FsError)) throw error;
  const errno = error.code in ERRNOS ? ERRNOS[error.code as keyof typeof ERRNOS] : 5;
  return `[emerg] ${call} failed (${errno}: ${error.text})`;
}

async function notice(
  self: Self,
  text: string,
  level: "notice" | "alert" | "warn" | "emerg" = "notice",
): Promise<void> {
  const when = formatDate(new Date(self.machine.clock.now()), "%Y/%m/%d %H:%M:%S");
  await self.stderr.write(Buffer.from(`${when} [${level}] ${self.pid}#${self.pid}: ${text}\n`), self.signal);
}

/** @throws NginxProblem */
async function readSite(self: Self): Promise<readonly Server[]> {
  const warnings = new Set<string>();
  const warn = (text: string) => warnings.add(text);
  let servers = readServers(self, MAIN_CONFIG, undefined, warn);
  if (servers.some(({ locations }) => locations.some(({ kind }) => kind === "regex")))
    servers = readServers(self, MAIN_CONFIG, (await import("re2js")).RE2JS.compile, warn);
  for (const text of warnings) await notice(self, text, "warn");
  return servers;
}

/** The server block for a request: of its port, with its host name or the first. */
function serverFor(servers: readonly Server[], port: number | undefined, host: string): Server | undefined {
  const all = servers.filter(({ sockets }) => sockets.some((one) => one.port === port));
  return all.find(({ names }) => names.includes(host.replace(/:\d+$/, ""))) ?? all[0];
}

interface Answer {
  readonly status: number;
  readonly body: Buffer;
  readonly type: string;
  readonly location?: string;
}

function answer(
  self: Self,
  servers: readonly Server[],
  log: ByteSink,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { method = "", url = "/", headers, socket } = request;
  const server = serverFor(servers, socket.localPort, headers.host ?? "");
  const settings = server === undefined ? undefined : settingsFor(server, pathOf(url));
  const isAllowed = method === "GET" || method === "HEAD" || settings?.answer !== undefined;
  const { status, body, type, location } = isAllowed ? contentOf(self, settings, url) : pageOf(405);
  response.writeHead(status, {
    Server: "nginx",
    Date: new Date(self.machine.clock.now()).toUTCString(),
    "Content-Type": type,
    "Content-Length": body.length,
    ...(location === undefined ? {} : { Location: location }),
  });
  response.end(method === "HEAD" ? undefined : body);
  if (settings?.hasLog === false) return;
  const line = accessLine(request, status, method === "HEAD" ? 0 : body.length, self.machine.clock.now());
  const logged = Promise.resolve(encodeText(line)).then((bytes) => log.write(bytes, self.signal));
  logged.catch(() => {}); // the process and its log are gone
}

function pathOf(url: string): string {
  const path = url.split("?")[0] ?? "/";
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // an invalid escape
  }
}

function contentOf(self: Self, settings: (Settings & { readonly prefix?: string }) | undefined, url: string): Answer {
  if (settings === undefined) return pageOf(404);
  const { answer: fixed, root, alias, prefix, tryFiles } = settings;
  if (fixed !== undefined) {
    const { status, text } = fixed;
    if (status >= 300 && status < 400) return { ...pageOf(status), location: withVariables(text, url) };
    if (text === "" && status >= 400) return pageOf(status);
    return { status, body: Buffer.from(withVariables(text, url)), type: "text/plain" };
  }
  const path = pathOf(url);
  const find = (name: string) =>
    alias === undefined || prefix === undefined
      ? findStaticFile(self, root, encodeURI(name))
      : findStaticFile(self, alias, encodeURI(`/${name.slice(prefix.length)}`));
  for (const [at, one] of (tryFiles ?? ["$uri"]).entries()) {
    const status = /^=(\d{3})$/.exec(one)?.[1];
    if (status !== undefined && at > 0) return pageOf(Number(status));
    const file = find(one.replaceAll("$uri", path));
    if (file !== undefined) return { status: 200, ...file };
  }
  return pageOf(404);
}

function withVariables(text: string, url: string): string {
  return text.replaceAll("$request_uri", url).replaceAll("$uri", pathOf(url));
}

/** log_format main of the image's nginx.conf. */
function accessLine(request: IncomingMessage, code: number, sentBytes: number, nowMs: number): string {
  const { method, url, httpVersion, headers, socket } = request;
  const [referer, agent, forwarded] = [headers.referer, headers["user-agent"], headers["x-forwarded-for"]].map(
    (one) => `"${one ?? "-"}"`,
  );
  const from = socket.remoteAddress ?? "127.0.0.1";
  const at = formatDate(new Date(nowMs), "%d/%b/%Y:%H:%M:%S +0000");
  return `${from} - - [${at}] "${method} ${url} HTTP/${httpVersion}" ${code} ${sentBytes} ${referer} ${agent} ${forwarded}\n`;
}

function pageOf(status: number): Answer {
  const title = `${status} ${STATUS_TEXTS[status] ?? STATUS_CODES[status] ?? ""}`.trim();
  const body = `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n`;
  return { status, body: Buffer.from(body), type: "text/html" };
}

/** Where nginx's words differ from those of HTTP. */
const STATUS_TEXTS: Readonly<Record<number, string>> = { 302: "Found", 405: "Not Allowed" };

const ACCESS_LOG = "/var/log/nginx/access.log";

/** A volume hides the image's link to stdout: the log is then a file. */
function openAccessLog({ machine: { fs }, stdout, umask }: Self): ByteSink {
  try {
    if (fs.lstat(ACCESS_LOG).type === "symlink") return stdout;
  } catch (error) {
    if (!(error instanceof FsError)) throw error;
  }
  try {
    return openForWriting(fs, ACCESS_LOG, { append: true, umask });
  } catch (error) {
    if (!(error instanceof FsError)) throw error;
    return stdout; // an image without this folder
  }
}
