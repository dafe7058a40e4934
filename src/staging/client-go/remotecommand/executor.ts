import type { Trace } from "../../../trace/trace.js";
import { ChildAbort } from "../../../util/async/abort.js";
import { orAborted } from "../../../util/async/concurrency.js";
import type { Status } from "../../apimachinery/api/meta.js";
import { StreamError } from "../../streaming/bytes.js";
import type {
  RemoteCommandClientSession,
  RemoteCommandOptions,
  TerminalSize,
} from "../../streaming/remote-command/session.js";
import { type Counter, copyInput, copyOutput } from "../transport/copy.js";
import { type Attempt, type ConnectedStreams, connectStreams, type StreamClient } from "../transport/fallback.js";
import { frameObserver } from "../transport/frames.js";
import { connectRemoteCommand, type RemoteCommandProtocol } from "./connect.js";

export interface RemoteCommandRequest {
  /** of the exec or attach, with its query */
  readonly path: string;
  readonly options: RemoteCommandOptions;
  /** tried in order, until one is accepted */
  readonly protocols: readonly RemoteCommandProtocol[];
  readonly showsFrames: boolean;
}

/** The local ends of a remote command's streams. Mirrors StreamOptions in client-go/tools/remotecommand/remotecommand.go. */
export interface StreamOptions {
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  /** undefined without a terminal; mirrors TerminalSizeQueue */
  readonly terminalSizes: ((signal: AbortSignal) => AsyncIterable<TerminalSize>) | undefined;
  readonly counts: Readonly<Record<"stdin" | "stdout" | "stderr", Counter>>;
}

/** How long the status may follow the last output before a note explains the wait. */
const STATUS_PATIENCE_MS = 5_000;

/**
 * Connects to a remote command with the first protocol that the servers accept.
 *
 * Mirrors client-go/tools/remotecommand/fallback.go (StreamWithContext).
 * @throws LabError as `connectStreams`; the signal's reason
 */
export function openRemoteCommand(
  client: StreamClient,
  { path, options, protocols, showsFrames }: RemoteCommandRequest,
  signal: AbortSignal,
): Promise<ConnectedStreams<RemoteCommandClientSession>> {
  const { clock, trace } = client;
  const observerOf = () => (showsFrames ? frameObserver(trace, options.tty) : undefined);
  const attempts = protocols.map(
    (protocol): Attempt<RemoteCommandClientSession> => ({
      method: protocol === "spdy" ? "POST" : "GET",
      name: protocol === "spdy" ? "SPDY" : `${protocol} of the WebSocket protocol`,
      agreed: ({ protocol: { framing, subprotocol } }) => `${framing}, ${subprotocol}`,
      connect: ({ url, ...dialing }) =>
        connectRemoteCommand(url, { ...dialing, options, clock, protocol, observer: observerOf() }, signal),
    }),
  );
  return connectStreams(client, path, attempts, signal);
}

/**
 * Copies the streams of a remote command until it ends.
 *
 * Mirrors client-go/tools/remotecommand/v2.go (stream).
 * @returns the command's status
 * @throws OutputClosed, StreamError; the signal's reason
 */
export async function streamRemoteCommand(
  { clock, trace }: Pick<StreamClient, "clock" | "trace">,
  session: RemoteCommandClientSession,
  streams: StreamOptions,
  signal: AbortSignal,
): Promise<Status> {
  using over = new ChildAbort(signal);
  const inputs = [sendStdin(trace, session, streams, over.signal), sendSizes(session, streams, over.signal)];
  // A failed input also shows in the output or in the status.
  for (const input of inputs) input.catch(() => {});
  try {
    const { stdout, stderr, counts } = streams;
    const output = Promise.all([
      copyOutput(session.stdout, stdout, counts.stdout).catch(ignoreBrokenStream),
      copyOutput(session.stderr, stderr, counts.stderr).catch(ignoreBrokenStream),
    ]);
    await orAborted(output, signal);
    const timer = clock.timer(STATUS_PATIENCE_MS, () => {
      if (session.stdin !== undefined) note(trace, NO_STATUS_YET);
    });
    try {
      return await orAborted(session.status, signal);
    } finally {
      timer.stop();
    }
  } finally {
    over.abort();
  }
}

const NO_STATUS_YET =
  "All output has arrived, but not how the command ended. Some runtimes, such as containerd 1.6, wait until all input is read, even if no process reads it any more. Ctrl-C ends the wait.";

/**
 * A connection that breaks after the command's end breaks its outputs too, and the status shows whether the command had ended.
 * Mirrors client-go/tools/remotecommand/v2.go (copyStdout): a failed output does not fail the command.
 */
function ignoreBrokenStream(error: unknown): void {
  if (!(error instanceof StreamError)) throw error;
}

async function sendStdin(
  trace: Trace,
  { stdin, protocol }: RemoteCommandClientSession,
  streams: StreamOptions,
  signal: AbortSignal,
): Promise<void> {
  if (stdin === undefined) return;
  const hasEnded = await copyInput(streams.stdin, stdin, streams.counts.stdin, signal);
  const canClose = protocol.framing === "SPDY" || protocol.subprotocol.startsWith("v5.");
  if (!hasEnded || canClose) return;
  const text = `stdin has ended, but ${protocol.subprotocol} cannot close it: a command that reads to the end waits forever (Ctrl-C). v5 and SPDY can close a stream.`;
  note(trace, text);
}

async function sendSizes(
  session: RemoteCommandClientSession,
  { terminalSizes }: StreamOptions,
  signal: AbortSignal,
): Promise<void> {
  for await (const size of terminalSizes?.(signal) ?? []) await session.resize(size);
}

function note(trace: Trace, text: string): void {
  trace.emit({ kind: "note", text }, { actor: "user", level: 0 });
}
