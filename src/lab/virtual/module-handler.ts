import { stat } from "node:fs/promises";
import { totalmem } from "node:os";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { ChildAbort, onAbort } from "../../util/async/abort.js";
import { AsyncQueue } from "../../util/async/async-queue.js";
import { type Clock, SystemClock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import { describeFileError } from "../../util/os/files.js";
import { MAX_FILE_BYTES } from "../../util/os/read-at-most.js";
import type { Timer } from "../../util/timer.js";
import {
  ABANDONED_EXIT_CODE,
  CANCELLED_EXIT_CODE,
  type HandlerEvent,
  type HandlerSignals,
  type HandlerTask,
  type PodHandler,
  reasonText,
} from "./handler.js";
import { failed, type HandlerOutcome, readOutcome, readProgress } from "./outcome.js";
import { WORKER_CODE } from "./worker-code.js";

/** A thread pauses while more than this many bytes of its messages are unread. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** How many of these bytes a progress message counts for; the thread uses the same number. */
const PROGRESS_WEIGHT = 1024;
/** Heap of a thread: a thread that needs more ends, and its pod fails. */
const MAX_HEAP_MB = 256;
/** Buffers are outside the heap. A thread that blocks does not check them, so that the process is checked too. */
const MAX_BUFFER_MB = 256;
const MAX_RSS_BYTES = 4 * 1024 * 1024 * 1024;
const MEMORY_CHECK_PERIOD_MS = 250;
/** A module that takes longer to load is refused. */
const LOAD_TIMEOUT_MS = 10_000;

type Message =
  | { readonly kind: "log"; readonly stream: "stdout" | "stderr"; readonly bytes: Uint8Array }
  | { readonly kind: "progress"; readonly value: unknown; readonly text?: unknown }
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "thrown"; readonly text: string; readonly isAbort: boolean }
  | { readonly kind: "unreadable" | "broken"; readonly text: string }
  | { readonly kind: "fine" }
  | { readonly kind: "killed" }
  | { readonly kind: "died"; readonly text: string };

const EXPECTED = "Write it as `export default async function ({ pod, signal, log, progress }) { ... }`.";

/** A handler that is a function of an ES module, called in a separate thread for each pod. */
export class ModuleHandler implements PodHandler {
  /**
   * @param path absolute
   * @param description as the learner wrote it
   * @param memory the clock of the checks, and the resident memory of this process above which handlers are ended
   */
  constructor(
    readonly path: string,
    readonly description: string,
    readonly memory: { readonly clock: Clock; readonly maxBytes: number } = {
      clock: new SystemClock(),
      maxBytes: Math.min(totalmem() / 2, MAX_RSS_BYTES),
    },
  ) {}

  /**
   * Loads the module once, to check that it exports a function.
   * @throws LabError BAD_FILE
   */
  async check(clock: Clock, signal: AbortSignal): Promise<void> {
    const problem = (await this.#fileProblem()) ?? (await this.#loadProblem(clock, signal));
    if (problem !== undefined) throw new LabError("BAD_FILE", `handler ${this.description}: ${problem}`, EXPECTED);
  }

  async *run(task: HandlerTask, { abort, kill }: HandlerSignals): AsyncGenerator<HandlerEvent> {
    await using thread = new Thread(this.path, task);
    using _abort = onAbort(abort, () => thread.abort(reasonText(abort)));
    using _kill = onAbort(kill, () => thread.push({ kind: "killed" }));
    using _memory = this.#watchMemory(thread);
    for await (const message of thread.messages) {
      if (kill.aborted) break;
      if (message.kind === "log") {
        yield message;
        thread.taken(message.bytes.length);
      } else if (message.kind === "progress") {
        const progress = readProgress(message.value, message.text);
        if (progress !== undefined) yield { kind: "progress", progress };
        thread.taken(PROGRESS_WEIGHT);
      } else {
        yield { kind: "end", outcome: outcomeOf(message, this.description) };
        return;
      }
    }
    const outcome = failed("Abandoned", "the handler did not stop when it was asked to", ABANDONED_EXIT_CODE);
    yield { kind: "end", outcome };
  }

  /** A thread that allocates without pause cannot check itself. Node does not report which thread it is, so all are ended. */
  #watchMemory(thread: Thread): Disposable {
    const { clock, maxBytes } = this.memory;
    let timer: Timer;
    const check = () => {
      if (process.memoryUsage.rss() <= maxBytes) {
        timer = clock.timer(MEMORY_CHECK_PERIOD_MS, check);
        return;
      }
      const text = `the node needs more than ${Math.round(maxBytes / 1024 / 1024)} MB of memory, and ends its handlers`;
      thread.end({ kind: "died", text });
    };
    timer = clock.timer(MEMORY_CHECK_PERIOD_MS, check);
    return { [Symbol.dispose]: () => timer.stop() };
  }

