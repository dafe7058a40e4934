import type { Clock } from "../../util/clock.js";

const NS_PER_MS = 1_000_000n;

/**
 * A clock in nanoseconds that never returns the same time twice: the kubelet sorts sandboxes and containers by creation
 * time.
 */
export class NanoTime {
  #last = 0n;

  constructor(readonly clock: Clock) {}

  /** Nanoseconds since 1970. Calls within one millisecond of the clock get consecutive nanoseconds. */
  now(): bigint {
    const now = BigInt(this.clock.now()) * NS_PER_MS;
    this.#last = now > this.#last ? now : this.#last + 1n;
    return this.#last;
  }
}

/** As Go's time.RFC3339Nano in UTC: `2026-01-01T00:00:00.000000001Z`, without trailing zeros of the fraction. */
export function rfc3339Nano(ns: bigint): string {
  const seconds = new Date(Number(ns / 1_000_000_000n) * 1000).toISOString().slice(0, 19);
  const fraction = (ns % 1_000_000_000n).toString().padStart(9, "0").replace(/0+$/, "");
  return fraction === "" ? `${seconds}Z` : `${seconds}.${fraction}Z`;
}
