import { Duplex } from "node:stream";
import type { ForwardedConnection } from "./session.js";

/**
 * A forwarded connection as a Node stream, for Node's HTTP client. Destroying it closes the connection.
 * @param failed makes an error from the other side's message
 */
export function connectionStream(connection: ForwardedConnection, failed: (why: string) => Error): Duplex {
  const incoming = connection.incoming[Symbol.asyncIterator]();
  const failure = async () => {
    const why = await connection.failure;
    return why === undefined ? undefined : failed(why);
  };
  const settle = (work: Promise<void>, done: (error?: Error | null) => void) => {
    work.then(
      () => done(),
      async (error: Error) => done((await failure()) ?? error),
    );
  };
  const stream = new Duplex({
    read() {
      incoming.next().then(
        async ({ done, value }) => {
          if (done !== true) return void stream.push(value);
          const why = await failure();
          if (why !== undefined) stream.destroy(why);
          else stream.push(null);
        },
        async (error: Error) => stream.destroy((await failure()) ?? error),
      );
    },
    write(bytes: Buffer, _encoding, done) {
      settle(connection.write(bytes), done);
    },
    final(done) {
      settle(connection.end(), done);
    },
    destroy(error, done) {
      connection.close().then(
        () => done(error),
        () => done(error),
      );
    },
  });
  return stream;
}
