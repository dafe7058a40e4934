import type { RequestOptions } from "node:http";
import { connect, type Socket } from "node:net";

/**
 * A connection for one request (`createConnection`), which is upgraded or ends with its answer. `agent: false` would
 * create an agent per request, which costs as much as the request.
 */
export function connectTcp({ host, port }: Pick<RequestOptions, "host" | "port">): Socket {
  return connect({ host: host ?? "localhost", port: Number(port), noDelay: true });
}
