import { type RemoteEnd, remoteEnd } from "../../staging/client-go/remotecommand/errorstream.js";
import {
  openRemoteCommand,
  type RemoteCommandRequest,
  streamRemoteCommand,
} from "../../staging/client-go/remotecommand/executor.js";
import { OutputClosed } from "../../staging/client-go/transport/copy.js";
import type { StreamClient } from "../../staging/client-go/transport/fallback.js";
import { StreamError } from "../../staging/streaming/bytes.js";
import type { ProcessStreams } from "../../testbed/context.js";
import { LabError } from "../../util/errors.js";
import { LocalTerminal } from "./local-terminal.js";

/** The end if the reader of our output has gone, as `| head -1` ends other programs. */
const READER_GONE: RemoteEnd = { exitCode: 0, text: "the reader of the output has gone" };

/**
 * Runs a remote command with this process's streams. Its terminal is raw during the command, and is always restored.
 *
 * Mirrors k8s.io/kubectl/pkg/cmd/exec/exec.go (Run).
 * @throws LabError as `openRemoteCommand`; FAILED if the connection breaks; the signal's reason
 */
export async function runRemote(
  client: StreamClient,
  request: RemoteCommandRequest,
  { stdin, stdout, stderr }: ProcessStreams,
  signal: AbortSignal,
): Promise<RemoteEnd> {
  const { trace } = client;
  const { options } = request;
  using terminal = new LocalTerminal({ stdin, stdout });
  const connected = await openRemoteCommand(client, request, signal);
  await using session = connected.session;
  if (options.tty) terminal.enter();
  const counts = { stdin: { bytes: 0 }, stdout: { bytes: 0 }, stderr: { bytes: 0 } };
  const report = (end: string) => {
    const channels = (["stdin", "stdout", "stderr"] as const).filter((name) => options[name]);
    const bytes = channels.map((name) => `${name} ${counts[name].bytes}`).join(", ");
    const to = `${end}; bytes: ${bytes}`;
    trace.emit(
      { kind: "state", subject: "the remote command", what: "ended,", to },
      { actor: "user", peer: { actor: "apiserver" } },
    );
  };
  const terminalSizes = options.tty ? (over: AbortSignal) => terminal.sizes(over) : undefined;
  const talk = async () => {
    const streams = { stdin, stdout, stderr, terminalSizes, counts };
    const status = await streamRemoteCommand(client, session, streams, signal);
    terminal.restore();
    const { status: outcome, reason, message } = status;
    const to = outcome === "Success" ? outcome : [reason, message].filter((word) => word !== undefined).join(": ");
    trace.emit({ kind: "state", subject: "the error stream", what: "status", to }, { actor: "user", level: 2 });
    const end = remoteEnd(status);
    report(end.text);
    return end;
  };
  try {
    return await trace.because(connected.cause, talk);
  } catch (error) {
    terminal.restore();
    if (error instanceof OutputClosed) return READER_GONE;
    if (!(error instanceof StreamError)) throw error;
    signal.throwIfAborted();
    report(`broke off: ${error.message}`);
    const hint = "A server on the way has ended, or the network failed: see kubectl get nodes and the kubelet's log.";
    throw new LabError("FAILED", `the connection broke off: ${error.message}`, hint, { cause: error });
  }
}
