import type { Shell } from "./shell.js";
import type { ShellOption } from "./state.js";
import { quote } from "./syntax/quote.js";

const OPTION_NAMES: Readonly<Record<string, ShellOption>> = {
  errexit: "e",
  nounset: "u",
  xtrace: "x",
  noglob: "f",
  noexec: "n",
  allexport: "a",
  pipefail: "pipefail",
};

/** `set [-e] [-o NAME] [--] [ARG...]` */
export async function setOptions(args: readonly string[], shell: Shell): Promise<number> {
  const { state } = shell;
  if (args.length === 0) {
    for (const [name, { value }] of [...state.variables].sort(([a], [b]) => (a < b ? -1 : 1))) {
      await shell.print(`${name}=${quote(value)}\n`);
    }
    return 0;
  }
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    if (arg === "--") {
      state.setParameters(args.slice(at + 1));
      return 0;
    }
    if (!/^[-+]./.test(arg)) {
      state.setParameters(args.slice(at));
      return 0;
    }
    for (const letter of arg.slice(1)) {
      const option = letter === "o" ? OPTION_NAMES[args[++at] ?? ""] : (letter as ShellOption);
      // Options without effect here (-m, -b, -h, ...) are accepted silently.
      if (option === undefined) continue;
      if (arg.startsWith("-")) state.options.add(option);
      else state.options.delete(option);
    }
  }
  return 0;
}
