import { createSecureContext, type SecureContext } from "node:tls";
import { messageOf } from "../../../../util/errors.js";
import { FsError } from "../../fs/fs-error.js";
import { resolvePath } from "../../fs/paths.js";
import { bindErrorText } from "../../net/listen.js";
import type { Self } from "../../process/process.js";
import { untilKilled } from "../system.js";
import type { Flags } from "./flags.js";
import { goLog, klog } from "./go-log.js";
import { type Endpoint, serve } from "./web.js";

/** Serves HTTPS with the files of `--tls-cert-file` and `--tls-private-key-file` until the process is killed. @returns the exit code */
export async function serveTls(self: Self, flags: Flags, endpoint: Endpoint): Promise<number> {
  const port = flags.number("port", 443);
  let context: SecureContext;
  try {
    const [cert, key] = ["tls-cert-file", "tls-private-key-file"].map((name) => readFile(self, flags.text(name)));
    context = createSecureContext({ cert, key });
  } catch (error) {
    await klog(self, "config.go:34", messageOf(error), "F");
    return 255;
  }
  const errno = serve(self, port, endpoint, context);
  if (errno === undefined) return untilKilled(self);
  await goLog(self, `panic: listen tcp :${port}: bind: ${bindErrorText(errno).toLowerCase()}`);
  return 2;
}

/** @throws Error in the words of Go's os package */
function readFile({ machine: { fs }, cwd }: Self, name: string): Buffer {
  try {
    if (name === "") throw new FsError("ENOENT", name);
    return fs.readFile(resolvePath(cwd, name));
  } catch (error) {
    if (!(error instanceof FsError)) throw error;
    const call = error.code === "EISDIR" ? "read" : "open";
    throw new Error(`${call} ${name}: ${error.text.toLowerCase()}`, { cause: error });
  }
}
