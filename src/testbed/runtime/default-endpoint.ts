import { dirname, join } from "node:path";
import { LabError } from "../../util/errors.js";
import { describeFileError, makeFolder } from "../../util/os/files.js";
import { stateFolder } from "../target/state-folder.js";

/**
 * Returns the endpoint of a runtime that has no `--listen`, and makes the folder of its socket.
 * @returns `unix://` and `runtime.sock` in the state folder
 * @throws LabError BAD_FILE
 */
export async function openDefaultEndpoint(env: Readonly<Record<string, string | undefined>>): Promise<string> {
  const socket = join(stateFolder(env), "runtime.sock");
  const folder = dirname(socket);
  try {
    await makeFolder(folder, 0o700);
  } catch (cause) {
    const hint = "Name another with XDG_STATE_HOME, or an endpoint with --listen.";
    throw new LabError("BAD_FILE", `cannot make the folder ${folder}: ${describeFileError(cause)}`, hint, { cause });
  }
  return `unix://${socket}`;
}
