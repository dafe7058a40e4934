import type { RemoteCommandServerSession } from "../../../staging/streaming/remote-command/session.js";
import { SUCCESS } from "../../../staging/streaming/remote-command/status-text.js";
import { Pipe } from "../../shell/process/pipe.js";
import { BrokenPipeError } from "../../shell/streams.js";
import type { LogStream } from "../logs/cri-log.js";
import type { Container } from "../state/container.js";
import type { RunningContainer } from "../state/running.js";
import { followSize, fromClient, toClient, whenAborted } from "./pump.js";

/**
 * Connects a client to the output of a container's first process from now on, and to its stdin, until the container
 * ends. The end is a success, whatever the exit code. A slow client slows the container down.
 *
 * Mirrors containerd's container_attach.go and container_io.go (Attach), and ServeAttach in
 * pkg/kubelet/cri/streaming/remotecommand/attach.go: when the client's input ends, a container with stdinOnce sees the
 * end of its own; with any other container the client is detached.
 */
export async function serveAttach(
  session: RemoteCommandServerSession,
  container: Container,
  running: RunningContainer,
): Promise<void> {
  const over = new AbortController();
  const gone = whenAborted(session.signal);
  const outputs = new Map<LogStream, Pipe>();
  if (session.stdout !== undefined) outputs.set("stdout", new Pipe());
  if (session.stderr !== undefined && running.terminal === undefined) outputs.set("stderr", new Pipe());
  const unlisten = running.listen((stream, bytes, signal) => passOn(outputs.get(stream), bytes, signal));
  try {
    const input = takeInput(session, container, running, over.signal);
    const output = Promise.all(
      [...outputs].map(([name, pipe]) =>
        giveOutput(pipe, name === "stdout" ? session.stdout : session.stderr, over.signal),
      ),
    );
    // Failures show up below, once the container has ended or the client is gone.
    output.catch(() => {});
    const first = await Promise.race([container.stopped(), input, gone.aborted]);
    unlisten();
    for (const pipe of outputs.values()) pipe.writer.release();
    if (first !== "gone" && (await Promise.race([output, gone.aborted])) !== "gone") await session.finish(SUCCESS);
    else await session.close();
    over.abort();
    await output;
  } finally {
    over.abort();
    gone.stop();
    unlisten();
  }
}

async function passOn(pipe: Pipe | undefined, bytes: Uint8Array, signal: AbortSignal): Promise<void> {
  try {
    await pipe?.writer.write(bytes, signal);
  } catch (error) {
    // The client stopped reading, or the container ended: not an error of the writer.
    if (!(error instanceof BrokenPipeError) && !signal.aborted) throw error;
  }
}

async function giveOutput(
  pipe: Pipe,
  client: RemoteCommandServerSession["stdout"],
  signal: AbortSignal,
): Promise<void> {
  if (client !== undefined) await toClient(pipe.reader, client, signal);
  pipe.reader.release();
}

/** Resolves when the client must be detached because its input has ended. */
async function takeInput(
  session: RemoteCommandServerSession,
  { config }: Container,
  running: RunningContainer,
  signal: AbortSignal,
): Promise<"detached"> {
  const { terminal, stdin } = running;
  if (terminal !== undefined) void followSize(session.resizes, terminal);
  if (session.stdin === undefined || !config.stdin) return new Promise(() => {});
  await fromClient(
    session.stdin,
    (bytes) => (terminal === undefined ? stdin?.writer.write(bytes, signal) : terminal.input(bytes, signal)),
    signal,
  );
  if (!config.stdinOnce || terminal !== undefined) return "detached";
  running.closeStdin();
  return new Promise(() => {});
}
