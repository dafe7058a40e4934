import { StreamError } from "../../streaming/bytes.js";
import { connectRemoteCommand, type RemoteCommandProtocol } from "../../streaming/remote-command/connect.js";
import type { RemoteCommandClientSession, RemoteCommandOptions } from "../../streaming/remote-command/session.js";
import type { ProcessStreams } from "../../testbed/context.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { type Attempt, connectStreams, type StreamClient, statusWords } from "./connect.js";
import { frameObserver } from "./frames.js";
import { type Counter, giveOutput, OutputGone, sendInput } from "./local-streams.js";
import { LocalTerminal } from "./local-terminal.js";
import { type RemoteEnd, remoteEnd } from "./outcome.js";

export interface RemoteRequest {
  /** of the exec or attach, with its query */
  readonly path: string;
  readonly options: RemoteCommandOptions;
  /** one after the other, until one is not refused */
  readonly protocols: readonly RemoteCommandProtocol[];
  readonly showsFrames: boolean;
  /** what to do when the servers do not run the command */
  readonly hint?: string | undefined;
}

/** How an output that nobody reads any more ends the command here, as `| head -1` ends others. */
const READER_GONE: RemoteEnd = { exitCode: 0, text: "nobody reads the output any more" };

/** How long a status may take behind the last output, before the learner is told what that may mean. */
const UNTOLD_MS = 5_000;

/**
 * Runs a remote command with the streams of this process: stdin to it, stdout and stderr from it, the terminal given over
 * and taken back whatever happens.
 *
 * Mirrors k8s.io/kubectl/pkg/cmd/exec/exec.go (Run) and client-go/tools/remotecommand (StreamWithContext).
 * @throws LabError as `connectStreams`; FAILED when the connection broke off; the signal's reason
 */
export async function runRemote(
  client: StreamClient,
  request: RemoteRequest,
  streams: ProcessStreams,
  signal: AbortSignal,
): Promise<RemoteEnd> {
  const { clock, trace } = client;
  using terminal = new LocalTerminal(streams);
  await using session = await connect(client, request, signal);
  if (request.options.tty) terminal.enter();
  const counts = { stdin: { bytes: 0 }, stdout: { bytes: 0 }, stderr: { bytes: 0 } };
  try {
    const end = await serve({ session, request, streams, terminal, trace, clock, counts }, signal);
    terminal.restore();
    report(trace, request.options, counts, end.text);
    return end.problem === undefined || request.hint === undefined ? end : { ...end, hint: request.hint };
  } catch (error) {
    terminal.restore();
    if (error instanceof OutputGone) return READER_GONE;
    if (!(error instanceof StreamError)) throw error;
    signal.throwIfAborted();
    report(trace, request.options, counts, `broke off: ${error.message}`);
    const hint = "A server on the way has ended, or the network: kubectl get nodes, and the logs of the kubelet.";
    throw new LabError("FAILED", `the connection broke off: ${error.message}`, hint, { cause: error });
  }
}

function connect(
  client: StreamClient,
  { path, options, protocols, showsFrames }: RemoteRequest,
  signal: AbortSignal,
): Promise<RemoteCommandClientSession> {
  const observer = showsFrames ? { observer: frameObserver(client.trace, options.tty) } : {};
  const attempts = protocols.map((protocol): Attempt<RemoteCommandClientSession> => {
    return {
      method: protocol === "spdy" ? "POST" : "GET",
      name: protocol === "spdy" ? "SPDY" : `${protocol} of the WebSocket protocol`,
      agreed: ({ protocol: { framing, subprotocol } }) => `${framing}, ${subprotocol}`,
      async connect({ url, headers, tls }) {
        const how = { options, clock: client.clock, protocols: [protocol], headers, tls, ...observer };
        const { session, refused } = await connectRemoteCommand(url, how, signal);
        if (session !== undefined) return { outcome: "connected", value: session };
        const [first] = refused;
        if (first === undefined) throw new StreamError("the server neither agreed nor refused");
        return first.refusal;
      },
    };
  });
  return connectStreams(client, path, attempts, signal);
}

