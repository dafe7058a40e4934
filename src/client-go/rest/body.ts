import type { IncomingMessage } from "node:http";

/** The whole body of a response: parsed if its header names JSON, otherwise as text. */
export async function readBody(response: IncomingMessage): Promise<unknown> {
  const chunks = await readChunks(response);
  const text = (chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))?.toString("utf8") ?? "";
  if (text === "" || !isJson(response)) return text;
  try {
    return JSON.parse(text);
  } catch {
    // Incomplete, or not JSON in spite of the header: the caller gets the text and the status.
    return text;
  }
}

/** Uses events: iterating over a response, which nearly always is one chunk, would take longer than parsing it. */
function readChunks(response: IncomingMessage): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.once("end", () => resolve(chunks));
    // The server's end of a broken response is an error; our own destroy() only closes it.
    response.once("error", reject);
    response.once("close", () => reject(Object.assign(new Error("aborted"), { code: "ECONNRESET" })));
  });
}

function isJson(response: IncomingMessage): boolean {
  return (response.headers["content-type"] ?? "").includes("json");
}

const LINE_FEED = 10;

/**
 * Yields the lines of a stream with one document per line (a watch). The pieces of an unfinished line are joined once, so
 * that a large object is not copied for each piece.
 */
export async function* readLines(response: IncomingMessage): AsyncGenerator<string> {
  let pieces: Buffer[] = [];
  for await (const chunk of response) {
    let rest = chunk as Buffer;
    for (let end = rest.indexOf(LINE_FEED); end >= 0; end = rest.indexOf(LINE_FEED)) {
      const last = rest.subarray(0, end);
      const line = (pieces.length === 0 ? last : Buffer.concat([...pieces, last])).toString("utf8");
      pieces = [];
      rest = rest.subarray(end + 1);
      if (line.trim() !== "") yield line;
    }
    if (rest.length > 0) pieces.push(rest);
  }
  const left = Buffer.concat(pieces).toString("utf8");
  if (left.trim() !== "") yield left;
}
