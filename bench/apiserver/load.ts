import type { RestConfig } from "../../src/staging/client-go/rest/client.js";
import { Connection, type Received, type Sent } from "./connection.js";

/** As in the figures of the real API server that these are compared with. */
export const CONNECTIONS = 16;

/** Some clients, each on a connection of its own, each sending its next request when it has the answer to its last. */
export class Load {
  private constructor(
    readonly config: RestConfig,
    readonly connections: Connection[],
  ) {}

  static async open(config: RestConfig, count = CONNECTIONS): Promise<Load> {
    return new Load(config, await Promise.all(Array.from({ length: count }, () => Connection.open(config))));
  }

  /** A server ends a connection that was idle for long, as it is while another server is measured. */
  async #reopen(): Promise<void> {
    for (const [index, { isClosed }] of this.connections.entries()) {
      if (isClosed) this.connections[index] = await Connection.open(this.config);
    }
  }

  /**
   * Sends requests 0 to `count` - 1.
   * @returns seconds until the last answer
   * @throws when an answer is not a 2xx: a refused request is no request served
   */
  async run(
    count: number,
    request: (index: number) => Sent,
    answered?: (index: number, received: Received) => void,
  ): Promise<number> {
    await this.#reopen();
    let next = 0;
    const startMs = performance.now();
    await Promise.all(
      this.connections.map(async (connection) => {
        for (let index = next++; index < count; index = next++) {
          const sent = request(index);
          const received = await connection.request(sent);
          const { status, start } = received;
          if (status < 200 || status > 299) throw new Error(`${sent.method} ${sent.path}: ${status} ${start}`);
          answered?.(index, received);
        }
      }),
    );
    return (performance.now() - startMs) / 1000;
  }

  /** One request, whatever its answer. */
  async ask(sent: Sent): Promise<Received> {
    await this.#reopen();
    const [first] = this.connections;
    if (first === undefined) throw new Error("there is no connection");
    return first.request(sent);
  }

  close(): void {
    for (const connection of this.connections) connection.close();
  }
}
