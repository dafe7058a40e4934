import { type ExitStatus, exitCodeOf, type Process } from "../process/process.js";
import { SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGSEGV, SIGTERM } from "../process/signals.js";
import type { Terminal } from "../process/terminal.js";
import { Interrupted } from "./state.js";

/** The shell's message for a command that a signal has ended. SIGINT and SIGPIPE have none. */
const ENDINGS: Readonly<Record<number, string>> = {
  [SIGHUP]: "Hangup",
  [SIGQUIT]: "Quit",
  [SIGKILL]: "Killed",
  [SIGSEGV]: "Segmentation fault",
  [SIGTERM]: "Terminated",
};

/**
 * Decides which process group has the terminal. Mirrors ash's job control (busybox shell/ash.c: setjobctl, waitforjob),
 * without stopped jobs.
 */
export class JobControl {
  constructor(
    readonly terminal: Terminal,
    /** the shell's own process group */
    readonly group: number,
    readonly print: (text: string) => Promise<void>,
  ) {}

  /**
   * Gives a command the terminal until it has ended.
   * @returns the exit codes
   * @throws Interrupted if ^C has ended it: then the shell skips the rest of the line
   */
  async waitFor(children: readonly Process[]): Promise<readonly number[]> {
    const ends: ExitStatus[] = [];
    this.terminal.foreground = children[0]?.group ?? this.group;
    try {
      for (const child of children) ends.push(await child.exited);
    } finally {
      this.terminal.foreground = this.group;
    }
    const last = ends.at(-1);
    if (last?.kind === "signaled" && last.signal === SIGINT) throw new Interrupted("interrupted");
    if (last?.kind === "signaled" && last.signal !== SIGPIPE)
      await this.print(`${ENDINGS[last.signal] ?? `Signal ${last.signal}`}\n`);
    return ends.map(exitCodeOf);
  }
}
