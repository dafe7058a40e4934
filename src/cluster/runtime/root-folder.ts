import { join } from "node:path";
import { LabError } from "../../util/errors.js";
import { describeFileError, makeFolder } from "../../util/os/files.js";

/** Creates the folder for a runtime's files. @throws LabError BAD_FILE */
export async function makeRoot(rootDir: string): Promise<void> {
  try {
    await makeFolder(rootDir);
  } catch (cause) {
    const why = describeFileError(cause);
    throw new LabError("BAD_FILE", `cannot make the folder ${rootDir}: ${why}`, "Name another with --root-dir.", {
      cause,
    });
  }
}

/** The path of the socket of the pods' network. */
export function networkSocketIn(rootDir: string): string {
  return join(rootDir, "network.sock");
}
