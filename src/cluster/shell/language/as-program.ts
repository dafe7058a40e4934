import type { Self } from "../process/process.js";
import { usageOf } from "../synopses.js";
import { BUILTINS } from "./builtins.js";
import { Interpreter } from "./interpreter.js";
import { ShellState } from "./state.js";
import { loadLanguage } from "./syntax/language.js";

/** Runs a builtin of the shell as a program of the same name: `/bin/test -f x` as a probe's command. */
export async function runBuiltinProgram(self: Self): Promise<number> {
  const state = new ShellState();
  state.holdIn(self.memory);
  state.name = self.argv[0]?.split("/").at(-1) ?? "";
  state.cwd = self.cwd;
  state.umask = self.umask;
  state.descriptors.set(0, { source: self.stdin });
  state.descriptors.set(1, { sink: self.stdout });
  state.descriptors.set(2, { sink: self.stderr });
  const shell = new Interpreter(self, state, await loadLanguage());
  const builtin = BUILTINS[state.name];
  const usage = usageOf(state.name);
  if (usage !== undefined && self.argv.length === 1) {
    await shell.print(usage.text, 2);
    return usage.code;
  }
  if (builtin === undefined) return 127;
  return shell.toTheEnd(() => builtin(self.argv.slice(1), shell));
}
