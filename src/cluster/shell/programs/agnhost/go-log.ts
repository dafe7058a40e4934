import type { Self } from "../../process/process.js";
import { formatDate } from "../date.js";

/** Writes a line to stderr as Go's `log` package does: `2026/01/31 12:00:00 text`. */
export async function goLog(self: Self, text: string): Promise<void> {
  const when = formatDate(new Date(self.machine.clock.now()), "%Y/%m/%d %H:%M:%S");
  await self.stderr.write(Buffer.from(`${when} ${text}\n`), self.signal);
}

/** Writes a line to stderr as klog does: `I0131 12:00:00.000000       1 file.go:1] text`. */
export async function klog(self: Self, place: string, text: string, severity: "I" | "E" | "F" = "I"): Promise<void> {
  const now = new Date(self.machine.clock.now());
  const micros = `${String(now.getUTCMilliseconds()).padStart(3, "0")}000`;
  const head = `${severity}${formatDate(now, "%m%d %H:%M:%S")}.${micros} ${String(self.pid).padStart(7)} ${place}]`;
  await self.stderr.write(Buffer.from(`${head} ${text}\n`), self.signal);
}