  async #fileProblem(): Promise<string | undefined> {
    try {
      const file = await stat(this.path);
      if (!file.isFile()) return "it is not a file";
      return file.size > MAX_FILE_BYTES ? `it has more than ${MAX_FILE_BYTES / 1048576} MiB` : undefined;
    } catch (error) {
      return describeFileError(error);
    }
  }

  async #loadProblem(clock: Clock, signal: AbortSignal): Promise<string | undefined> {
    await using thread = new Thread(this.path, undefined);
    using given = new ChildAbort(signal);
    try {
      const late = clock.sleep(LOAD_TIMEOUT_MS, given.signal).then(() => {
        return `it did not load within ${LOAD_TIMEOUT_MS / 1000} s`;
      });
      return await Promise.race([late, loaded(thread)]);
    } finally {
      given.abort();
    }
  }
}

async function loaded(thread: Thread): Promise<string | undefined> {
  for await (const message of thread.messages) {
    if (message.kind === "log") thread.taken(message.bytes.length);
    else if (message.kind === "broken" || message.kind === "died") return message.text;
    else return undefined;
  }
  return "its thread ended";
}

function outcomeOf(message: Exclude<Message, { readonly kind: "log" | "progress" }>, name: string): HandlerOutcome {
  switch (message.kind) {
    case "returned":
      return readOutcome(message.value);
    case "unreadable":
      return failed("HandlerResultInvalid", `the handler's return value cannot be read: ${message.text}`);
    case "thrown":
      return message.isAbort
        ? failed("Cancelled", `the handler stopped: ${message.text}`, CANCELLED_EXIT_CODE)
        : failed("HandlerError", message.text);
    case "broken":
      return failed("HandlerError", `${name}: ${message.text}`);
    case "killed":
      return failed("Abandoned", "the handler did not stop when it was asked to", ABANDONED_EXIT_CODE);
    case "died":
      return failed("HandlerError", message.text);
    default:
      return failed("HandlerError", `the handler sent ${message.kind}`);
  }
}

/** One thread and its messages. */
class Thread {
  readonly messages = new AsyncQueue<Message>();
  readonly #worker: Worker;
  readonly #waiting = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);

  constructor(path: string, task: HandlerTask | undefined) {
    const data = {
      url: pathToFileURL(path).href,
      waiting: this.#waiting,
      maxWaiting: MAX_WAITING_BYTES,
      maxBufferMb: MAX_BUFFER_MB,
    };
    this.#worker = new Worker(WORKER_CODE, {
      eval: true,
      workerData: task === undefined ? { ...data, onlyCheck: true } : { ...data, task },
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    this.#worker.on("message", (message: Message) => this.push(message));
    this.#worker.on("error", (error: unknown) => {
      const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      this.push({ kind: "died", text: `its thread ended: ${text}` });
    });
    this.#worker.on("exit", (code) => {
      this.push({ kind: "died", text: `its thread ended before the function did (exit code ${code})` });
      this.messages.close();
    });
  }

  push(message: Message): void {
    this.messages.push(message);
  }

  /** Ends the thread. Its unread messages are lost. */
  end(message: Message): void {
    this.messages.takeAll();
    this.push(message);
    void this.#worker.terminate();
  }

  abort(why: string): void {
    this.#worker.postMessage(why);
  }

  /** Acknowledges this much of the log, so that the thread can continue. */
  taken(byteCount: number): void {
    const counter = new Int32Array(this.#waiting);
    Atomics.sub(counter, 0, byteCount);
    Atomics.notify(counter, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.messages.close();
    await this.#worker.terminate();
  }
}
