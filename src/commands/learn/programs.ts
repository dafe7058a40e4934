import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** Whether a shell would find this program. */
export function isOnPath(program: string, env: Readonly<Record<string, string | undefined>>): boolean {
  return (env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
