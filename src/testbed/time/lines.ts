import type { Socket } from "node:net";
import { createInterface } from "node:readline";

/** Longer lines end the connection: a list of all timers of a large cluster takes less. */
const MAX_LINE = 8 * 2 ** 20;

export function writeLine(socket: Socket, value: unknown): void {
  socket.write(`${JSON.stringify(value)}\n`);
}

/** The values that the other side writes, a line of JSON each, until it ends the connection. */
export async function* readLines(socket: Socket): AsyncGenerator<unknown> {
  let length = 0;
  socket.on("data", (piece: Buffer) => {
    length = piece.includes(10) ? 0 : length + piece.length;
    if (length > MAX_LINE) socket.destroy();
  });
  socket.once("error", () => socket.destroy());
  for await (const line of createInterface({ input: socket })) yield JSON.parse(line);
}
