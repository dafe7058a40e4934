import { describeFileError } from "../os/files.js";
import type { Message } from "./message-error.js";

/** The localized reason why a file or folder cannot be read or written. */
export function fileErrorMessage(error: unknown): Message {
  const code = (error as { readonly code?: unknown } | null)?.code;
  switch (code) {
    case "ENOENT":
      return ["fileMissing"];
    case "EACCES":
    case "EPERM":
      return ["fileDenied"];
    case "ENOTDIR":
      return ["fileNoFolder"];
    case "EISDIR":
      return ["fileIsFolder"];
    case "ENOSPC":
      return ["fileNoSpace"];
    case "EROFS":
      return ["fileReadOnly"];
    default:
      return ["fileOther", { detail: describeFileError(error) }];
  }
}
