import { findProgram } from "../programs/table.js";
import { lookUp } from "./lookup.js";
import { SpawnError } from "./machine.js";
import type { Self } from "./process.js";

/** Interpreters of interpreters: Linux gives up as early. */
const MAX_INTERPRETERS = 4;

/** What changes when a process goes on as another program. */
export type ExecChange = Partial<Pick<Self, "env" | "cwd" | "stdin" | "stdout" | "stderr">>;

/**
 * The process goes on as another program, as after execve.
 * @returns its exit code
 * @throws SpawnError when there is no such program; then the process is what it was
 */
export async function execInPlace(self: Self, argv: readonly string[], change: ExecChange = {}): Promise<number> {
  const env = change.env ?? self.env;
  const cwd = change.cwd ?? self.cwd;
  let words = argv;
  for (let count = 0; count <= MAX_INTERPRETERS; count++) {
    const found = lookUp(self.machine.fs, words[0] ?? "", cwd, env["PATH"]);
    if (found.kind === "program") {
      const program = findProgram(found.program);
      if (program === undefined) throw new SpawnError(126, words[0] ?? "", "exec format error");
      self.become(words);
      return program({ ...self, ...change, argv: words });
    }
    words = [...found.interpreter, found.path, ...words.slice(1)];
  }
  throw new SpawnError(126, argv[0] ?? "", "too many levels of symbolic links");
}
