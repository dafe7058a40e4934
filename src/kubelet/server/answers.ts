import type { ServerResponse } from "node:http";
import { messageOf } from "../../util/errors.js";
import { RuntimeCallError } from "../kuberuntime/kube-runtime.js";

/** As go-restful's Response.WriteErrorString: the text without changes. */
export function writeText(response: ServerResponse, status: number, text: string): void {
  write(response, status, text, { "Content-Type": "text/plain; charset=utf-8" });
}

/** As Go's http.Error: the text and a line feed. */
export function httpError(response: ServerResponse, status: number, text: string): void {
  const headers = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" };
  write(response, status, `${text}\n`, headers);
}

/** As writeJSONResponse in pkg/kubelet/server/server.go: sends the bytes without checking them. */
export function writeJson(response: ServerResponse, body: string | Uint8Array): void {
  write(response, 200, body, { "Content-Type": "application/json" });
}

function write(
  response: ServerResponse,
  status: number,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>>,
): void {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  response.writeHead(status, { ...headers, "Content-Length": String(bytes.byteLength) });
  response.end(bytes);
}

/** How long a stream's URL is valid at the runtime: after this time an overloaded runtime has room again. */
const RETRY_AFTER_SECONDS = "60";

/**
 * The HTTP status for the runtime's refusal of a stream.
 *
 * Mirrors pkg/kubelet/cri/streaming/errors.go (WriteError).
 */
export function writeStreamError(response: ServerResponse, error: unknown): void {
  const text = messageOf(error);
  const code = error instanceof RuntimeCallError ? error.failure.code : "Unknown";
  if (code === "ResourceExhausted") response.setHeader("Retry-After", RETRY_AFTER_SECONDS);
  writeText(response, code === "NotFound" ? 404 : code === "ResourceExhausted" ? 429 : 500, text);
}
