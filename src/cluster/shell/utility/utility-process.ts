import { type ChildProcess, fork } from "node:child_process";
import type { Socket } from "node:net";
import { setPriority } from "node:os";
import { fileURLToPath } from "node:url";
import { SystemClock } from "../../../util/clock.js";
import { messageOf } from "../../../util/errors.js";
import { residentBytes } from "../../../util/os/resident-memory.js";
import type { FromUtility, RemoteMethod, ToUtility, UtilityCommand, UtilityResult } from "./messages.js";

/** Put in by the build and by the tests: the program of a utility process. */
declare const KUBELAB_UTILITY_PROCESS: string;

/** just-bash needs about 30 MB of it. Only the last limit, for systems that do not show the memory of a process. */
const MAX_HEAP_MB = 192;
/** New objects wait here for the next collection. V8's default, 16 MB, is a third of what most commands need. */
const MAX_SEMI_SPACE_MB = 2;
/** Not counted as memory of a command: Node.js and just-bash take 70 MB, and garbage waits for collection. A real `awk` has neither. */
const OWN_BYTES = 100_000_000;
/** How often the memory of a running command is read. Most commands take less time. */
const LOOK_MS = 20;
/** Commands have a lower priority than the cluster. */
const NICENESS = 5;
const MAX_STDERR = 16_384;

/** A text or the heap of a command has reached its limit. */
export class UtilityOutOfMemoryError extends Error {
  override readonly name = "UtilityOutOfMemoryError";
}

/** Serves a call of a command: an operation on the container's files, or a sleep. */
export type Serve = (method: RemoteMethod, given: readonly unknown[]) => Promise<unknown>;

/** What a running command needs from its container. */
export interface UtilityListener {
  readonly serve: Serve;
  /** Called again and again with the memory of the command, as far as the system shows it. Must not throw. */
  onMemory(bytes: number): void;
}

/**
 * A process that runs commands of just-bash, one at a time. They compute without a pause and can need any amount of
 * memory, so only a process of their own can be interrupted and limited.
 */
export class UtilityProcess {
  readonly #child: ChildProcess;
  readonly #clock = new SystemClock();
  #stderr = "";
  #serve: Serve = () => Promise.reject(new Error("no command runs"));
  #end: { resolve(result: UtilityResult): void; reject(error: unknown): void } | undefined;
  #failure: Error | undefined;

  constructor() {
    this.#child = fork(fileURLToPath(new URL(KUBELAB_UTILITY_PROCESS, import.meta.url)), [], {
      execArgv: [`--max-old-space-size=${MAX_HEAP_MB}`, `--max-semi-space-size=${MAX_SEMI_SPACE_MB}`],
      env: {},
      serialization: "advanced",
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#child.on("message", (message: FromUtility) => this.#take(message));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-MAX_STDERR);
    });
    this.#child.once("error", (error) => this.#fail(error));
    this.#child.once("close", (code, signal) => this.#fail(this.#why(code, signal)));
    // Idle processes do not keep their program alive; they end with it.
    this.#child.unref();
    this.#child.channel?.unref();
    (this.#child.stderr as Socket | null)?.unref();
    if (this.#child.pid !== undefined) lowerPriority(this.#child.pid);
  }

  /** whether it can run another command, without memory left over from the last one */
  get isUsable(): boolean {
    return this.#failure === undefined && this.#end === undefined && this.#commandBytes === 0;
  }

  get #commandBytes(): number {
    return Math.max(0, residentBytes(this.#child.pid) - OWN_BYTES);
  }

  /**
   * Runs a command. An abort ends the process.
   * @throws UtilityOutOfMemoryError; the signal's reason; an Error if the process cannot run
   */
  async run(
    command: UtilityCommand,
    { serve, onMemory }: UtilityListener,
    signal: AbortSignal,
  ): Promise<UtilityResult> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#serve = serve;
    const look = () => {
      onMemory(this.#commandBytes);
      timer = this.#clock.timer(LOOK_MS, look);
    };
    let timer = this.#clock.timer(LOOK_MS, look);
    const kill = () => {
      this.kill();
      this.#end?.reject(signal.reason);
    };
    try {
      return await new Promise<UtilityResult>((resolve, reject) => {
        this.#end = { resolve, reject };
        signal.addEventListener("abort", kill, { once: true });
        if (signal.aborted) kill();
        else this.#send({ type: "run", command });
      });
    } finally {
      timer.stop();
      signal.removeEventListener("abort", kill);
      this.#end = undefined;
    }
  }

  kill(): void {
    this.#failure ??= new Error("the utility process was killed");
    this.#child.kill("SIGKILL");
  }

  #take(message: FromUtility): void {
    if (message.type === "ended") this.#end?.resolve(message.result);
    else if (message.type === "out-of-memory") this.#end?.reject(new UtilityOutOfMemoryError("out of memory"));
    else void this.#answer(message);
  }

  async #answer({ id, method, given }: Extract<FromUtility, { readonly type: "call" }>): Promise<void> {
    try {
      this.#send({ type: "answer", id, value: await this.#serve(method, given) });
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : undefined;
      this.#send({ type: "failed", id, message: messageOf(error), code });
    }
  }

  /** A message that cannot be sent has no reader: the process has ended, which `close` reports. */
  #send(message: ToUtility): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#end?.reject(this.#failure);
  }

  #why(code: number | null, signal: NodeJS.Signals | null): Error {
    if (this.#stderr.includes("out of memory")) return new UtilityOutOfMemoryError("out of memory");
    return new Error(signal === null ? `the utility process ended with exit code ${code}` : `was killed (${signal})`);
  }
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICENESS);
  } catch {
    // It has ended, or the system does not allow it.
  }
}
