import { constants, type FileHandle, open } from "node:fs/promises";
import { ContainerState } from "../../cri/messages/enums.js";
import { describeFileError } from "../../util/files.js";
import { getContainerInfoFromAnnotations } from "./labels.js";
import type { ReportedContainer } from "./runtime-service.js";

/** pkg/kubelet/container/runtime.go: what a container writes to its termination message path. */
const MAX_TERMINATION_MESSAGE_BYTES = 4096;
/** ... and what is taken of its log in place of it. */
const MAX_LOG_LINES = 80;
const MAX_LOG_BYTES = 2048;
/** A log line is at most 16 KB: the last 80 lines, or the last 2 KB of text, are in here. */
const LOG_TAIL_BYTES = 256 * 1024;

/** Reads the end of a file. */
export interface TailReader {
  /** @returns undefined: there is no such file. @throws for any other reason */
  readTail(path: string, maxBytes: number): Promise<Buffer | undefined>;
}

/**
 * What a container said last, of itself: the file at its termination message path, or the end of its log where its policy
 * says so and it failed. Empty for one that has not exited.
 *
 * Mirrors getPodContainerStatuses, getTerminationMessage and readLastStringFromContainerLogs in
 * pkg/kubelet/kuberuntime/kuberuntime_container.go. Both files are read where the runtime says they are.
 */
export async function terminationMessage(status: ReportedContainer, files: TailReader): Promise<string> {
  if (status.state !== ContainerState.CONTAINER_EXITED) return "";
  const annotated = getContainerInfoFromAnnotations(status.annotations);
  // What could not even be started has no log.
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
 * @param isCut the first line is not there from its beginning
 */
export function lastOfLog(tail: Buffer, isCut: boolean): string {
  const lines = tail.toString("utf8").split("\n");
  if (isCut) lines.shift();
  // The line behind the last line feed is still being written.
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

/** Files of this machine. Only plain files are read: opening a pipe would wait for its writer. */
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
      if (!stats.isFile()) throw new Error("it is no plain file");
      const length = Math.min(stats.size, maxBytes);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, stats.size - length);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  },
};
