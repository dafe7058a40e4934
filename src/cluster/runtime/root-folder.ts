import { join } from "node:path";
import { LabError } from "../../util/errors.js";
import { describeFileError, makeFolder } from "../../util/os/files.js";
import { socketPathProblem } from "../../util/os/paths.js";

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

/** The path of the socket of the pods' network. @throws LabError USAGE if no socket can have it */
export function networkSocketIn(rootDir: string): string {
  const path = join(rootDir, "network.sock");
  const problem = socketPathProblem(path);
  if (problem !== undefined)
    throw new LabError("USAGE", `${problem}: ${path}`, "Name a shorter folder with --root-dir.");
  return path;
}
