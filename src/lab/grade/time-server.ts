import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { SystemClock } from "../../util/clock.js";

/** Longer sleeps are refused: no loop of a node agent waits for a day. */
const MAX_SLEEP_MS = 24 * 3_600_000;

/** The clock of a graded cluster, for an agent that can run on it. */
export interface TimeServer extends AsyncDisposable {
  /** `http://127.0.0.1:PORT`, for `KUBELAB_TIME` */
  readonly url: string;
  /** the agent has used it */
  readonly isUsed: boolean;
}

/**
 * Serves the clock on loopback. `GET /now` answers `{"nowMs", "speed"}`; `GET /sleep?ms=N` answers the same once N ms of the clock
 * have passed. The first request makes the clock `speed` times as fast: an agent that never asks lives in real time.
 */
export async function serveAgentTime(clock: SystemClock, speed: number): Promise<TimeServer> {
  const closing = new AbortController();
  let isUsed = false;
  const server = createServer((request, response) => {
    if (!isUsed) clock.setSpeed(speed);
    isUsed = true;
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
    if (request.method !== "GET") return answer(response, 405, { error: "only GET is answered" });
    if (pathname === "/now") return answer(response, 200, reading(clock));
    const ms = Number(searchParams.get("ms") ?? Number.NaN);
    if (pathname !== "/sleep") return answer(response, 404, { error: "there are /now and /sleep?ms=N" });
    if (!(ms >= 0 && ms <= MAX_SLEEP_MS)) return answer(response, 400, { error: "ms must be from 0 to 86400000" });
    clock.sleep(ms, closing.signal).then(
      () => answer(response, 200, reading(clock)),
      () => void response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    get isUsed() {
      return isUsed;
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function reading(clock: SystemClock): object {
  return { nowMs: clock.now(), speed: clock.speed };
}

function answer(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(JSON.stringify(value));
}
