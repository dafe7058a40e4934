import type { IncomingMessage, ServerResponse } from "node:http";
import { onAbort } from "../../../../util/async/abort.js";
import { listenTcp } from "../../net/listen.js";
import type { Self } from "../../process/process.js";
import { SIGINT, SIGTERM, SIGWINCH } from "../../process/signals.js";
import { complain, print } from "../console.js";
import { formatDate } from "../date.js";
import { untilSignal } from "../system.js";
import { serveHttp } from "./http-server.js";
import { findStaticFile } from "./static-files.js";

const CONFIG = "/usr/local/apache2/conf/httpd.conf";
const VERSION = "Apache/2.4.58 (Unix)";

/**
 * A web server that behaves like Apache's httpd as far as tests of Kubernetes need it: `Listen` and `DocumentRoot` of its
 * configuration, static files, access log on stdout. It listens in the pod's network only.
 */
export async function httpd(self: Self): Promise<number> {
  const text = self.machine.fs.readFile(CONFIG).toString();
  const root = /^DocumentRoot\s+"?([^"\s]+)"?/m.exec(text)?.[1] ?? "/usr/local/apache2/htdocs";
  const port = Number(/^Listen\s+(\d+)/m.exec(text)?.[1] ?? 80);
  const server = serveHttp(self, (request, response) => answer(self, root, request, response));
  const listening = listenTcp(self, port, server.listener);
  if (typeof listening === "string") {
    const why = listening === "EACCES" ? "(13)Permission denied" : "(98)Address in use";
    await complain(self, `${why}: AH00072: make_sock: could not bind to address 0.0.0.0:${port}`);
    return 1;
  }
  onAbort(self.signal, () => server.close());
  await notice(self, `AH00489: ${VERSION} configured -- resuming normal operations`);
  await notice(self, "AH00094: Command line: 'httpd -D FOREGROUND'", "core");
  const signal = await untilSignal(self, SIGTERM, SIGINT, SIGWINCH);
  const end =
    signal === SIGWINCH
      ? "AH00492: caught SIGWINCH, shutting down gracefully"
      : "AH00491: caught SIGTERM, shutting down";
  await notice(self, end);
  return 0;
}

async function notice(self: Self, text: string, module = "mpm_event"): Promise<void> {
  const when = formatDate(new Date(self.machine.clock.now()), "%a %b %d %H:%M:%S.000000 %Y");
  await self.stderr.write(Buffer.from(`[${when}] [${module}:notice] [pid ${self.pid}:tid 1] ${text}\n`), self.signal);
}

function answer(self: Self, root: string, request: IncomingMessage, response: ServerResponse): void {
  const { method = "", url = "/" } = request;
  const isAllowed = method === "GET" || method === "HEAD";
  const file = isAllowed ? findStaticFile(self, root, url) : undefined;
  const status = file !== undefined ? 200 : isAllowed ? 404 : 405;
  const { body, type } = file ?? { body: page(status), type: "text/html; charset=iso-8859-1" };
  response.writeHead(status, {
    Date: new Date(self.machine.clock.now()).toUTCString(),
    Server: VERSION,
    ...(status === 405 ? { Allow: "GET,HEAD" } : {}),
    "Content-Length": body.length,
    "Content-Type": type,
  });
  response.end(method === "HEAD" ? undefined : body);
  print(self, accessLine(self, request, status, method === "HEAD" ? 0 : body.length)).catch(() => {}); // the process and its log are gone
}

/** The format `common` of the image's httpd.conf. */
function accessLine(self: Self, { method, url, httpVersion, socket }: IncomingMessage, status: number, bytes: number) {
  const at = formatDate(new Date(self.machine.clock.now()), "%d/%b/%Y:%H:%M:%S +0000");
  const from = socket.remoteAddress ?? "127.0.0.1";
  return `${from} - - [${at}] "${method} ${url} HTTP/${httpVersion}" ${status} ${bytes === 0 ? "-" : bytes}\n`;
}

function page(status: number): Buffer {
  const [title, text] =
    status === 404
      ? ["404 Not Found", "The requested URL was not found on this server."]
      : ["405 Method Not Allowed", "The requested method is not allowed for this URL."];
  const heading = title.slice(4);
  return Buffer.from(
    `<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">\n<html><head>\n<title>${title}</title>\n</head><body>\n<h1>${heading}</h1>\n<p>${text}</p>\n</body></html>\n`,
  );
}
