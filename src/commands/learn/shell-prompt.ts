import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { LabPlace } from "../../lab/labs/environment/environment.js";
import { runningFile } from "../../lab/labs/environment/orphaned-processes.js";
import { promptFile } from "../../lab/labs/session/shell-files.js";
import { quoted } from "../../util/text/shell-word.js";

interface ShellStart {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Records the last program in the background, which the lab ends with its folder. */
const RECORD = (running: string) => `[ -n "$!" ] && echo "$!" >> ${running}`;

/** Runs before each prompt and writes it anew. For bash and zsh. */
const SHOW_STATE = (file: string, running: string) => `_kubelab_prompt() {
  ${RECORD(running)}
  PS1="$(cat ${file} 2>/dev/null) $ "
}
`;

/**
 * Makes a shell read its user's settings and then prompt with a lab's step and whether it is done (`pleg 7/10 ○ $`), because a user's
 * prompt with the lab's folder is half a line: bash, zsh and POSIX shells. Others start as they are.
 */
export async function shellPrompt(
  shell: string,
  place: LabPlace,
  env: Readonly<Record<string, string | undefined>>,
): Promise<ShellStart> {
  const { programs } = place;
  const file = quoted(promptFile(place));
  const running = quoted(runningFile(place.folder));
  const write = async (name: string, text: string) => {
    await writeFile(join(programs, name), text);
    return join(programs, name);
  };
  // The user's settings can put other folders first.
  const path = `PATH=${quoted(programs)}:"$PATH"\n`;
  switch (basename(shell)) {
    case "bash": {
      const own = "[ -r ~/.bashrc ] && . ~/.bashrc\n";
      const hook = `PROMPT_COMMAND="$PROMPT_COMMAND"$'\\n'_kubelab_prompt\n`;
      return { args: ["--rcfile", await write(".bashrc", own + path + SHOW_STATE(file, running) + hook)], env: {} };
    }
    case "zsh": {
      const own = `_kubelab_folder=$ZDOTDIR\nZDOTDIR=${quoted(env["ZDOTDIR"] ?? env["HOME"] ?? "")}\n`;
      const user = (name: string) => `[ -r "$ZDOTDIR/${name}" ] && . "$ZDOTDIR/${name}"\n`;
      await write(".zshenv", `${own}${user(".zshenv")}_kubelab_own=$ZDOTDIR\nZDOTDIR=$_kubelab_folder\n`);
      const hook = "precmd_functions+=(_kubelab_prompt)\n";
      await write(".zshrc", `ZDOTDIR=$_kubelab_own\n${user(".zshrc")}${path}${SHOW_STATE(file, running)}${hook}`);
      return { args: [], env: { ZDOTDIR: programs } };
    }
    case "sh":
    case "dash":
    case "ash":
    case "ksh": {
      const { ENV } = env;
      const own = ENV === undefined ? "" : `[ -r ${quoted(ENV)} ] && . ${quoted(ENV)}\n`;
      const prompt = `PS1=${quoted(`$(${RECORD(running)}; cat ${file} 2>/dev/null) $ `)}\n`;
      return { args: [], env: { ENV: await write(".shrc", own + path + prompt) } };
    }
    default:
      return { args: [], env: {} };
  }
}
