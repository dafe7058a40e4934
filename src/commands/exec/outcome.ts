import type { Status } from "../../apimachinery/api/meta.js";
import { exitCodeOf } from "../../streaming/remote-command/status-text.js";

/** How a remote command ended, as the process of the learner ends. */
export interface RemoteEnd {
  readonly exitCode: number;
  /** in words, for the trace */
  readonly text: string;
  /** what the servers said about a command that did not run, or whose end is not known */
  readonly problem?: string;
  /** what to do about it */
  readonly hint?: string;
}

/** What shells make of a program that is not there, and of one that is no program. */
const EXIT_NOT_FOUND = 127;
const EXIT_NOT_EXECUTABLE = 126;
const EXIT_FAILED = 1;

const NOT_FOUND = /executable file not found|no such file or directory/;
const NOT_EXECUTABLE = /permission denied|exec format error|is a directory/;

/**
 * Reads a Status as a shell reads the end of a program.
 *
 * Mirrors client-go/tools/remotecommand/v4.go (errorDecoderV4).
 * Differs: a runtime that cannot start the command gives no exit code, and kubectl ends with 1 then; here it is 127 or 126,
 * as a shell's, where the runtime's words say why.
 */
export function remoteEnd(status: Status): RemoteEnd {
  const exitCode = exitCodeOf(status);
  if (exitCode !== undefined) return { exitCode, text: `exit code ${exitCode}` };
  const problem = status.message ?? status.reason ?? "the command failed, and nobody said why";
  const guessed = NOT_FOUND.test(problem)
    ? EXIT_NOT_FOUND
    : NOT_EXECUTABLE.test(problem)
      ? EXIT_NOT_EXECUTABLE
      : EXIT_FAILED;
  return { exitCode: guessed, text: `no exit code (a shell would say ${guessed})`, problem };
}
