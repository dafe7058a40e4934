import type { Status } from "../../apimachinery/api/meta.js";
import { SpawnError } from "../../shell/process/machine.js";
import { Pipe } from "../../shell/process/pipe.js";
import { exitCodeOf, type Process } from "../../shell/process/process.js";
import { BytesSource, NullSink } from "../../shell/process/streams.js";
import { Terminal, type TerminalOutput } from "../../shell/process/terminal.js";
import type { RemoteCommandServerSession } from "../../streaming/remote-command/session.js";
import {
  EXIT_CODE_CAUSE,
  internalErrorStatus,
  NON_ZERO_EXIT_CODE,
  SUCCESS,
} from "../../streaming/remote-command/status-text.js";
import { execErrorText } from "../calls/exec-errors.js";
import type { RunningContainer } from "../state/running.js";
import { followSize, fromClient, toClient, whenAborted } from "./pump.js";

/** The ends of a command's streams that are its client's. */
interface Streams {
  readonly stdin: Pipe | undefined;
  readonly stdout: Pipe | undefined;
  readonly stderr: Pipe | undefined;
  readonly terminal: Terminal | undefined;
}

/**
 * Runs a command in a container, with its streams at a client.
 *
 * Mirrors containerd's streaming.go (Exec), container_execsync.go (execInContainer) and ServeExec in
 * pkg/kubelet/cri/streaming/remotecommand/exec.go: the exit code comes when the command has ended and everybody has let go
 * of its output. A command whose client goes away is not killed: its stdin ends, and what it writes ends it by SIGPIPE; one
 * that does neither goes on until its container ends. With a terminal it waits, for keys that nobody will type.
 *
 * Differs: end of input on a terminal ends nothing; containerd drops what the command writes from then on.
 *
 * @param execId names this run in what is said of a command that cannot be started
 */
export async function serveExec(
  session: RemoteCommandServerSession,
  running: RunningContainer,
  cmd: readonly string[],
  execId: string,
): Promise<void> {
  const streams = makeStreams(session, running);
  let process: Process;
  try {
    process = spawn(running, cmd, streams);
  } catch (error) {
    if (!(error instanceof SpawnError)) throw error;
    return refuse(session, cmd, error, execId);
  }
  const over = new AbortController();
  const gone = whenAborted(session.signal);
  try {
    const input = takeInput(session, streams, over.signal);
    const output = giveOutput(session, streams, over.signal);
    // What fails there is seen below, when the command has ended or its client is gone.
    for (const pump of [input, output]) pump.catch(() => {});
    const ended = process.exited.then(async (status) => {
      streams.terminal?.hangUp();
      await output;
      return exitCodeOf(status);
    });
    const first = await Promise.race([ended, gone.aborted]);
    if (first !== "gone") await session.finish(exitStatus(cmd, first));
    else await session.close();
    over.abort("over");
    await Promise.all([input, output]);
  } finally {
    over.abort("over");
    gone.stop();
  }
}

function makeStreams({ options }: RemoteCommandServerSession, { machine }: RunningContainer): Streams {
  const { stdin, stdout, stderr, tty } = options;
  const output = stdout ? new Pipe() : undefined;
  if (!tty) {
    return {
      stdin: stdin ? new Pipe() : undefined,
      stdout: output,
      stderr: stderr ? new Pipe() : undefined,
      terminal: undefined,
    };
  }
  const screen = output === undefined ? new NullSink() : screenOf(output);
  return { stdin: undefined, stdout: output, stderr: undefined, terminal: new Terminal(screen, machine.processes) };
}

/** A terminal's output that waits in a pipe for its client. */
function screenOf(pipe: Pipe): TerminalOutput {
  return {
    ...pipe.writer,
    discard: () => pipe.discard(),
    get isFull() {
      return pipe.isFull;
    },
  };
}

/** @throws SpawnError */
function spawn({ machine, env, cwd }: RunningContainer, argv: readonly string[], streams: Streams): Process {
  const { terminal } = streams;
  const process = machine.spawn({
    argv,
    env: terminal === undefined ? env : { ...env, TERM: "xterm" },
    cwd,
    stdin: terminal?.source ?? streams.stdin?.reader ?? new BytesSource(),
    stdout: terminal?.sink ?? streams.stdout?.writer ?? new NullSink(),
    stderr: terminal?.sink ?? streams.stderr?.writer ?? new NullSink(),
    parentPid: 0,
    group: "new",
  });
  if (terminal !== undefined) terminal.foreground = process.group;
  else {
    // The process has its ends: ours would keep the pipes open when it has ended.
    streams.stdin?.reader.release();
    streams.stdout?.writer.release();
    streams.stderr?.writer.release();
  }
  return process;
}

async function takeInput(
  session: RemoteCommandServerSession,
  { stdin, terminal }: Streams,
  signal: AbortSignal,
): Promise<void> {
  // Together: what goes wrong with one of them must not wait, unseen, for the end of the other.
  const sizes = terminal === undefined ? undefined : followSize(session.resizes, terminal);
  await Promise.all([sizes, takeKeys(session, { stdin, terminal }, signal)]);
}

async function takeKeys(
  session: RemoteCommandServerSession,
  { stdin, terminal }: Pick<Streams, "stdin" | "terminal">,
  signal: AbortSignal,
): Promise<void> {
  if (session.stdin === undefined) return;
  if (terminal !== undefined) {
    await fromClient(session.stdin, (bytes) => terminal.input(bytes, signal), signal);
  } else if (stdin !== undefined) {
    await fromClient(session.stdin, (bytes) => stdin.writer.write(bytes, signal), signal);
    stdin.writer.release();
  }
}

async function giveOutput(session: RemoteCommandServerSession, streams: Streams, signal: AbortSignal): Promise<void> {
  const give = async (pipe: Pipe | undefined, client: typeof session.stdout) => {
    if (pipe === undefined || client === undefined) return;
    await toClient(pipe.reader, client, signal);
    // Whoever still writes is sent SIGPIPE. A terminal nobody looks at just stays full.
    if (streams.terminal === undefined) pipe.reader.release();
  };
  await Promise.all([give(streams.stdout, session.stdout), give(streams.stderr, session.stderr)]);
}

/** A file that is no program is found out by runc only when it has become it: that is an exit code, all else an error. */
async function refuse(
  session: RemoteCommandServerSession,
  cmd: readonly string[],
  error: SpawnError,
  execId: string,
): Promise<void> {
  if (error.path === undefined) {
    await session.finish(internalErrorStatus(`error executing command in container: ${execErrorText(error, execId)}`));
    return;
  }
  const newline = session.options.tty ? "\r\n" : "\n";
  const said = Buffer.from(`exec ${error.path}: ${error.reason}${newline}`);
  await (session.stderr ?? session.stdout)?.write(said).catch(() => {}); // gone: nobody is left to tell
  await session.finish(exitStatus(cmd, 1));
}

/** How a command ended, in upstream's words and containerd's: words of Go's `%v` of a list. */
function exitStatus(cmd: readonly string[], exitCode: number): Status {
  if (exitCode === 0) return SUCCESS;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: `command terminated with non-zero exit code: error executing command [${cmd.join(" ")}], exit code ${exitCode}`,
    reason: NON_ZERO_EXIT_CODE,
    details: { causes: [{ reason: EXIT_CODE_CAUSE, message: String(exitCode) }] },
  };
}
