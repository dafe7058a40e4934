/** What a command printed, so far or in all. */
export interface CommandResult {
  /** undefined while it runs */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

export type OutputListener = (stream: "stdout" | "stderr", text: string) => void;

/** A command that goes on in the background. */
export interface KeptCommand {
  readonly result: CommandResult;
  /** resolves when it has ended by itself, or by `stop` */
  readonly ended: Promise<CommandResult>;
  /** As Ctrl-C does it; waits for its end. Safe to call twice. */
  stop(): Promise<void>;
}

/**
 * Runs a lab's command lines where the lab is: in its folder, with its cluster. `kubelab`, `kubectl`, `openssl` and the
 * shell mean the same to the learner in another terminal.
 */
export interface CommandRunner {
  run(line: string, onOutput: OutputListener | undefined, signal: AbortSignal): Promise<CommandResult>;
  keep(line: string, onOutput: OutputListener | undefined): KeptCommand;
}

/** Lines that a POSIX shell reads as one plain command: no pipe, no substitution, no redirection, no second command. */
const SHELL_SIGNS = /[|&;<>$`\\*?[\]{}()~#]/;
const ASSIGNMENT = /^\w+=/;

/**
 * The words of a plain command line, quotes taken away.
 * @returns undefined: it needs a shell
 */
export function plainWords(line: string): readonly string[] | undefined {
  if (line.trim().includes("\n") || ASSIGNMENT.test(line.trim())) return undefined;
  const words: string[] = [];
  for (const match of line.trim().matchAll(/(?:'([^']*)'|"([^"$`\\]*)"|([^\s'"]+))(?=\s|$)/g)) {
    const [, single, double, bare] = match;
    if (bare !== undefined && SHELL_SIGNS.test(bare)) return undefined;
    words.push(single ?? double ?? bare ?? "");
  }
  // Something between the words was not understood: a quote in the middle of a word, an escape.
  const understood = line
    .trim()
    .match(/(?:'[^']*'|"[^"$`\\]*"|[^\s'"]+)(?=\s|$)/g)
    ?.join(" ");
  return understood === line.trim().replace(/\s+/g, " ") || understood === line.trim() ? words : undefined;
}
