import { createConnection, type Socket } from "node:net";
import type { ClockFollower, ClockReading, SystemClock } from "../../util/clock.js";
import { HeldTime } from "./held-time.js";
import { readLines, writeLine } from "./lines.js";

type Settled = Awaited<ReturnType<ClockFollower["settle"]>>;

const NOTHING: Settled = { wasActive: false, timers: [] };

/** A process that joined a cluster and runs on its clock: the side of the cluster. */
export class RemoteFollower implements ClockFollower {
  #answer: ((settled: Settled) => void) | undefined;

  private constructor(readonly socket: Socket) {}

  /** Keeps the process on the clock until it ends the connection. */
  static async serve(clock: SystemClock, socket: Socket, answers: AsyncIterable<unknown>): Promise<void> {
    const follower = new RemoteFollower(socket);
    using _following = clock.addFollower(follower);
    follower.follow(clock.reading);
    try {
      for await (const answer of answers) follower.#answer?.(answer as Settled);
    } finally {
      socket.destroy();
      follower.#answer?.(NOTHING);
    }
  }

  follow(reading: ClockReading): void {
    writeLine(this.socket, { reading });
  }

  settle(): Promise<Settled> {
    return new Promise((resolve) => {
      if (this.socket.destroyed) return resolve(NOTHING);
      this.#answer = resolve;
      writeLine(this.socket, { settle: true });
    });
  }
}

/**
 * Keeps this process's clock on that of the cluster it joined, until the result is disposed of or the cluster ends.
 * @param path the cluster's socket
 * @returns once the clock shows the cluster's time
 */
export async function followClock(clock: SystemClock, path: string): Promise<Disposable> {
  const socket = createConnection(path);
  const time = new HeldTime(clock);
  const lines = readLines(socket);
  const take = async (line: unknown) => {
    const { reading } = line as { readonly reading?: ClockReading };
    if (reading !== undefined) clock.follow(reading);
    // The line is one event.
    else writeLine(socket, await time.settle(1));
  };
  writeLine(socket, { op: "follow" });
  const first = await lines.next();
  if (first.done !== true) await take(first.value);
  // The connection must not keep a command that is done.
  socket.unref();
  void (async () => {
    for await (const line of lines) await take(line);
  })().catch(() => {});
  return { [Symbol.dispose]: () => void socket.destroy() };
}
