import type { Status } from "../../apimachinery/api/meta.js";
import { exitCodeOf } from "../../streaming/remote-command/status-text.js";

/** How a remote command ended. Mirrors CodeExitError in k8s.io/client-go/util/exec/exec.go. */
export interface RemoteEnd {
  /** for the local process */
  readonly exitCode: number;
  /** for the trace */
  readonly text: string;
  /** the servers' message, if the command did not run or its end is unknown */
  readonly problem?: string;
}

/** A shell's exit codes for a program that does not exist, and for one that it cannot execute. */
const EXIT_NOT_FOUND = 127;
const EXIT_NOT_EXECUTABLE = 126;
const EXIT_FAILED = 1;

const NOT_FOUND = /executable file not found|no such file or directory/;
const NOT_EXECUTABLE = /permission denied|exec format error|is a directory/;

/**
 * Finds the exit code for a Status.
 *
 * Mirrors client-go/tools/remotecommand/v4.go (errorDecoderV4).
 * Differs: a runtime that cannot start the command sends no exit code. kubectl then exits with 1; kubelab exits with 127 or
 * 126, like a shell, if the runtime's message gives the reason.
 */
export function remoteEnd(status: Status): RemoteEnd {
  const exitCode = exitCodeOf(status);
  if (exitCode !== undefined) return { exitCode, text: `exit code ${exitCode}` };
  const problem = status.message ?? status.reason ?? "the command failed without a message";
  const guessed = NOT_FOUND.test(problem)
    ? EXIT_NOT_FOUND
    : NOT_EXECUTABLE.test(problem)
      ? EXIT_NOT_EXECUTABLE
      : EXIT_FAILED;
  return { exitCode: guessed, text: `no exit code (a shell would use ${guessed})`, problem };
}
