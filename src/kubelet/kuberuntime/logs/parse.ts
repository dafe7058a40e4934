import { type LogTime, parseLogTime } from "./log-time.js";

/** One line of a container's log. */
export interface LogMessage {
  readonly time: LogTime;
  readonly stream: "stdout" | "stderr";
  /** with its line feed, unless it is a partial line */
  readonly text: Buffer;
  readonly isPart: boolean;
}

/** A message, or why the line cannot be parsed. */
export type ParsedLine = LogMessage | { readonly problem: string };

/** Parses one line with its line feed, if it has one. Pure. */
export type LineParser = (line: Buffer) => ParsedLine;

const SPACE = 0x20;
const NEWLINE = 0x0a;
const LEFT_BRACE = 0x7b;
const COLON = 0x3a;
const LETTER_P = 0x50;
/** RFC3339NanoLenient in Go's spelling, as its messages quote it. */
const TIME_FORMAT = "2006-01-02T15:04:05.999999999Z07:00";

/**
 * The CRI's format: `2016-10-06T00:17:09.669794202Z stdout P text`. The line feed of a partial line (tag P) belongs to
 * the file, not to the text, so consecutive parts join into the original line.
 *
 * Mirrors pkg/kubelet/kuberuntime/logs/logs.go (parseCRILog).
 */
export function parseCriLog(line: Buffer): ParsedLine {
  const timeEnd = line.indexOf(SPACE);
  if (timeEnd < 0) return { problem: "timestamp is not found" };
  const time = parseLogTime(line.toString("latin1", 0, timeEnd));
  if (time === undefined) return { problem: `unexpected timestamp format ${JSON.stringify(TIME_FORMAT)}` };
  const streamEnd = line.indexOf(SPACE, timeEnd + 1);
  if (streamEnd < 0) return { problem: "stream type is not found" };
  const stream = line.toString("latin1", timeEnd + 1, streamEnd);
  if (!isStream(stream)) return { problem: `unexpected stream type ${JSON.stringify(stream)}` };
  const tagEnd = line.indexOf(SPACE, streamEnd + 1);
  if (tagEnd < 0) return { problem: "log tag is not found" };
  // Later versions may append tags after a colon: only the first tag marks a partial line.
  const behindTag = tagEnd === streamEnd + 2 || line[streamEnd + 2] === COLON;
  const isPart = line[streamEnd + 1] === LETTER_P && behindTag;
  const end = isPart && line[line.length - 1] === NEWLINE ? line.length - 1 : line.length;
  return { time, stream, text: line.subarray(tagEnd + 1, end), isPart };
}

/**
 * Docker's format: `{"log":"text\n","stream":"stdout","time":"2016-10-20T18:39:20.57606443Z"}`.
 *
 * Mirrors pkg/kubelet/kuberuntime/logs/logs.go (parseDockerJSONLog).
 */
export function parseDockerJsonLog(line: Buffer): ParsedLine {
  // A line without a brace is not worth parsing.
  if (line[0] !== LEFT_BRACE) return { problem: "it is not a JSON object" };
  let value: Readonly<Record<string, unknown>>;
  try {
    value = JSON.parse(line.toString("utf8")) as Readonly<Record<string, unknown>>;
  } catch (error) {
    return { problem: `failed with ${(error as Error).message} to unmarshal log` };
  }
  const { log = "", stream = "", time: written = "" } = value;
  const time = typeof written === "string" ? parseLogTime(written) : undefined;
  if (time === undefined) return { problem: "it has no time" };
  if (typeof log !== "string") return { problem: "its log is not a string" };
  if (!isStream(stream)) return { problem: `unexpected stream type ${JSON.stringify(stream)}` };
  return { time, stream, text: Buffer.from(log, "utf8"), isPart: false };
}

function isStream(text: unknown): text is LogMessage["stream"] {
  return text === "stdout" || text === "stderr";
}

/**
 * Detects the format of a log by its first line.
 *
 * Mirrors pkg/kubelet/kuberuntime/logs/logs.go (getParseFunc).
 * @returns undefined for an unknown format
 */
export function parserFor(line: Buffer): LineParser | undefined {
  return [parseCriLog, parseDockerJsonLog].find((parse) => !("problem" in parse(line)));
}
