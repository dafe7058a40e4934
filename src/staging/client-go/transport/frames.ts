import type { FrameFact } from "../../../trace/events.js";
import type { Secrets } from "../../../trace/redaction/secrets.js";
import type { Trace } from "../../../trace/trace.js";
import { defined } from "../../../util/defined.js";
import type { FrameObserver, FrameReport } from "../../streaming/frame-report.js";

/** The shown part of a payload, in characters. */
const HEAD_LENGTH = 32;

/**
 * Reports frames as facts.
 * @param hidesInput shows only the lengths of stdin frames, because input typed at a terminal may be a password
 */
export function frameObserver(trace: Trace, hidesInput: boolean): FrameObserver {
  const options = { actor: "user", level: 0, ...defined({ causedBy: trace.cause }) } as const;
  return (frame) => void trace.emit(frameFact(frame, hidesInput, trace.secrets), options);
}

/** Pure. */
function frameFact(report: FrameReport, hidesInput: boolean, secrets: Secrets): FrameFact {
  const { head: bytes, channel, ...frame } = report;
  // A frame without a channel may carry input too.
  const isHidden = hidesInput && (channel === "stdin" || channel === undefined);
  const head = frame.length === 0 || isHidden || bytes.length === 0 ? undefined : printableHead(bytes, secrets);
  return { kind: "frame", ...frame, ...defined({ channel, head }) };
}

/** Shows unprintable characters as dots, as a hex dump does. Masks secrets before it cuts. */
function printableHead(bytes: Uint8Array, secrets: Secrets): string {
  const text = Buffer.from(bytes).toString("utf8");
  const shown = secrets.mask(text).replace(/[^\x20-\x7e\n\t]/g, ".");
  return shown.length > HEAD_LENGTH ? `${shown.slice(0, HEAD_LENGTH)}...` : shown;
}
