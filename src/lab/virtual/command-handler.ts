import { type ChildProcess, spawn } from "node:child_process";
import { kill as sendSignal } from "node:process";
import type { Readable, Writable } from "node:stream";
import { onAbort } from "../../util/async/abort.js";
import { AsyncQueue } from "../../util/async/async-queue.js";
import type { CommandNotes } from "./command-notes.js";
import {
  ABANDONED_EXIT_CODE,
  CANCELLED_EXIT_CODE,
  type HandlerEvent,
  type HandlerSignals,
  type HandlerTask,
  type PodHandler,
} from "./handler.js";
import { failed, type HandlerOutcome, readOutcome, readProgress, SUCCEEDED } from "./outcome.js";

/** The file descriptor on which a command reports progress and results: JSON, one object per line. */
const REPORT_FD = 3;
/** A longer line is dropped. */
const MAX_LINE = 64 * 1024;
/** Reading from the pipes pauses while more pieces of output than this wait to be written. */
const MAX_WAITING = 16;

/**
 * A handler that is a shell command. It gets the pod as JSON on stdin; its output is the log, its exit code the result.
 * It reports more on descriptor 3: `{"progress": 0.4, "message": "..."}`, `{"result": {"reason": ...}}`.
 */
export class CommandHandler implements PodHandler {
  readonly description: string;

  /**
   * @param env of every command, in addition to that of its pod's first container
   * @param notes records running commands for the next kubelet, if this one is killed; default: no records
   */
  constructor(
    readonly command: string,
    readonly env: Readonly<Record<string, string | undefined>>,
    readonly notes?: CommandNotes,
  ) {
    this.description = command;
  }

  async *run(task: HandlerTask, { abort, kill }: HandlerSignals): AsyncGenerator<HandlerEvent> {
    const running = new RunningCommand(this, task);
    using _abort = onAbort(abort, () => running.signal("SIGTERM"));
    using _kill = onAbort(kill, () => running.abandon());
    try {
      for await (const event of running.events) {
        yield event;
        running.taken();
      }
      yield { kind: "end", outcome: running.outcome(abort.aborted) };
    } finally {
      running.signal("SIGKILL");
    }
  }
}

type CommandEnd = { readonly code: number | null; readonly signal: string | null } | { readonly error: string };

/** One process group and its output. */
class RunningCommand {
  readonly events = new AsyncQueue<HandlerEvent>();
  readonly #child: ChildProcess;
  readonly #outputs: readonly Readable[];
  #end: CommandEnd | undefined;
  #result: HandlerOutcome | undefined;
  #isAbandoned = false;
  #line = "";

  constructor({ command, env, notes }: CommandHandler, task: HandlerTask) {
    const { name, namespace, uid } = task.pod.metadata;
    const own = { KUBELAB_POD_NAME: name, KUBELAB_POD_NAMESPACE: namespace, KUBELAB_POD_UID: uid };
    this.#child = spawn("/bin/sh", ["-c", command], {
      env: { ...env, ...task.containers[0]?.env, ...own },
      stdio: ["pipe", "pipe", "pipe", "pipe"],
      // A new process group, so that a signal also reaches the shell's children.
      detached: true,
    });
    const { pid } = this.#child;
    const forget = pid === undefined ? undefined : notes?.begun(pid);
    const [stdin, stdout, stderr] = this.#child.stdio;
    const reports = (this.#child.stdio[REPORT_FD] ?? null) as Readable | null;
    this.#outputs = [stdout, stderr, reports].filter((one): one is Readable => one !== null);
    this.#read(stdout, "stdout");
    this.#read(stderr, "stderr");
    reports?.on("data", (chunk: Buffer) => {
      this.#readReports(chunk.toString());
      this.#mayPause();
    });
    // A command does not have to read its pod.
    stdin?.on("error", () => undefined);
    (stdin as Writable | null)?.end(JSON.stringify(task));
    this.#child.on("error", (error) => this.#over({ error: error.message }));
    // As in a container: background processes are killed with the command and do not delay its end.
    this.#child.on("exit", () => {
      this.signal("SIGKILL");
      forget?.();
    });
    this.#child.on("close", (code, signal) => this.#over({ code, signal }));
  }

  #read(stream: Readable | null, name: "stdout" | "stderr"): void {
    stream?.on("data", (bytes: Buffer) => {
      this.events.push({ kind: "log", stream: name, bytes });
      this.#mayPause();
    });
  }

  #mayPause(): void {
    if (this.events.size > MAX_WAITING) for (const one of this.#outputs) one.pause();
  }

  /** One event was consumed. */
  taken(): void {
    if (this.events.size === 0) for (const one of this.#outputs) one.resume();
  }

  #readReports(text: string): void {
    const lines = (this.#line + text).split("\n");
    const rest = lines.pop() ?? "";
    this.#line = rest.length > MAX_LINE ? "" : rest;
    for (const line of lines) this.#takeReport(line);
  }

  #takeReport(line: string): void {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      value = undefined;
    }
    if (typeof value === "object" && value !== null && "result" in value) {
      this.#result = readOutcome(value.result);
      return;
    }
    const isObject = typeof value === "object" && value !== null;
    const { progress: fraction, message } = isObject ? (value as Readonly<Record<string, unknown>>) : {};
    const progress = fraction === undefined ? readProgress(message) : readProgress(fraction, message);
    if (progress !== undefined) this.events.push({ kind: "progress", progress });
  }

  #over(end: CommandEnd): void {
    this.#end ??= end;
    if (this.#line !== "") this.#takeReport(this.#line);
    this.#line = "";
    this.events.close();
  }

  signal(name: "SIGTERM" | "SIGKILL"): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      sendSignal(-pid, name);
    } catch {
      // The process group is empty.
    }
  }

  abandon(): void {
    this.#isAbandoned = true;
    this.signal("SIGKILL");
    this.events.close();
  }

  outcome(wasAborted: boolean): HandlerOutcome {
    const end = this.#end;
    if (this.#isAbandoned || end === undefined) {
      return failed("Abandoned", "the command did not stop when it was asked to", ABANDONED_EXIT_CODE);
    }
    if ("error" in end) return failed("HandlerError", `the command could not be run: ${end.error}`);
    const { code, signal } = end;
    if (code === 0) return this.#result ?? SUCCEEDED;
    if (wasAborted) return failed("Cancelled", "the command stopped when it was asked to", CANCELLED_EXIT_CODE);
    if (this.#result?.phase === "Failed") return { ...this.#result, exitCode: code ?? this.#result.exitCode };
    const how = code === null ? `was ended by ${signal}` : `exited with ${code}`;
    return failed("Error", `the command ${how}`, code ?? ABANDONED_EXIT_CODE);
  }
}
