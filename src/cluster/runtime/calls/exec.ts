import { RpcError } from "../../../staging/cri/grpc/status.js";
import type { ExecSyncRequest } from "../../../staging/cri/messages/container-calls.js";
import type { Clock } from "../../../util/clock.js";
import { exitCodeOf, type Process, SpawnError } from "../../shell/process/process.js";
import { SIGKILL } from "../../shell/process/signals.js";
import { BytesSource, CollectingSink } from "../../shell/streams.js";
import { invalid } from "../errors.js";
import type { RunningContainer } from "../state/running.js";
import { execErrorText } from "../streaming/exec-errors.js";

/** The limit of each ExecSync stream, in containerd and by the message size. */
const MAX_STREAM_BYTES = 16 * 1024 * 1024;
/** Both streams must fit into one message of 16 MB. */
const MAX_BOTH_BYTES = MAX_STREAM_BYTES - 64 * 1024;

export interface ExecResult {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly exitCode: number;
}

/**
 * Runs a command in a container and waits for it.
 *
 * Mirrors containerd's container_execsync.go. Differs: both streams together are cut to the size of one message; with
 * containerd the caller would get nothing.
 * @param execId names this run in error messages
 * @throws RpcError DeadlineExceeded after the timeout (the command is killed), Unknown if the command cannot start
 */
export async function execSync(
  running: RunningContainer,
  { cmd, timeout }: Pick<ExecSyncRequest, "cmd" | "timeout">,
  clock: Clock,
  signal: AbortSignal,
  execId = "",
): Promise<ExecResult> {
  if (cmd.length === 0) throw invalid("failed to exec in container: no command was given");
  const stdout = new CollectingSink(MAX_STREAM_BYTES);
  const stderr = new CollectingSink(MAX_STREAM_BYTES);
  const process = spawn(running, cmd, stdout, stderr, execId);
  const over = new AbortController();
  const either = AbortSignal.any([over.signal, signal]);
  const timedOut =
    timeout > 0n
      ? clock.sleep(Number(timeout) * 1000, either).then(
          () => "timed-out" as const,
          () => "aborted" as const,
        )
      : aborted(either);
  const first = await Promise.race([process.exited, timedOut]);
  over.abort();
  if (first === "timed-out" || first === "aborted") {
    process.kill(SIGKILL);
    signal.throwIfAborted();
    throw new RpcError(
      "DeadlineExceeded",
      `failed to exec in container: timeout ${timeout}s exceeded: context deadline exceeded`,
    );
  }
  const out = stdout.bytes();
  return {
    stdout: out,
    stderr: stderr.bytes().subarray(0, Math.max(0, MAX_BOTH_BYTES - out.length)),
    exitCode: exitCodeOf(first),
  };
}

function spawn(
  running: RunningContainer,
  argv: readonly string[],
  stdout: CollectingSink,
  stderr: CollectingSink,
  execId: string,
): Process {
  const { machine, env, cwd } = running;
  try {
    return machine.spawn({ argv, env, cwd, stdin: new BytesSource(), stdout, stderr, parentPid: 0, group: "new" });
  } catch (error) {
    if (!(error instanceof SpawnError)) throw error;
    throw new RpcError("Unknown", execErrorText(error, execId));
  }
}

function aborted(signal: AbortSignal): Promise<"aborted"> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve("aborted");
    else signal.addEventListener("abort", () => resolve("aborted"), { once: true });
  });
}