interface Serving {
  readonly session: RemoteCommandClientSession;
  readonly request: RemoteRequest;
  readonly streams: ProcessStreams;
  readonly terminal: LocalTerminal;
  readonly trace: Trace;
  readonly clock: Clock;
  readonly counts: Counts;
}

interface Counts {
  readonly stdin: Counter;
  readonly stdout: Counter;
  readonly stderr: Counter;
}

async function serve(serving: Serving, signal: AbortSignal): Promise<RemoteEnd> {
  const { session, request, streams, counts, trace } = serving;
  const over = new AbortController();
  const onAbort = () => over.abort(signal.reason);
  const aborted = new Promise<never>((_, reject) => {
    over.signal.addEventListener("abort", () => reject(over.signal.reason), { once: true });
  });
  aborted.catch(() => {}); // also the usual end
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const inputs = [sendStdin(serving, over.signal), followSize(serving, over.signal)];
  // What fails there is seen by the output, or by the status.
  for (const input of inputs) input.catch(() => {});
  try {
    const stderr = request.options.tty ? streams.stdout : streams.stderr;
    const output = Promise.all([
      giveOutput(session.stdout, streams.stdout, counts.stdout).catch(unlessBroken),
      giveOutput(session.stderr, stderr, counts.stderr).catch(unlessBroken),
    ]);
    output.catch(() => {}); // seen here, unless the signal comes first
    await Promise.race([output, aborted]);
    using _ = sayWhenNotTold(serving);
    const status = await Promise.race([session.status, aborted]);
    trace.emit(
      { kind: "state", subject: "the error stream", what: "status", to: statusWords(status) },
      { actor: "user", level: 2 },
    );
    return remoteEnd(status);
  } finally {
    signal.removeEventListener("abort", onAbort);
    over.abort();
  }
}

/**
 * A connection that breaks behind a command's last words breaks its outputs too. Whether the end was told before, the status
 * says. Mirrors client-go/tools/remotecommand/v2.go (copyStdout): an output that fails does not fail the command.
 */
function unlessBroken(error: unknown): void {
  if (!(error instanceof StreamError)) throw error;
}

/** Says why nothing happens, when a command's output has ended and nobody tells how the command did. */
function sayWhenNotTold({ clock, request, trace }: Serving): Disposable {
  const text =
    "All output has come, but not how the command ended. A runtime may wait until all input is taken, as containerd 1.6 does, also when nobody is left to take it. Ctrl-C ends the wait.";
  const timer = clock.timer(UNTOLD_MS, () => {
    if (request.options.stdin) trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
  });
  return { [Symbol.dispose]: () => timer.stop() };
}

async function sendStdin({ session, streams, counts, trace }: Serving, signal: AbortSignal): Promise<void> {
  const { stdin, protocol } = session;
  if (stdin === undefined) return;
  const hasEnded = await sendInput(streams.stdin, stdin, counts.stdin, signal);
  const canClose = protocol.framing === "SPDY" || protocol.subprotocol.startsWith("v5.");
  if (!hasEnded || canClose) return;
  const text = `stdin has ended, and ${protocol.subprotocol} has no way to say so: a command that reads to the end waits for ever (Ctrl-C). v5 and SPDY can close a stream.`;
  trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
}

async function followSize({ session, request, terminal }: Serving, signal: AbortSignal): Promise<void> {
  if (!request.options.tty) return;
  for await (const size of terminal.sizes(signal)) await session.resize(size);
}

function report(trace: Trace, options: RemoteCommandOptions, counts: Counts, end: string): void {
  const channels = (["stdin", "stdout", "stderr"] as const).filter((name) => options[name]);
  const bytes = channels.map((name) => `${name} ${counts[name].bytes}`).join(", ");
  const to = `${end}; bytes: ${bytes}`;
  trace.emit({ kind: "state", subject: "the remote command", what: "ended,", to }, { actor: "user" });
}
