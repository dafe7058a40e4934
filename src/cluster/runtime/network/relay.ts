import type { Duplex } from "node:stream";

/**
 * Copies bytes in both directions. Each direction ends by itself, because a TCP client that has sent everything can still
 * wait for its answer. If one side breaks, the other one is closed.
 */
export function relay(a: Duplex, b: Duplex): void {
  a.pipe(b);
  b.pipe(a);
  closeWith(a, b);
  closeWith(b, a);
}

function closeWith(closing: Duplex, other: Duplex): void {
  closing.on("error", () => closing.destroy());
  closing.once("close", () => {
    // Bytes that it sent before still reach the other side.
    if (closing.readableEnded && !other.writableFinished) other.once("finish", () => other.destroy());
    else other.destroy();
  });
}
