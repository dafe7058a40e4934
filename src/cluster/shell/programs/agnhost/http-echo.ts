import type { Self } from "../../process/process.js";
import { parseFlags } from "./flags.js";
import { goLog } from "./go-log.js";
import { listenAndServe } from "./web.js";

/**
 * `http-echo -listen=:5678 -text=hello`: a web server with one text, as any user. Other small servers of examples are it as
 * well, and the health ports of konnectivity's programs.
 * Differs from hashicorp/http-echo: no `-status-code` and no log of requests.
 */
export async function httpEcho(self: Self): Promise<number> {
  const flags = parseFlags(self.argv.slice(1), {}, []);
  const health = flags.text("health-server-port", flags.text("health-port", "5678"));
  const port = Number(flags.text("listen", health).split(":").at(-1));
  const text = flags.text("text", self.env["ECHO_TEXT"] ?? "hello-world");
  await goLog(self, `[INFO] server is listening on :${port}`);
  return listenAndServe(self, port, ({ answer }) => answer(200, `${text}\n`));
}
