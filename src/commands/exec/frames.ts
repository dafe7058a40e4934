import type { FrameObserver, FrameReport } from "../../streaming/frame-report.js";
import type { FrameFact } from "../../trace/events.js";
import { redactText } from "../../trace/redact.js";
import type { Trace } from "../../trace/trace.js";
import { defined } from "../../util/defined.js";

/** Of a payload, in characters. */
const HEAD_LENGTH = 32;

/**
 * Makes facts of frames.
 * @param hidesInput what is typed at a terminal may be a password, which is not echoed: of stdin only lengths are shown
 */
export function frameObserver(trace: Trace, hidesInput: boolean): FrameObserver {
  const cause = trace.cause;
  return (frame) => {
    const options = defined({ causedBy: cause });
    trace.emit(frameFact(frame, hidesInput), { actor: "user", level: 0, ...options });
  };
}

/** Pure. */
function frameFact(frame: FrameReport, hidesInput: boolean): FrameFact {
  const { direction, framing, type, channel, streamId, length, note } = frame;
  // What carries input without a name (a port-forward's tunnel) is no better known than stdin.
  const isHidden = hidesInput && (channel === "stdin" || channel === undefined);
  const head = length === 0 || isHidden || frame.head.length === 0 ? undefined : printableHead(frame.head);
  return {
    kind: "frame",
    direction,
    framing,
    type,
    length,
    ...defined({ channel, streamId, head, note }),
  };
}

/** What can be printed of some bytes; all else is a dot, as in a hex dump. */
function printableHead(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString("utf8");
  const shown = redactText(text).replace(/[^\x20-\x7e\n\t]/g, ".");
  return shown.length > HEAD_LENGTH ? `${shown.slice(0, HEAD_LENGTH)}...` : shown;
}
