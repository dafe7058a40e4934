import { type Clock, SystemClock } from "../../util/clock.js";
import { LabError, messageOf } from "../../util/errors.js";
import { isRecord } from "../../util/records.js";

const LOOPBACK = /^http:\/\/127\.0\.0\.1:\d+$/;

/**
 * Puts a clock on that of `kubelab grade`, if `KUBELAB_TIME` names it: docs/grade.md has the protocol.
 * @throws LabError USAGE for another address, CLUSTER_UNREACHABLE without an answer
 */
export async function followAgentTime(
  clock: Clock,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<void> {
  const url = env["KUBELAB_TIME"] ?? "";
  if (url === "" || !(clock instanceof SystemClock)) return;
  const hint = "kubelab grade sets it; otherwise leave it unset.";
  if (!LOOPBACK.test(url)) {
    throw new LabError("USAGE", `KUBELAB_TIME is ${url}; expected http://127.0.0.1:PORT`, hint);
  }
  try {
    // The first answer is from the moment at which the time begins to pass faster.
    await (await fetch(`${url}/now`, { signal })).json();
    const answer: unknown = await (await fetch(`${url}/now`, { signal })).json();
    const { nowMs, speed } = isRecord(answer) ? answer : {};
    if (typeof nowMs !== "number" || typeof speed !== "number") throw new Error("the answer has no time");
    clock.setSpeed(speed);
    clock.follow({ ...clock.reading, clockMs: nowMs });
  } catch (cause) {
    signal.throwIfAborted();
    throw new LabError("CLUSTER_UNREACHABLE", `no time from ${url}: ${messageOf(cause)}`, hint, { cause });
  }
}
