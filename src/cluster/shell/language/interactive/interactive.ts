import { SIGINT } from "../../process/signals.js";
import type { Terminal } from "../../process/terminal.js";
import { JobControl } from "../job-control.js";
import type { Shell } from "../shell.js";
import { Interrupted } from "../state.js";
import type { ShellLanguage } from "../syntax/language.js";
import { complete } from "./completion.js";
import { History } from "./history.js";
import { LineEditor } from "./line-editor.js";

/**
 * Reads commands from a terminal until end of input, and runs each one, with a prompt, a line editor, and ^C that ends
 * the command but not the shell. Mirrors busybox's shell/ash.c (cmdloop) with FEATURE_EDITING.
 * @param runChunk runs complete commands and reports errors
 */
export async function runInteractive(
  shell: Shell,
  terminal: Terminal,
  language: ShellLanguage,
  runChunk: (text: string) => Promise<void>,
): Promise<number> {
  const { state, signal } = shell;
  const own = [...shell.self.machine.own].find(({ pid }) => pid === shell.self.pid);
  const group = own?.group ?? shell.self.pid;
  shell.jobControl = new JobControl(terminal, group, (text) => shell.print(text, 2));
  shell.traps.becomeInteractive();
  const history = new History();
  const editor = new LineEditor({ terminal, history, complete: (before) => complete(before, state, shell.files) });
  let text = "";
  for (;;) {
    setSize(shell, terminal);
    const line = await editor.readLine(text === "" ? prompt(shell) : (state.get("PS2") ?? "> "), signal);
    if (line.kind === "end") return state.lastStatus;
    if (line.kind === "interrupted") {
      text = "";
      state.lastStatus = 128 + SIGINT;
      continue;
    }
    history.add(line.text);
    text += `${line.text}\n`;
    if (language.isIncomplete(text)) continue;
    const chunk = text;
    text = "";
    try {
      await shell.traps.runPending();
      await runChunk(chunk);
      // A ^C that arrived after the last command had finished does not apply to the next line.
      await shell.traps.runPending();
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      await shell.print("\n", 2);
      state.lastStatus = 128 + SIGINT;
    }
  }
}

/** Differs: ash does not set COLUMNS and LINES; the labs' scripts use them. */
function setSize({ state }: Shell, { size }: Terminal): void {
  if (size.width === 0) return;
  state.set("COLUMNS", String(size.width));
  state.set("LINES", String(size.height));
}

/** PS1; default `\w \$ `: the folder, with `~` for HOME, and `#` for root. */
function prompt({ state, self }: Shell): string {
  const sign = self.machine.user.uid === 0 ? "#" : "$";
  const home = state.get("HOME") ?? "";
  const isHome = home.length > 1 && (state.cwd === home || state.cwd.startsWith(`${home}/`));
  const folder = isHome ? `~${state.cwd.slice(home.length)}` : state.cwd;
  const values: Readonly<Record<string, string>> = {
    w: folder,
    W: folder === "/" ? "/" : (folder.split("/").at(-1) ?? ""),
    $: sign,
    h: self.machine.uts.hostname,
    u: self.machine.user.name,
    "\\": "\\",
  };
  return (state.get("PS1") ?? "\\w \\$ ").replace(/\\([wW$hu\\])/g, (_, letter: string) => values[letter] ?? "");
}
