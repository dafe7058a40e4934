import type { IncomingMessage, ServerResponse } from "node:http";
import { onAbort } from "../../../../util/async/abort.js";
import { FsError } from "../../fs/fs-error.js";
import { bindErrorText, listenTcp } from "../../net/listen.js";
import type { Self } from "../../process/process.js";
import { SIGHUP, SIGINT, SIGQUIT, SIGTERM } from "../../process/signals.js";
import { complain, print, usage } from "../console.js";
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
  self.become([`nginx: master process ${self.argv.join(" ")}`]);
  const site = readSite(self);
  const config = self.machine.fs.exists(MAIN_CONFIG) ? self.machine.fs.readFile(MAIN_CONFIG).toString() : "";
  // An image for other users than root names folders that they can write.
  const problem = config.includes("_temp_path") ? undefined : makeCaches(self);
  if (problem !== undefined) return usage(self, problem);
  const server = serveHttp(self, (request, response) => answer(self, site, request, response));
  for (const { port, address } of site.sockets) {
    const listening = listenTcp(self, port, server.listener, address);
    if (typeof listening !== "string") continue;
    const why = `(${ERRNOS[listening]}: ${bindErrorText(listening)})`;
    await complain(self, `[emerg] bind() to ${address ?? "0.0.0.0"}:${port} failed ${why}`);
    return 1;
  }
  onAbort(self.signal, () => server.close());
  const pidProblem = writePid(self, /^\s*pid\s+([^\s;]+)/m.exec(config)?.[1] ?? PID_FILE);
  if (pidProblem !== undefined) return usage(self, pidProblem);
  await notice(self, "start worker processes");
  self.onSignal(SIGHUP, "ignore");
  const signal = await untilSignal(self, SIGTERM, SIGINT, SIGQUIT);
  await notice(self, `signal ${signal} received, ${signal === SIGQUIT ? "gracefully shutting down" : "exiting"}`);
  return 0;
}

const CACHE_FOLDER = "/var/cache/nginx";
const CACHES = ["client_temp", "proxy_temp", "fastcgi_temp", "uwsgi_temp", "scgi_temp"];

/** Makes what nginx needs before it listens. Mirrors ngx_create_paths. @returns the problem of a folder */
function makeCaches({ machine: { fs }, umask }: Self): string | undefined {
  for (const path of CACHES.map((name) => `${CACHE_FOLDER}/${name}`)) {
    try {
      if (!fs.exists(path)) fs.mkdir(path, { mode: 0o700 & ~umask });
    } catch (error) {
      return problemOf(`mkdir() "${path}"`, error);
    }
  }
  return undefined;
}

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

async function notice(self: Self, text: string): Promise<void> {
  const when = formatDate(new Date(self.machine.clock.now()), "%Y/%m/%d %H:%M:%S");
  await self.stderr.write(Buffer.from(`${when} [notice] ${self.pid}#${self.pid}: ${text}\n`), self.signal);
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
