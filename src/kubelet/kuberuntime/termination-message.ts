import { constants, type FileHandle, open } from "node:fs/promises";
import { ContainerState } from "../../staging/cri/messages/enums.js";
import { describeFileError } from "../../util/os/files.js";
import { getContainerInfoFromAnnotations } from "./labels.js";
import type { ReportedContainer } from "./runtime-service.js";

/** pkg/kubelet/container/runtime.go: the limit of a termination message in a file. */
const MAX_TERMINATION_MESSAGE_BYTES = 4096;
/** ... and the limits of one taken from the log. */
const MAX_LOG_LINES = 80;
const MAX_LOG_BYTES = 2048;
/** A log line has at most 16 KB, so this holds the last 80 lines or the last 2 KB of text. */
const LOG_TAIL_BYTES = 256 * 1024;

/** Reads the end of a file. */
export interface TailReader {
  /** @returns undefined: the file does not exist. @throws for any other reason */
  readTail(path: string, maxBytes: number): Promise<Buffer | undefined>;
}

/**
 * A container's termination message: the file at its termination message path, or the end of its log if its policy
 * allows that and it failed. Empty for a container that has not exited.
 *
 * Mirrors getPodContainerStatuses, getTerminationMessage and readLastStringFromContainerLogs in
 * pkg/kubelet/kuberuntime/kuberuntime_container.go. Both files are read at the paths that the runtime reports.
 */
export async function terminationMessage(status: ReportedContainer, files: TailReader): Promise<string> {
  if (status.state !== ContainerState.CONTAINER_EXITED) return "";
  const annotated = getContainerInfoFromAnnotations(status.annotations);
  // A container that never started has no log.
  const mayUseLog =
    annotated.terminationMessagePolicy === "FallbackToLogsOnError" &&
    status.exitCode !== 0 &&
    status.reason !== "ContainerCannotRun";
  const written = await readMessageFile(status, annotated.terminationMessagePath, files);
  return written === "" && mayUseLog ? readLastOfLog(status.logPath, files) : written;
}

async function readMessageFile(status: ReportedContainer, path: string, files: TailReader): Promise<string> {
  if (path === "") return "";
  const mount = status.mounts.find(({ containerPath }) => containerPath === (path.startsWith("/") ? path : `/${path}`));
  if (mount === undefined) return "";
  try {
    return (await files.readTail(mount.hostPath, MAX_TERMINATION_MESSAGE_BYTES))?.toString("utf8") ?? "";
  } catch (error) {
    return `Error on reading termination log ${mount.hostPath}: ${describeFileError(error)}`;
  }
}

async function readLastOfLog(path: string, files: TailReader): Promise<string> {
  try {
    const tail = await files.readTail(path, LOG_TAIL_BYTES);
    if (tail === undefined) return `Error on reading termination message from logs: no such file or folder`;
    return lastOfLog(tail, tail.length === LOG_TAIL_BYTES);
  } catch (error) {
    return `Error on reading termination message from logs: ${describeFileError(error)}`;
  }
}

/**
 * The text of the last lines of a log in the CRI's format (`time stream tags text`). Pure.
 * @param isCut the first line is incomplete
 */
export function lastOfLog(tail: Buffer, isCut: boolean): string {
  const lines = tail.toString("utf8").split("\n");
  if (isCut) lines.shift();
  // The text after the last line feed is still being written.
  lines.pop();
  const text = lines.slice(-MAX_LOG_LINES).map(textOfLogLine).join("");
  const bytes = Buffer.from(text);
  return bytes.length <= MAX_LOG_BYTES ? text : bytes.subarray(bytes.length - MAX_LOG_BYTES).toString("utf8");
}

/** A part of a longer line (tag P) has no line feed of its own. */
function textOfLogLine(line: string): string {
  const match = /^\S+ (?:stdout|stderr) (\S+) ?(.*)$/s.exec(line);
  if (match === null) return "";
  const isPart = (match[1] ?? "").split(":")[0] === "P";
  return `${match[2] ?? ""}${isPart ? "" : "\n"}`;
}

/** Reads files of this machine. Only regular files: opening a pipe would wait for its writer. */
export const localFiles: TailReader = {
  async readTail(path: string, maxBytes: number): Promise<Buffer | undefined> {
    let file: FileHandle;
    try {
      file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      if ((error as { code?: unknown }).code === "ENOENT") return undefined;
      throw error;
    }
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new Error("it is not a regular file");
      const length = Math.min(stats.size, maxBytes);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, stats.size - length);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  },
};
