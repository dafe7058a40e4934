import type { TraceEvent } from "../../events.js";
import type { Lane } from "./lanes.js";

/** One fact, with its place in the picture. */
export interface Step {
  readonly event: TraceEvent;
  readonly bodies: string | undefined;
  /** Unix ms: requests and calls are reported when they end */
  readonly startMs: number;
  readonly lane: Lane;
  /** the other end of an arrow */
  readonly target: Lane | undefined;
}
