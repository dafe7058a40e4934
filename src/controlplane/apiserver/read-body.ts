import type { IncomingMessage } from "node:http";
import { statusError } from "../errors.js";

/** Mirrors MaxRequestBodyBytes of k8s.io/apiserver/pkg/server/config.go: etcd's own limit times two. */
export const MAX_BODY_BYTES = 3 * 1024 * 1024;

/**
 * The whole body of a request.
 * @throws StatusError 413 when it is longer than the limit; an Error when the client goes away
 */
export function readBody(request: IncomingMessage, maxBytes = MAX_BODY_BYTES): Promise<Buffer> {
  const declared = request.headers["content-length"];
  if (declared === "0" || (declared === undefined && request.headers["transfer-encoding"] === undefined)) {
    return Promise.resolve(EMPTY);
  }
  if (declared !== undefined && Number(declared) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on("data", (chunk: Buffer) => {
      length += chunk.length;
      if (length > maxBytes) {
        request.removeAllListeners("data");
        request.pause();
        reject(tooLarge(maxBytes));
        return;
      }
      chunks.push(chunk);
    });
    request.once("end", () => resolve(chunks.length === 1 ? (chunks[0] ?? EMPTY) : Buffer.concat(chunks)));
    request.once("error", reject);
    request.once("aborted", () => reject(new Error("the client went away in the middle of its request")));
  });
}

const EMPTY = Buffer.alloc(0);

function tooLarge(maxBytes: number) {
  return statusError(413, "RequestEntityTooLarge", `Request entity too large: limit is ${maxBytes}`);
}
