import { accessSync, constants } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { makeFolder } from "../../../util/os/files.js";
import { quoted } from "../../../util/text/shell-word.js";
import type { LabSummary } from "../format/library.js";
import type { LabProcess } from "./context.js";

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

/** Whether all programs that a lab needs are installed. */
export function hasPrograms({ needs }: Pick<LabSummary, "needs">, { env }: Pick<LabProcess, "env">): boolean {
  return needs.every((program) => isOnPath(program, env));
}

/**
 * Writes a `kubelab` script for shell lines, and a `kubectl` script if kubectl is missing. @returns the folder for PATH
 */
export async function writePrograms(
  folder: string,
  { self, env }: LabProcess,
  withoutKubectl: boolean,
): Promise<string> {
  const programs = join(folder, ".bin");
  await makeFolder(programs);
  const words = self.map(quoted).join(" ");
  const write = async (name: string, line: string) => {
    await writeFile(join(programs, name), `#!/bin/sh\nexec ${line}\n`);
    await chmod(join(programs, name), 0o755);
  };
  await write("kubelab", `${words} "$@"`);
  if (withoutKubectl || !isOnPath("kubectl", env)) await write("kubectl", `${words} learn kubectl -- "$@"`);
  return programs;
}
