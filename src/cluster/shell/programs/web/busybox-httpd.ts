import type { IncomingMessage, ServerResponse } from "node:http";
import { onAbort } from "../../../../util/async/abort.js";
import { bindErrorText, listenTcp } from "../../net/listen.js";
import type { Program, Self } from "../../process/process.js";
import { fail, parseArgs, print, usage, warn } from "../console.js";
import { untilKilled } from "../system.js";
import { serveHttp } from "./http-server.js";
import { findStaticFile } from "./static-files.js";

const ERRORS = {
  404: "The requested URL was not found",
  501: "The requested method is not recognized",
} as const;

/**
 * `httpd [-fv] [-p [IP:]PORT] [-h FOLDER]`, `httpd -d STRING`: busybox's small web server. Without -f it goes into the
 * background. Mirrors networking/httpd.c. Differs: no CGI, no configuration file, no accounts.
 */
export async function busyboxHttpd(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "fvip:h:c:u:r:d:e:m:");
  if (unknown !== undefined || rest.length > 0) return usage(self, unknown);
  const encoded = options.get("d");
  if (encoded !== undefined) {
    await print(self, decodeURIComponent(encoded.replaceAll("+", " ")));
    return 0;
  }
  const { fs } = self.machine;
  const home = options.get("h") ?? self.cwd;
  if (!fs.exists(home)) return fail(self, `can't change directory to '${home}': No such file or directory`);
  const [, address, port] = /^(?:(.*):)?(\d+)$/.exec(options.get("p") ?? "80") ?? [];
  const run: Program = async (process) => {
    const server = serveHttp(process, (request, response) =>
      answer(process, home, options.has("v"), request, response),
    );
    const listening = listenTcp(process, Number(port), server.listener, address);
    if (typeof listening === "string") return fail(process, `bind: ${bindErrorText(listening)}`);
    onAbort(process.signal, () => server.close());
    return untilKilled(process);
  };
  if (options.has("f")) return run(self);
  self.machine.fork(run, { ...self, parentPid: 1, group: "new" });
  return 0;
}

async function answer(
  self: Self,
  home: string,
  isVerbose: boolean,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const { method = "", url = "/" } = request;
  const { fs } = self.machine;
  const isAllowed = method === "GET" || method === "HEAD";
  const file = isAllowed ? findStaticFile(self, home, url) : undefined;
  const path = `${home}${url}`;
  const isFolder = isAllowed && !url.endsWith("/") && fs.exists(path) && fs.stat(path).type === "directory";
  const status = !isAllowed ? 501 : isFolder ? 302 : file === undefined ? 404 : 200;
  const text = `${status} ${{ 200: "OK", 302: "Found", 404: "Not Found", 501: "Not Implemented" }[status]}`;
  const page = `<HTML><HEAD><TITLE>${text}</TITLE></HEAD>\n<BODY><H1>${text}</H1>\n${ERRORS[status as 404]}\n</BODY></HTML>\n`;
  const date = new Date(self.machine.clock.now()).toUTCString();
  response.writeHead(status, {
    Date: date,
    Connection: "close",
    "Content-type": status === 200 ? (file?.type ?? "") : "text/html",
    ...(status === 302 ? { Location: `${url}/` } : {}),
    ...(status === 200 ? { "Accept-Ranges": "bytes", "Content-Length": file?.body.length } : {}),
  });
  if (isVerbose) await warn(self, `${request.socket.remoteAddress}:${request.socket.remotePort}: response:${status}\n`);
  response.end(method === "HEAD" || status === 302 ? undefined : status === 200 ? file?.body : page);
}
