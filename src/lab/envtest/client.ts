import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { SystemClock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import type { ApiObject, Client, WaitOptions, WatchedEvent } from "./api.js";

const WAIT_MS = 30_000;
const POLL_MS = 50;

/** The package's client, a wrapper of kubelab's own. */
export function clientOf(client: KubeClient): Client {
  return {
    request: (request) => client.request(request),
    expect: (request) => client.expect(request),
    watch: <T = ApiObject>(path: string, { query = {}, signal = never() } = {}) =>
      client.watch<KubeObject>(path, query, signal) as AsyncIterable<unknown> as AsyncIterable<WatchedEvent<T>>,
    waitFor: (path, isDone, options) => waitFor(client, path, isDone, options),
  };
}

const never = (): AbortSignal => new AbortController().signal;

async function waitFor<T>(
  client: KubeClient,
  path: string,
  isDone: (object: T) => boolean,
  { timeoutMs = WAIT_MS, signal = never() }: WaitOptions = {},
): Promise<T> {
  const clock = new SystemClock();
  const untilMs = clock.now() + timeoutMs;
  for (;;) {
    const answer = await client.request<T>({ method: "GET", path, signal });
    if (answer.status === 200 && isDone(answer.body)) return answer.body;
    if (answer.status !== 200 && answer.status !== 404) await client.expect({ method: "GET", path, signal });
    if (clock.now() >= untilMs) throw late(path, timeoutMs, answer.status === 404);
    await clock.sleep(POLL_MS, signal);
  }
}

function late(path: string, timeoutMs: number, isMissing: boolean): LabError {
  const message = `${path} ${isMissing ? "is not there" : "is not as it should be"} after ${timeoutMs / 1000} s`;
  return new LabError("TIMED_OUT", message, "Read the object and its events, or wait longer with timeoutMs.");
}
