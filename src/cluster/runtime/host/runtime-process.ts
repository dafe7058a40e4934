import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { RpcError } from "../../../staging/cri/grpc/status.js";
import { type ClockFollower, SystemClock } from "../../../util/clock.js";
import { elsewhere } from "../../../util/os/event-loop.js";
import { residentBytes } from "../../../util/os/resident-memory.js";
import type { Timer } from "../../../util/timer.js";
import {
  type ControlCall,
  fromErrorMessage,
  type HostMessage,
  type ProcessMessage,
  type ProcessOptions,
} from "./messages.js";

/** Put in by the build and by the tests: the program of a runtime's process. */
declare const KUBELAB_RUNTIME_PROCESS: string;

/** The limit of the process's memory, including files of containers, as a multiple of that for JavaScript objects. */
const RSS_PER_HEAP = 2;
const LOOK_MS = 250;
/** A process that is busy with a container does not read its messages. */
const CLOSE_PATIENCE_MS = 500;
const MAX_STDERR = 16_384;

interface PendingCall {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** What a process reports while it runs. */
export interface ProcessListener {
  onMessage(message: Extract<ProcessMessage, { readonly type: "fact" | "change" }>): void;
  /** called every 250 ms */
  onLook(): void;
  /** @param why `ran out of memory (its heap is limited to 256 MB)` */
  onEnd(why: string): void;
}

/**
 * One process of an embedded runtime. A process, not a thread: V8 ends the whole process when one allocation exceeds a
 * thread's limit.
 */
export class RuntimeProcess {
  readonly #child: ChildProcess;
  readonly #calls = new Map<number, PendingCall>();
  readonly #clock = new SystemClock();
  readonly #listening: PendingCall & { readonly promise: Promise<unknown> } = pending();
  readonly #ended: Promise<void>;
  #nextId = 1;
  #stderr = "";
  #killedBecause: string | undefined;
  #isClosing = false;
  #hasEnded = false;
  #look: Timer | undefined;

  private constructor(
    options: ProcessOptions,
    readonly maxHeapMb: number,
    readonly listener: ProcessListener,
  ) {
    this.#child = fork(programPath(), [JSON.stringify(options)], {
      execArgv: [`--max-old-space-size=${maxHeapMb}`],
      serialization: "advanced",
      cwd: options.rootDir,
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      // In its own session, the process gets no Ctrl-C; the host closes it.
      detached: true,
    });
    this.#child.on("message", (message: ProcessMessage) => this.#take(message));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-MAX_STDERR);
    });
    this.#ended = new Promise((resolve) => {
      this.#child.once("error", ({ message }) => this.#end(`could not be started: ${message}`, resolve));
      this.#child.once("close", (code, signal) => this.#end(this.#why(code, signal), resolve));
    });
    this.#lookLater();
  }

  /** @returns the endpoint, and the process, once it listens @throws LabError as `startRuntime` */
  static async start(
    options: ProcessOptions,
    maxHeapMb: number,
    listener: ProcessListener,
  ): Promise<{ readonly endpoint: string; readonly process: RuntimeProcess }> {
    const process = new RuntimeProcess(options, maxHeapMb, listener);
    const endpoint = (await elsewhere(process.#listening.promise)) as string;
    return { endpoint, process };
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** @throws RpcError, LabError as the method; RpcError Unavailable when the process ends */
  call(call: ControlCall): Promise<unknown> {
    return this.#ask((id) => ({ type: "call", id, ...call }));
  }

  /** As `ClockFollower.settle`. @throws RpcError Unavailable when the process ends */
  settle(): ReturnType<ClockFollower["settle"]> {
    return this.#ask((id) => ({ type: "settle", id })) as ReturnType<ClockFollower["settle"]>;
  }

  #ask(message: (id: number) => HostMessage): Promise<unknown> {
    const id = this.#nextId++;
    const answer = pending();
    this.#calls.set(id, answer);
    this.send(message(id));
    return answer.promise;
  }

  send(message: HostMessage): void {
    // `close` reports a process that does not take messages.
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  /** Lets the process close its runtime, and kills it when that takes long. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.send({ type: "close" });
    const late = this.#clock.timer(CLOSE_PATIENCE_MS, () => this.#child.kill("SIGKILL"));
    await this.#ended;
    late.stop();
  }

  #take(message: ProcessMessage): void {
    switch (message.type) {
      case "listening":
        this.#listening.resolve(message.endpoint);
        return;
      case "refused":
        this.#listening.reject(fromErrorMessage(message.error));
        return;
      case "answer":
        this.#calls.get(message.id)?.resolve(message.value);
        this.#calls.delete(message.id);
        return;
      case "failed":
        this.#calls.get(message.id)?.reject(fromErrorMessage(message.error));
        this.#calls.delete(message.id);
        return;
      default:
        this.listener.onMessage(message);
    }
  }

  #lookLater(): void {
    this.#look = this.#clock.timer(LOOK_MS, () => {
      this.listener.onLook();
      const maxMb = this.maxHeapMb * RSS_PER_HEAP;
      // Other systems have only the limit of the heap.
      if (residentBytes(this.#child.pid) > maxMb * 2 ** 20) this.#kill(`needed more than ${maxMb} MB of memory`);
      else this.#lookLater();
    });
  }

  #kill(why: string): void {
    this.#killedBecause = why;
    this.#child.kill("SIGKILL");
  }

  #end(why: string, resolve: () => void): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#look?.stop();
    const gone = new RpcError("Unavailable", `the container runtime ${why}`);
    this.#listening.reject(gone);
    for (const call of this.#calls.values()) call.reject(gone);
    this.#calls.clear();
    if (!this.#isClosing) this.listener.onEnd(why);
    resolve();
  }

  #why(code: number | null, signal: NodeJS.Signals | null): string {
    if (this.#killedBecause !== undefined) return this.#killedBecause;
    if (this.#stderr.includes("heap out of memory")) {
      return `ran out of memory (its heap is limited to ${this.maxHeapMb} MB)`;
    }
    if (signal !== null) return `was killed (${signal})`;
    const error = crashReason(this.#stderr);
    return error === undefined ? `ended with exit code ${code}` : `crashed: ${error}`;
  }
}

function programPath(): string {
  return fileURLToPath(new URL(KUBELAB_RUNTIME_PROCESS, import.meta.url));
}

function pending(): PendingCall & { readonly promise: Promise<unknown> } {
  let settle: PendingCall | undefined;
  const promise = new Promise<unknown>((resolve, reject) => {
    settle = { resolve, reject };
  });
  // A caller that left must not cause an unhandled rejection.
  promise.catch(() => {});
  return { promise, resolve: (value) => settle?.resolve(value), reject: (error) => settle?.reject(error) };
}

/** The line of Node's report that names the error: `TypeError: x`, `TypeError [ERR_X]: x`, `DOMException [AbortError]: x`. */
const ERROR_LINE = /^(?:\w*Error|DOMException|UnhandledPromiseRejection)(?: \[\w+\])?: .*$/m;

/** Why a Node process ended. @returns the error that its stderr reports; undefined without one */
export function crashReason(stderr: string): string | undefined {
  return ERROR_LINE.exec(stderr)?.[0];
}
