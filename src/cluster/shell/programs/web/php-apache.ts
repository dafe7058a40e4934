import { onAbort } from "../../../../util/async/abort.js";
import { listenTcp } from "../../net/listen.js";
import type { Self } from "../../process/process.js";
import { SIGTERM, SIGWINCH } from "../../process/signals.js";
import { allowedCores, consumeCpu } from "../stress.js";
import { untilSignal } from "../system.js";
import { serveHttp } from "./http-server.js";

/** The CPU time that PHP needs for a million square roots. */
const WORK_MS = 50;

/**
 * The server of registry.k8s.io/hpa-example: answers `OK!` after the work of its index.php, as fast as the container's limit
 * allows. Differs: one request after the other; no access log.
 */
export async function phpApache(self: Self): Promise<number> {
  self.become(["apache2", "-DFOREGROUND"]);
  let last = Promise.resolve();
  const server = serveHttp(self, async (_request, response) => {
    const cores = Math.min(1, allowedCores(self));
    last = last.then(() => consumeCpu(self, cores, WORK_MS / cores));
    await last;
    response.writeHead(200, {
      Server: "Apache/2.4.10 (Debian)",
      "X-Powered-By": "PHP/5.6.14",
      "Content-Type": "text/html",
    });
    response.end("OK!");
  });
  const listening = listenTcp(self, 80, server.listener);
  if (typeof listening === "string") return 1;
  onAbort(self.signal, () => server.close());
  await untilSignal(self, SIGTERM, SIGWINCH);
  return 0;
}
