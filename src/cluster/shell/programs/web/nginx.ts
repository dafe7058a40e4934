import type { IncomingMessage, ServerResponse } from "node:http";
import { onAbort } from "../../../../util/async/abort.js";
import { FsError } from "../../fs/fs-error.js";
import { bindErrorText, listenTcp } from "../../net/listen.js";
import { accountOf } from "../../process/accounts.js";
import type { Listener } from "../../process/ports.js";
import type { Process, ProcessUser, Self } from "../../process/process.js";
import { sendSignal } from "../../process/process-table.js";
import { SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM } from "../../process/signals.js";
import { fail, print, warn } from "../console.js";
import { formatDate } from "../date.js";
import { untilSignal } from "../system.js";
import { serveHttp } from "./http-server.js";
import { findStaticFile } from "./static-files.js";

const PID_FILE = "/var/run/nginx.pid";
const MAIN_CONFIG = "/etc/nginx/nginx.conf";
const CONFIG_FOLDER = "/etc/nginx/conf.d";
/** Linux's numbers, which servers print. */
const ERRNOS = { EPERM: 1, ENOENT: 2, EACCES: 13, ENOTDIR: 20, ENOSPC: 28, EROFS: 30, EADDRINUSE: 98 } as const;

interface Site {
  readonly sockets: readonly { readonly port: number; readonly address: string | undefined }[];
  readonly root: string;
  /** `return 200 "text";` */
  readonly answer?: { readonly status: number; readonly text: string };
}

/**
 * A web server that behaves like nginx as far as the labs need it: `listen`, `root` and `return` in the files of
 * /etc/nginx/conf.d, static files, access log on stdout. It listens in the pod's network only.
 */
export async function nginx(self: Self): Promise<number> {
  const { fs, user } = self.machine;
  const config = fs.exists(MAIN_CONFIG) ? fs.readFile(MAIN_CONFIG).toString() : "";
  const pidFile = /^\s*pid\s+([^\s;]+)/m.exec(config)?.[1] ?? PID_FILE;
  const asked = self.argv.slice(1).find((word) => /^-[vVtTs]/.test(word));
  if (asked !== undefined) return answerOption(self, asked, pidFile);
  self.become([`nginx: master process ${self.argv.join(" ")}`]);
  let site = readSite(self);
  // Only root can start workers of another user.
  const name = /^\s*user\s+([\w-]+)/m.exec(config)?.[1] ?? "nginx";
  const account = user.uid === 0 ? accountOf(fs, name) : undefined;
  // An image for other users than root names folders that they can write.
  const problem = config.includes("_temp_path") ? undefined : makeCaches(self, account?.uid);
  if (problem !== undefined) return fail(self, problem);
  const server = serveHttp(self, (request, response) => answer(self, site, request, response));
  const listens = new Set<string>();
  const bindProblem = openSockets(self, site, listens, server.listener);
  if (bindProblem !== undefined) return fail(self, bindProblem);
  onAbort(self.signal, () => server.close());
  const pidProblem = writePid(self, pidFile);
  if (pidProblem !== undefined) return fail(self, pidProblem);
  await notice(self, "start worker processes");
  const workers: Workers = { current: undefined };
  keepWorker(self, account, workers).catch(() => {}); // the process has ended
  self.onSignal(SIGHUP, () => {
    site = readSite(self);
    const problem = openSockets(self, site, listens, server.listener);
    const lines = problem === undefined ? reload(self, account, workers) : fail(self, problem);
    lines.catch(() => {}); // the process has ended
  });
  const signal = await untilSignal(self, SIGTERM, SIGINT, SIGQUIT);
  const signalName = SIGNAL_NAMES.get(signal) ?? "";
  await notice(self, `signal ${signal} (${signalName}) received, ${signal === SIGQUIT ? "shutting down" : "exiting"}`);
  return 0;
}

const SIGNAL_NAMES = new Map<number, string>([
  [SIGTERM, "SIGTERM"],
  [SIGINT, "SIGINT"],
  [SIGQUIT, "SIGQUIT"],
]);

