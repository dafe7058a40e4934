import type { RequestOptions } from "node:http";
import { connect, type Socket } from "node:net";

/**
 * A connection of its own for a request (`createConnection`): one that is upgraded, or ends with its answer. `agent: false`
 * would make an agent for it alone, which costs as much as the request.
 */
export function connectTcp({ host, port }: Pick<RequestOptions, "host" | "port">): Socket {
  return connect({ host: host ?? "localhost", port: Number(port), noDelay: true });
}
