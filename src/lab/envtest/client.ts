import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { SystemClock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { isRecord } from "../../util/records.js";
import type { ApiObject, Client, ClientRequest, WaitOptions, WatchedEvent, WatchOptions } from "./api.js";
import { checkOptions, milliseconds, oneOf, type Rule, text } from "./options.js";

const WAIT_MS = 30_000;
const POLL_MS = 50;

/** The package's client, a wrapper of kubelab's own. */
export function clientOf(client: KubeClient): Client {
  return {
    async request(request) {
      checkOptions("client.request", request, REQUEST, ["method", "path"]);
      return client.request(request);
    },
    async expect(request) {
      checkOptions("client.expect", request, REQUEST, ["method", "path"]);
      return client.expect(request);
    },
    watch<T = ApiObject>(path: string, options: WatchOptions = {}) {
      const { query = {}, signal = never() } = options;
      checkOptions("client.watch", { path, ...options }, { path: apiPath, query: record, signal: abortSignal }, [
        "path",
      ]);
      return client.watch<KubeObject>(path, query, signal) as AsyncIterable<unknown> as AsyncIterable<WatchedEvent<T>>;
    },
    async waitFor(path, isDone, options = {}) {
      const rules = { path: apiPath, timeoutMs: milliseconds, signal: abortSignal };
      checkOptions("client.waitFor", { path, ...options }, rules, ["path"]);
      return waitFor(client, path, isDone, options);
    },
  };
}

const apiPath: Rule = (value) =>
  typeof value === "string" && value.startsWith("/") ? undefined : "a path: /api/v1/pods";
const record: Rule = (value) => (isRecord(value) ? undefined : "an object");
const abortSignal: Rule = (value) => (value instanceof AbortSignal ? undefined : "an AbortSignal");

const REQUEST: Readonly<Record<keyof ClientRequest, Rule>> = {
  method: oneOf("GET", "POST", "PUT", "PATCH", "DELETE"),
  path: apiPath,
  query: record,
  body: () => undefined,
  contentType: text,
  timeoutMs: milliseconds,
  signal: abortSignal,
};

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
