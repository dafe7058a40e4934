import { argumentBytes } from "./argument-bytes.js";
import { lookUp } from "./lookup.js";
import type { Self } from "./process.js";
import { SpawnError } from "./process.js";

/** Limit for nested interpreters, as in Linux. */
const MAX_INTERPRETERS = 4;

/** The parts of a process that execve replaces. */
export type ExecChange = Partial<Pick<Self, "env" | "cwd" | "stdin" | "stdout" | "stderr" | "umask" | "machine">>;

/**
 * Replaces the process's program, as execve does.
 * @returns its exit code
 * @throws SpawnError if the program does not exist; then the process is unchanged
 */
export async function execInPlace(self: Self, argv: readonly string[], change: ExecChange = {}): Promise<number> {
  const env = change.env ?? self.env;
  const cwd = change.cwd ?? self.cwd;
  const machine = change.machine ?? self.machine;
  let words = argv;
  for (let count = 0; count <= MAX_INTERPRETERS; count++) {
    const found = lookUp(machine.fs, words[0] ?? "", cwd, env["PATH"]);
    if (argumentBytes(words, env) === undefined) throw new SpawnError(126, words[0] ?? "", "argument list too long");
    if (found.kind === "program") {
      const program = machine.findProgram(found.program);
      if (program === undefined) throw new SpawnError(126, words[0] ?? "", "exec format error");
      self.become(words, machine, { path: found.path, env });
      self.chdir(cwd);
      return program({ ...self, ...change, argv: words });
    }
    words = [...found.interpreter, found.path, ...words.slice(1)];
  }
  throw new SpawnError(126, argv[0] ?? "", "too many levels of symbolic links");
}
