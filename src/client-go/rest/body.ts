import type { IncomingMessage } from "node:http";

/** The whole body of an answer: parsed where it says it is JSON, else the text. */
export async function readBody(response: IncomingMessage): Promise<unknown> {
  const chunks = await readChunks(response);
  const text = (chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))?.toString("utf8") ?? "";
  if (text === "" || !isJson(response)) return text;
  try {
    return JSON.parse(text);
  } catch {
    // Half a document, or not what the header says: the caller sees the text and the status.
    return text;
  }
}

/** By its events: to iterate over an answer, which nearly always is one chunk, takes longer than to parse it. */
function readChunks(response: IncomingMessage): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    response.on("data", (chunk: Buffer) => chunks.push(chunk));
    response.once("end", () => resolve(chunks));
    // An answer that breaks off says so; one that was cut off from this side only closes.
    response.once("error", reject);
    response.once("close", () => reject(Object.assign(new Error("aborted"), { code: "ECONNRESET" })));
  });
}

function isJson(response: IncomingMessage): boolean {
  return (response.headers["content-type"] ?? "").includes("json");
}

const LINE_FEED = 10;

/**
 * The documents of a stream that has one per line (a watch). Bytes of an unfinished line are kept as they came, so that a
 * large object in many pieces is joined once.
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
