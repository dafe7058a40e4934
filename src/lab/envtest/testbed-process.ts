import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import { fromErrorMessage } from "../../cluster/runtime/host/messages.js";
import { LabError, messageOf } from "../../util/errors.js";
import type { HandlerTask } from "../virtual/handler.js";
import type { PodFunction } from "./api.js";
import type { Calls, Method, ProgramMessage, TestbedMessage, WorkEvent } from "./messages.js";

/** Next to the bundle of this file. */
const PROGRAM = "./testbed.js";
const MAX_STDERR = 16_384;

interface PendingCall {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/**
 * The process of a cluster or a runtime that a program started. It keeps the program's process alive only while the
 * program waits for it, and ends with the program.
 */
export class TestbedProcess {
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, PendingCall>();
  readonly #functions = new Map<string, PodFunction>();
  readonly #running = new Map<number, AbortController>();
  readonly #ended: Promise<void>;
  #lastId = 0;
  #stderr = "";
  #why: string | undefined;
  #closed: Promise<void> | undefined;

  constructor() {
    const { NODE_OPTIONS: _ofTheProgram, ...env } = process.env;
    this.#child = fork(fileURLToPath(new URL(PROGRAM, import.meta.url)), [], {
      execArgv: [],
      env,
      serialization: "advanced",
      stdio: ["ignore", "ignore", "pipe", "ipc"],
      // In a session of its own, Ctrl-C reaches only the program.
      detached: true,
    });
    this.#child.on("message", (message: TestbedMessage) => this.#take(message));
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-MAX_STDERR);
    });
    this.#ended = new Promise((resolve) => {
      const end = (why: string) => {
        this.#end(why);
        resolve();
      };
      this.#child.once("error", ({ message }) => end(`could not be started: ${message}`));
      this.#child.once("close", (code, signal) => end(`ended with ${signal ?? `exit code ${code}`}`));
    });
    this.#hold();
  }

  /** @throws LabError as the method; FAILED if the process has ended */
  call<M extends Method>(method: M, given: Calls[M]["given"]): Promise<Calls[M]["result"]> {
    return new Promise((resolve, reject) => {
      if (!this.isOpen || !this.#child.connected) return reject(this.#gone());
      const id = ++this.#lastId;
      this.#pending.set(id, { resolve: (value) => resolve(value as Calls[M]["result"]), reject });
      this.#hold();
      this.#send({ type: "call", id, method, given });
    });
  }

  get isOpen(): boolean {
    return this.#closed === undefined && this.#why === undefined;
  }

  /** Keeps the function that does the work of this node's pods. */
  keep(node: string, handler: PodFunction): void {
    this.#functions.set(node, handler);
  }

  /** Ends the process with everything that it runs. Safe to call twice. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    if (this.#why !== undefined) return;
    this.#child.ref();
    this.#send({ type: "close" });
    await this.#ended;
  }

  #send(message: ProgramMessage): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  #take(message: TestbedMessage): void {
    switch (message.type) {
      case "answer":
        this.#settle(message.id, (call) => call.resolve(message.value));
        return;
      case "failed":
        this.#settle(message.id, (call) => call.reject(fromErrorMessage(message.error)));
        return;
      case "abort":
        this.#running.get(message.run)?.abort(new DOMException(message.reason, "AbortError"));
        return;
      default:
        void this.#run(message);
    }
  }

  #settle(id: number, settle: (call: PendingCall) => void): void {
    const call = this.#pending.get(id);
    this.#pending.delete(id);
    this.#hold();
    if (call !== undefined) settle(call);
  }

  async #run({ run, node, task }: Extract<TestbedMessage, { readonly type: "run" }>): Promise<void> {
    const handler = this.#functions.get(node);
    if (handler === undefined) return;
    const stop = new AbortController();
    this.#running.set(run, stop);
    await runWork(handler, task, stop.signal, (event) => this.#send({ type: "work", run, event }));
    this.#running.delete(run);
  }

  /** The program waits for this process while a call is pending. */
  #hold(): void {
    const { channel, stderr } = this.#child;
    const isWaiting = this.#pending.size > 0;
    if (isWaiting) {
      this.#child.ref();
      channel?.ref();
    } else {
      this.#child.unref();
      channel?.unref();
    }
    // A pipe to a child is a socket.
    (stderr as unknown as { unref?(): void } | null)?.unref?.();
  }

  #end(why: string): void {
    if (this.#why !== undefined) return;
    this.#why = why;
    for (const call of this.#pending.values()) call.reject(this.#gone());
    this.#pending.clear();
    for (const stop of this.#running.values()) stop.abort(new DOMException("the node has ended", "AbortError"));
  }

  #gone(): LabError {
    const message =
      this.#closed === undefined ? `its process ${this.#why ?? "has ended"}` : "it has been closed, or is being closed";
    const hint = this.#stderr.trim() || "Start it again.";
    return new LabError("FAILED", message, hint);
  }
}

/** Calls a program's function for one pod, and reports what it logs, how far it is and how it ends. Never throws. */
async function runWork(
  handler: PodFunction,
  { pod, containers }: HandlerTask,
  signal: AbortSignal,
  report: (event: WorkEvent) => void,
): Promise<void> {
  const log = (...values: readonly unknown[]) => {
    const line = values.map((value) => (typeof value === "string" ? value : inspect(value))).join(" ");
    report({ kind: "log", stream: "stdout", bytes: Buffer.from(`${line}\n`) });
  };
  const progress = (fraction: number, text?: string) => report({ kind: "progress", fraction, text });
  try {
    const value = await handler({ pod: { ...pod }, containers, signal, log, progress });
    report({ kind: "returned", value: sendable(value) });
  } catch (error) {
    report({ kind: "thrown", message: messageOf(error) });
  }
}

/** What has functions or the like in it cannot be sent: the pod then fails, and its message shows the value. */
function sendable(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return [inspect(value, { depth: 1 })];
  }
}
