import type { Socket } from "node:net";
import { createInterface } from "node:readline";

/** Longer lines end the connection: a list of all timers of a large cluster takes less. */
const MAX_LINE = 8 * 2 ** 20;

export function writeLine(socket: Socket, value: unknown): void {
  socket.write(`${JSON.stringify(value)}\n`);
}

/** The values that the other side writes, a line of JSON each, until the connection ends: by either side, or because nobody serves there. */
export async function* readLines(socket: Socket): AsyncGenerator<unknown> {
  let length = 0;
  socket.on("data", (piece: Buffer) => {
    length = piece.includes(10) ? 0 : length + piece.length;
    if (length > MAX_LINE) socket.destroy();
  });
  // Each write to a side that has gone is an error; the end of the lines tells it.
  socket.on("error", () => socket.destroy());
  const lines = createInterface({ input: socket });
  // A socket that is refused or destroyed has no end, only a close.
  socket.once("close", () => lines.close());
  try {
    for await (const line of lines) yield JSON.parse(line);
  } catch (error) {
    if (socket.errored !== error) throw error;
  }
}
