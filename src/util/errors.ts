/** Every failure that a learner can act on, with the exit code it ends the process with. */
export const LAB_ERRORS = {
  /** The command line is wrong: a flag, an argument, a combination. */
  USAGE: { exitCode: 2 },
  /** What was asked for did not happen in time; a rerun goes on where this run stopped. */
  TIMED_OUT: { exitCode: 1 },
  /** What was asked for failed, without anybody refusing it. */
  FAILED: { exitCode: 1 },
  /** A file or folder of the learner's cannot be read, written or understood. */
  BAD_FILE: { exitCode: 2 },
  /** No connection: refused, reset, no such host, no answer. */
  CLUSTER_UNREACHABLE: { exitCode: 3 },
  /** Somebody answers, but not as the API server that was asked for: no TLS, another CA, a wrong CA hash, a bad clock. */
  CLUSTER_NOT_TRUSTED: { exitCode: 3 },
  /** The cluster does not know who is asking (401). */
  UNAUTHORIZED: { exitCode: 4 },
  /** The cluster knows who is asking and says no (403). */
  FORBIDDEN: { exitCode: 4 },
  /** The API server understood and refused for another reason (409, 422, ...). */
  REFUSED: { exitCode: 4 },
  /** No container runtime answers at the endpoint, or it is too old to be talked to. */
  RUNTIME_UNREACHABLE: { exitCode: 3 },
  /** The container runtime answered a call with an error. */
  RUNTIME_FAILED: { exitCode: 1 },
  /** The person at the terminal answered No; nothing was changed. */
  DECLINED: { exitCode: 1 },
  CSR_DENIED: { exitCode: 4 },
  CSR_FAILED: { exitCode: 4 },
} as const;

export type LabErrorCode = keyof typeof LAB_ERRORS;

/** A failure the learner can act on. Anything else that is thrown counts as our bug (exit 70, with its stack). */
export class LabError extends Error {
  override readonly name = "LabError";

  /**
   * @param message what happened, with the object's name: `CSR csr-abc12 was denied`
   * @param hint what to do next: one sentence, or a command to paste
   * @param options.cause the original error, never flattened into the message
   */
  constructor(
    readonly code: LabErrorCode,
    message: string,
    readonly hint: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }

  get exitCode(): number {
    return LAB_ERRORS[this.code].exitCode;
  }
}

/** True for what an aborted signal makes a wait reject with. */
export function isAbortError(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || (error as { code?: unknown }).code === "ABORT_ERR");
}

/**
 * True for what only a mistake in this code throws: nothing that came from outside may end in one. A loop that goes on
 * after failures must not go on after these, or they hide among them.
 */
export function isOwnBug(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof ReferenceError) return true;
  return error instanceof Error && (error as { code?: unknown }).code === "ERR_ASSERTION";
}

/** Never reached when a union was handled completely; tsc checks it at the call. */
export function assertNever(value: never): never {
  throw new Error(`unexpected ${JSON.stringify(value)}`);
}
