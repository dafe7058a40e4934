import { STATUS_CODES } from "node:http";
import { pid } from "node:process";
import type { TraceSink } from "../../trace/trace.js";

/**
 * Prints each request as kubectl does with `-v=6` and higher.
 * Mirrors k8s.io/client-go/transport/round_trippers.go (debuggingRoundTripper).
 */
export function requestLines(print: (line: string) => void): TraceSink {
  return {
    level: 2,
    write: (event) => {
      if (event.kind !== "request") return;
      const { method, server, path, status, durationMs, failure } = event;
      const answer = status === undefined ? failure : `${status} ${STATUS_CODES[status] ?? ""}`;
      const at = `I${klogTime(event.atMs)} ${String(pid).padStart(7)} round_trippers.go:553]`;
      print(`${at} ${method} ${server}${path} ${answer} in ${Math.round(durationMs)} milliseconds`);
    },
  };
}

/** `1127 17:07:15.704452`: month, day and time. */
function klogTime(ms: number): string {
  const [date = "", time = ""] = new Date(ms).toISOString().split("T");
  return `${date.slice(5).replace("-", "")} ${time.slice(0, -1)}000`;
}
