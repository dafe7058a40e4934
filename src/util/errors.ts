/** Every failure that a learner can act on, with the exit code it ends the process with. */
export const LAB_ERRORS = {
  /** The command line is wrong: a flag, an argument, a combination. */
  USAGE: { exitCode: 2 },
  /** Something did not happen in time; a rerun continues where this run stopped. */
  TIMED_OUT: { exitCode: 1 },
  /** The action failed, although nothing refused it. */
  FAILED: { exitCode: 1 },
  /** A file or folder of the learner cannot be read, written or parsed. */
  BAD_FILE: { exitCode: 2 },
  /** No connection: refused, reset, no such host, timeout. */
  CLUSTER_UNREACHABLE: { exitCode: 3 },
  /** Something answers, but not the expected API server: no TLS, another CA, a wrong CA hash, a wrong clock. */
  CLUSTER_NOT_TRUSTED: { exitCode: 3 },
  /** The cluster does not recognise the credentials (401). */
  UNAUTHORIZED: { exitCode: 4 },
  /** The cluster recognises the user and denies the request (403). */
  FORBIDDEN: { exitCode: 4 },
  /** The API server refused the request for another reason (409, 422, ...). */
  REFUSED: { exitCode: 4 },
  /** No container runtime answers at the endpoint, or its API is too old. */
  RUNTIME_UNREACHABLE: { exitCode: 3 },
  /** The container runtime answered a call with an error. */
  RUNTIME_FAILED: { exitCode: 1 },
  /** The person at the terminal answered No; nothing changed. */
  DECLINED: { exitCode: 1 },
  CSR_DENIED: { exitCode: 4 },
  CSR_FAILED: { exitCode: 4 },
} as const;

export type LabErrorCode = keyof typeof LAB_ERRORS;

/** A failure that the learner can act on. Anything else that is thrown counts as our bug (exit 70, with its stack). */
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

/** The message of an error; anything else that was thrown as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether `error` comes from a wait whose signal aborted. */
export function isAbortError(error: unknown): boolean {
  return error instanceof Error && (error.name === "AbortError" || (error as { code?: unknown }).code === "ABORT_ERR");
}

/**
 * Whether `error` can only come from a mistake in this code; bad input never causes one. A loop that retries after
 * failures must rethrow these, or they stay hidden.
 */
export function isOwnBug(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof ReferenceError) return true;
  return error instanceof Error && (error as { code?: unknown }).code === "ERR_ASSERTION";
}

/** The error for a process that cannot open more files; undefined for other errors. */
export function openFilesError(error: unknown): LabError | undefined {
  if (!/^(EMFILE|ENFILE)\b/.test(String((error as { code?: unknown } | null)?.code ?? messageOf(error))))
    return undefined;
  const hint = "Raise the limit, for example with `ulimit -n 1024`, and run the command again.";
  return new LabError("FAILED", "this process cannot open more files", hint, { cause: error });
}

/** Unreachable if a union was handled completely; tsc checks it at the call. */
export function assertNever(value: never): never {
  throw new Error(`unexpected ${JSON.stringify(value)}`);
}
