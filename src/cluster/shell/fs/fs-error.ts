import { messageOf } from "../../../util/errors.js";

const TEXTS = {
  ENOENT: "no such file or directory",
  ENOTDIR: "not a directory",
  EISDIR: "is a directory",
  EEXIST: "file exists",
  ENOTEMPTY: "directory not empty",
  EROFS: "read-only file system",
  EACCES: "permission denied",
  EPERM: "operation not permitted",
  ELOOP: "too many levels of symbolic links",
  EINVAL: "invalid argument",
  ENOSPC: "no space left on device",
  EXDEV: "cross-device link",
  EBUSY: "device or resource busy",
  EIO: "input/output error",
  ENAMETOOLONG: "file name too long",
} as const;

export type FsErrorCode = keyof typeof TEXTS;

/** A failed file operation, with the error of the system call. */
export class FsError extends Error {
  override readonly name = "FsError";
  constructor(
    readonly code: FsErrorCode,
    readonly path: string,
    options?: { cause?: unknown },
  ) {
    super(`${code}: ${TEXTS[code]}, '${path}'`, options);
  }

  /** `No such file or directory`, as programs print it */
  get text(): string {
    const text = TEXTS[this.code];
    return text.charAt(0).toUpperCase() + text.slice(1);
  }
}

/** An error of the machine's file system, as the container sees it. Errors of another origin stay. */
export function fromHost(error: unknown, path: string): unknown {
  const code = (error as { code?: unknown } | null)?.code;
  if (error instanceof FsError || typeof code !== "string") return error;
  const known = code in TEXTS ? (code as FsErrorCode) : undefined;
  return new FsError(known ?? "EIO", path, { cause: error });
}

/** The text of any error: `No such file or directory`. */
export function errorText(error: unknown): string {
  return error instanceof FsError ? error.text : messageOf(error);
}

/** Why a program ends: an error that it does not handle. Only writes find the disk full. */
export function failureText(error: unknown): string {
  const text = errorText(error);
  return error instanceof FsError && error.code === "ENOSPC" ? `write error: ${text}` : text;
}
