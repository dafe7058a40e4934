import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { Trace } from "../../trace/trace.js";
import { until } from "../../trace/until.js";
import { ChildAbort } from "../../util/async/abort.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { messageOf } from "../../util/errors.js";
import { MAX_FILE_BYTES, readAtMost } from "../../util/os/read-at-most.js";
import { decodePods } from "./decode.js";
import type { SourceChannel } from "./pod-config.js";
import { HttpSourceObserver } from "./pod-config-observer.js";

/** Mirrors httpCheckFrequency, and the client's timeout in http.go. */
export const HTTP_CHECK_FREQUENCY_MS = 20_000;
export const HTTP_TIMEOUT_MS = 10_000;
/** A repeated failure is reported this many times, then only at a higher verbosity. */
const LOUD_FAILURES = 3;

export interface HttpSourceDeps {
  readonly clock: Clock;
  readonly trace: Trace;
  /** default: the platform's */
  readonly fetch?: typeof fetch;
}

export interface HttpSourceOptions {
  readonly url: string;
  readonly nodeName: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** default: 20 s */
  readonly periodMs?: number;
}

/**
 * Polls a URL for pods, and sends them when the answer has changed. After an answer that cannot be used the known pods
 * stay; an empty list ends them.
 *
 * Mirrors pkg/kubelet/config/http.go (sourceURL).
 * @throws the signal's reason
 */
export async function runHttpSource(
  deps: HttpSourceDeps,
  options: HttpSourceOptions,
  channel: SourceChannel,
  signal: AbortSignal,
): Promise<never> {
  const observer = new HttpSourceObserver(deps.trace);
  let lastText: string | undefined;
  let failures = 0;
  const round = async () => {
    let text: string | undefined;
    try {
      text = await getText(deps, options, signal);
      if (text === "") await channel({ op: "SET", pods: [] }, signal);
      const read = text;
      const pods = read === lastText ? undefined : await podsFrom(read, options, () => (lastText = read));
      if (pods !== undefined) await channel({ op: "SET", pods }, signal);
      if (failures > 0) observer.readAgain();
      failures = 0;
    } catch (error) {
      if (signal.aborted) throw error;
      observer.unusable(messageOf(error), text === "", failures++ < LOUD_FAILURES);
    }
  };
  return until(deps, options.periodMs ?? HTTP_CHECK_FREQUENCY_MS, round, signal, {
    what: "read the manifests of the URL",
    setBy: "httpCheckFrequency",
  });
}

/** Bad content counts as read, so it is reported only once. */
async function podsFrom(text: string, options: HttpSourceOptions, onRead: () => void): Promise<V1Pod[]> {
  const { url, nodeName } = options;
  if (text === "") throw new Error(`zero-length data received from ${url}`);
  onRead();
  return decodePods(text, { source: url, isFile: false, nodeName });
}

async function getText(
  { clock, fetch: get = fetch }: HttpSourceDeps,
  { url, headers }: HttpSourceOptions,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted();
  using request = new ChildAbort(signal);
  const timer = new AbortController();
  const late = clock.sleep(HTTP_TIMEOUT_MS, timer.signal).then(
    () => request.abort(new Error(`${url}: no answer within ${HTTP_TIMEOUT_MS / 1000} s`)),
    () => {}, // answered in time
  );
  try {
    const answer = await get(url, { signal: request.signal, ...defined({ headers }) });
    const { body } = answer;
    const text = body === null ? "" : (await readAtMost(body, MAX_FILE_BYTES, request.signal)).toString();
    if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${answer.statusText}`.trimEnd());
    return text;
  } catch (error) {
    // fetch throws an error without details; its cause has them.
    const cause = error instanceof Error ? error.cause : undefined;
    throw cause instanceof Error ? new Error(`${url}: ${cause.message}`, { cause: error }) : error;
  } finally {
    timer.abort();
    await late;
  }
}