/** Opens the sockets that `listens` lacks. Differs: a reload closes none. @returns the problem of one */
function openSockets(self: Self, { sockets }: Site, listens: Set<string>, listener: Listener): string | undefined {
  for (const { port, address } of sockets) {
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
}

/** Starts a worker for the new configuration, and ends the one before it. */
async function reload(self: Self, account: ProcessUser | undefined, workers: Workers): Promise<void> {
  for (const text of ["signal 1 (SIGHUP) received, reconfiguring", "reconfiguring", "start worker processes"])
    await notice(self, text);
  const before = workers.current;
  const kept = keepWorker(self, account, workers);
  before?.kill(SIGQUIT);
  await kept;
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
    const how = status.kind === "signaled" ? `exited on signal ${status.signal}` : `exited with code ${status.code}`;
    await notice(self, `worker process ${worker.pid} ${how}`, status.kind === "signaled" ? "alert" : "notice");
    if (workers.current !== worker) return;
    await machine.clock.sleep(RESPAWN_MS, signal);
  }
}

const WORKER = "nginx: worker process";
/** A worker that cannot live must not keep its master busy. */
const RESPAWN_MS = 100;

async function work(self: Self): Promise<number> {
  self.onSignal(SIGHUP, "ignore");
  await untilSignal(self, SIGTERM, SIGINT, SIGQUIT);
  return 0;
}

/** `nginx -v`, `nginx -s reload`. */
async function answerOption(self: Self, option: string, pidFile: string): Promise<number> {
  const { fs } = self.machine;
  if (/^-[vV]/.test(option)) {
    await warn(self, `nginx version: nginx/${self.env["NGINX_VERSION"] ?? "1.25.3"}\n`);
    return 0;
  }
  if (/^-[tT]/.test(option)) return fail(self, "kubelab cannot test a configuration");
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

async function notice(self: Self, text: string, level: "notice" | "alert" = "notice"): Promise<void> {
  const when = formatDate(new Date(self.machine.clock.now()), "%Y/%m/%d %H:%M:%S");
  await self.stderr.write(Buffer.from(`${when} [${level}] ${self.pid}#${self.pid}: ${text}\n`), self.signal);
}

function readSite(self: Self): Site {
  const { fs } = self.machine;
  const names = fs.exists(CONFIG_FOLDER) ? fs.readdir(CONFIG_FOLDER).filter((name) => name.endsWith(".conf")) : [];
  const text = names.map((name) => fs.readFile(`${CONFIG_FOLDER}/${name}`).toString().replace(/#.*/g, "")).join("\n");
  const listens = [...text.matchAll(/\blisten\s+(?:([\d.]+):)?(\d+)\b/g)].map(([, address, port]) => {
    return { port: Number(port), address: address === "0.0.0.0" ? undefined : address };
  });
  const fixed = /\breturn\s+(\d{3})\s+(?:"([^"]*)"|'([^']*)'|([^\s;]+))\s*;/.exec(text);
  return {
    sockets: [...new Map(listens.map((one) => [`${one.address}:${one.port}`, one])).values()],
    root: /\broot\s+([^\s;]+)\s*;/.exec(text)?.[1] ?? "/usr/share/nginx/html",
    ...(fixed === null
      ? {}
      : {
          answer: { status: Number(fixed[1]), text: (fixed[2] ?? fixed[3] ?? fixed[4] ?? "").replaceAll("\\n", "\n") },
        }),
  };
}

function answer(self: Self, site: Site, request: IncomingMessage, response: ServerResponse): void {
  const { status, body, type } =
    site.answer === undefined ? find(self, site, request.url ?? "/") : textAnswer(site.answer);
  const isAllowed = request.method === "GET" || request.method === "HEAD" || site.answer !== undefined;
  const code = isAllowed ? status : 405;
  const content = isAllowed ? body : page(405, "Not Allowed");
  response.writeHead(code, {
    Server: "nginx",
    Date: new Date(self.machine.clock.now()).toUTCString(),
    "Content-Type": isAllowed ? type : "text/html",
    "Content-Length": content.length,
  });
  response.end(request.method === "HEAD" ? undefined : content);
  const sentBytes = request.method === "HEAD" ? 0 : content.length;
  print(self, accessLine(request, code, sentBytes, self.machine.clock.now())).catch(() => {}); // the process and its log are gone
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

function textAnswer({ status, text }: { readonly status: number; readonly text: string }) {
  return { status, body: Buffer.from(text), type: "text/plain" };
}

function find(self: Self, { root }: Site, url: string): { status: number; body: Buffer; type: string } {
  const file = findStaticFile(self, root, url);
  if (file !== undefined) return { status: 200, ...file };
  return { status: 404, body: page(404, "Not Found"), type: "text/html" };
}

function page(status: number, text: string): Buffer {
  const title = `${status} ${text}`;
  return Buffer.from(
    `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n`,
  );
}
