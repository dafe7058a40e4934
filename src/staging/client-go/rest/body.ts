import type { IncomingMessage } from "node:http";
import { LabError } from "../../../util/errors.js";
import { ByteCollector } from "../../../util/os/read-at-most.js";

/**
 * An API server's lists come in pages, so that a response of this size comes from another server. Go's client has no limit.
 * A hundred bytes of memory can come from three bytes of JSON.
 */
const MAX_BODY_BYTES = 32 * 1024 * 1024;
/** Mirrors defaultMaxBytes in k8s.io/apimachinery/pkg/runtime/serializer/streaming/streaming.go (NewDecoder). */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;

/**
 * The whole body of a response: parsed if its header names JSON, otherwise as text.
 * @param budget the body's length is subtracted
 * @throws LabError REFUSED for a body above the limit; Node's error
 */
export async function readBody(
  response: IncomingMessage,
  maxBytes = MAX_BODY_BYTES,
  budget = { leftBytes: maxBytes },
): Promise<unknown> {
  const bytes = await readBytes(response, Math.min(maxBytes, budget.leftBytes));
  budget.leftBytes -= bytes.length;
  const text = bytes.toString("utf8");
  if (text === "" || !isJson(response)) return text;
  try {
    return JSON.parse(text);
  } catch {
    // The text is incomplete, or not JSON despite the header: the caller gets it with the status.
    return text;
  }
}

/** Uses events: iterating over a response, which nearly always is one chunk, would take longer than parsing it. */
function readBytes(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const body = new ByteCollector();
    response.on("data", (chunk: Buffer) => {
      body.push(chunk);
      if (body.length <= maxBytes) return;
      reject(tooLarge("the body of a response", maxBytes));
      response.destroy();
    });
    response.once("end", () => resolve(body.bytes()));
    // The server's end of a broken response is an error; our own destroy() only closes it.
    response.once("error", reject);
    response.once("close", () => reject(Object.assign(new Error("aborted"), { code: "ECONNRESET" })));
  });
}

function tooLarge(what: string, maxBytes: number): LabError {
  const limit = `${Math.floor((maxBytes / 1024 / 1024) * 10) / 10} MiB`;
  return new LabError("REFUSED", `${what} has more than ${limit}`, "Check that the address leads to an API server.");
}

function isJson(response: IncomingMessage): boolean {
  return (response.headers["content-type"] ?? "").includes("json");
}

const LINE_FEED = 10;

/**
 * Yields the lines of a stream with one document per line (a watch). The pieces of an unfinished line are joined once, so
 * that a large object is not copied for each piece.
 * @throws LabError REFUSED for a line above the limit
 */
export async function* readLines(response: IncomingMessage, maxBytes = MAX_EVENT_BYTES): AsyncGenerator<string> {
  let pieces: ByteCollector | undefined;
  const joined = (last: Buffer): string => {
    if (pieces === undefined) return last.toString("utf8");
    pieces.push(last);
    const line = pieces.bytes().toString("utf8");
    pieces = undefined;
    return line;
  };
  for await (const chunk of response) {
    let rest = chunk as Buffer;
    for (let end = rest.indexOf(LINE_FEED); end >= 0; end = rest.indexOf(LINE_FEED)) {
      const line = joined(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      if (line.trim() !== "") yield line;
    }
    if (rest.length === 0) continue;
    pieces ??= new ByteCollector();
    pieces.push(rest);
    if (pieces.length > maxBytes) throw tooLarge("an event of a watch", maxBytes);
  }
  const left = joined(Buffer.alloc(0));
  if (left.trim() !== "") yield left;
}
