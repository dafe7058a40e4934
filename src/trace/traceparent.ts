import { randomBytes } from "node:crypto";

/** The header, and gRPC metadata key, that carries a fact's id to a server. Servers that do not trace ignore it. */
export const TRACEPARENT = "traceparent";

/** Every trace ID of kubelab begins with it, so that a server can distinguish kubelab's facts from the spans of other programs. */
const OWN_PREFIX = Buffer.from("kubelab").toString("hex");

const traceId = OWN_PREFIX + randomBytes(16 - OWN_PREFIX.length / 2).toString("hex");

/**
 * The id of a fact as a W3C Trace Context header; the fact is the parent of what the server does. The trace ID is this process's:
 * kubelab finds facts by their ids alone.
 */
export function formatTraceparent(id: string): string {
  return `00-${traceId}-${id}-01`;
}

/** @returns the id of the client's fact; undefined for a header that is absent, malformed, or of a program with spans of its own */
export function parseTraceparent(header: unknown): string | undefined {
  if (typeof header !== "string" || header.length > 200) return undefined;
  const [, trace, id] = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/.exec(header) ?? [];
  return trace?.startsWith(OWN_PREFIX) === true && id !== "0".repeat(16) ? id : undefined;
}
