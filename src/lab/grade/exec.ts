import { PassThrough } from "node:stream";
import { execUrl } from "../../staging/client-go/remotecommand/exec-url.js";
import { openRemoteCommand, streamRemoteCommand } from "../../staging/client-go/remotecommand/executor.js";
import { StreamError } from "../../staging/streaming/bytes.js";
import { isAbortError, LabError, messageOf } from "../../util/errors.js";
import type { Exam } from "./exam.js";

const MAX_OUTPUT = 64 * 1024;
const TIMEOUT_MS = 15_000;

/** What came of a command in a pod. */
export type Executed =
  | { readonly outcome: "ended"; readonly stdout: string; readonly status: string }
  /** there was no connection, or it broke */
  | { readonly outcome: "broken"; readonly why: string };

/** Runs a command in the container `main` of a pod as `kubectl exec` does: through the API server and the agent. */
export async function execInPod(exam: Exam, pod: string, words: readonly string[]): Promise<Executed> {
  const { ctx, client } = exam.place;
  const options = { stdin: false, stdout: true, stderr: true, tty: false };
  const path = execUrl({ namespace: "default", name: pod, subresource: "exec", container: "main", words }, options);
  const signal = AbortSignal.any([exam.signal, AbortSignal.timeout(TIMEOUT_MS)]);
  try {
    const request = { path, options, protocols: ["spdy", "v4"] as const, showsFrames: false };
    const opened = await openRemoteCommand({ ...ctx, config: client.config }, request, signal);
    await using session = opened.session;
    const [stdout, stderr, stdin] = [new PassThrough(), new PassThrough().resume(), new PassThrough()];
    let text = "";
    stdout.on("data", (piece: Buffer) => {
      if (text.length < MAX_OUTPUT) text += piece.toString();
    });
    const counts = { stdin: { bytes: 0 }, stdout: { bytes: 0 }, stderr: { bytes: 0 } };
    const streams = { stdin, stdout, stderr, terminalSizes: undefined, counts };
    const { status = "" } = await streamRemoteCommand(ctx, session, streams, signal);
    return { outcome: "ended", stdout: text, status };
  } catch (error) {
    exam.signal.throwIfAborted();
    if (error instanceof LabError || error instanceof StreamError) return { outcome: "broken", why: error.message };
    if (isAbortError(error) || signal.aborted) return { outcome: "broken", why: `no end after ${TIMEOUT_MS / 1000} s` };
    return { outcome: "broken", why: messageOf(error) };
  }
}
