import type { Status } from "../../../staging/apimachinery/api/meta.js";
import type { RemoteCommandServerSession } from "../../../staging/streaming/remote-command/session.js";
import {
  EXIT_CODE_CAUSE,
  internalErrorStatus,
  NON_ZERO_EXIT_CODE,
  SUCCESS,
} from "../../../staging/streaming/remote-command/status-text.js";
import { Pipe } from "../../shell/process/pipe.js";
import { exitCodeOf, type Process, SpawnError } from "../../shell/process/process.js";
import { Terminal, type TerminalOutput } from "../../shell/process/terminal.js";
import { BytesSource, NullSink } from "../../shell/streams.js";
import type { RunningContainer } from "../state/running.js";
import { execErrorText } from "./exec-errors.js";
import { followSize, fromClient, toClient, whenAborted } from "./pump.js";

/** The client's ends of a command's streams. */
interface Streams {
  readonly stdin: Pipe | undefined;
  readonly stdout: Pipe | undefined;
  readonly stderr: Pipe | undefined;
  readonly terminal: Terminal | undefined;
}

/**
 * Runs a command in a container, with a client's streams.
 *
 * Mirrors containerd's streaming.go (Exec), container_execsync.go (execInContainer) and ServeExec in
 * pkg/kubelet/cri/streaming/remotecommand/exec.go: the exit code follows when the command has ended and all holders
 * have closed its output. A command whose client disconnects is not killed: its stdin ends, and SIGPIPE ends it when it
 * writes. A command that does neither runs until its container ends, and one with a terminal keeps waiting for keys.
 *
 * Differs: the end of input has no effect on a terminal; containerd then drops the command's output.
 *
 * @param execId names this run in error messages
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
    // Failures show up below, once the command has ended or the client is gone.
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
  const { memory } = machine;
  const output = stdout ? new Pipe(memory) : undefined;
  if (!tty) {
    return {
      stdin: stdin ? new Pipe(memory) : undefined,
      stdout: output,
      stderr: stderr ? new Pipe(memory) : undefined,
      terminal: undefined,
    };
  }
  const screen = output === undefined ? new NullSink() : screenOf(output);
  return { stdin: undefined, stdout: output, stderr: undefined, terminal: new Terminal(screen, machine.processes) };
}

/** A terminal's output, waiting in a pipe for its client. */
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
    // The process has its own ends. Ours would keep the pipes open after it has ended.
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
  // Awaited together, so that a failure of one does not stay unseen until the other ends.
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
    // Writers get SIGPIPE. A terminal without a reader stays full.
    if (streams.terminal === undefined) pipe.reader.release();
  };
  await Promise.all([give(streams.stdout, session.stdout), give(streams.stderr, session.stderr)]);
}

/**
 * runc notices a file that is not a program only after exec, so it becomes an exit code; everything else is an error.
 */
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
  await (session.stderr ?? session.stdout)?.write(said).catch(() => {}); // the client is gone
  await session.finish(exitStatus(cmd, 1));
}

/** The result of a command, in upstream's and containerd's words, with Go's `%v` for lists. */
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
