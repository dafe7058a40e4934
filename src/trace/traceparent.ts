import { randomBytes } from "node:crypto";

/** The header, and gRPC metadata key, that carries a fact's id to a server. Servers that do not trace ignore it. */
export const TRACEPARENT = "traceparent";

const traceId = randomBytes(16).toString("hex");

/**
 * The id of a fact as a W3C Trace Context header; the fact is the parent of what the server does. The trace ID is this process's:
 * kubelab finds facts by their ids alone.
 */
export function formatTraceparent(id: string): string {
  return `00-${traceId}-${id}-01`;
}

/** @returns the id of the client's fact; undefined for a header that is absent or malformed */
export function parseTraceparent(header: unknown): string | undefined {
  if (typeof header !== "string" || header.length > 200) return undefined;
  const id = /^[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/.exec(header)?.[1];
  return id === "0".repeat(16) ? undefined : id;
}
