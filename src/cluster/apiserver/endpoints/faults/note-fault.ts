import type { Trace } from "../../../../trace/trace.js";

/** Puts a fault into the trace. @param text begins with `chaos` */
export function noteFault(trace: Trace, text: string): void {
  trace.emit({ kind: "note", text }, { actor: "apiserver", level: 1 });
}
