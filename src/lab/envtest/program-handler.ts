import { onAbort } from "../../util/async/abort.js";
import { AsyncQueue } from "../../util/async/async-queue.js";
import {
  ABANDONED_EXIT_CODE,
  CANCELLED_EXIT_CODE,
  type HandlerEvent,
  type HandlerSignals,
  type HandlerTask,
  type PodHandler,
  reasonText,
} from "../virtual/handler.js";
import { failed, type HandlerOutcome, readOutcome, readProgress } from "../virtual/outcome.js";
import type { TestbedMessage, WorkEvent } from "./messages.js";

/** The runs of functions in the program that started this process. */
export class ProgramRuns {
  readonly #queues = new Map<number, AsyncQueue<WorkEvent>>();
  #lastRun = 0;

  constructor(readonly send: (message: TestbedMessage) => void) {}

  /** Passes a report on to its run. An abandoned run has no reader. */
  take(run: number, event: WorkEvent): void {
    this.#queues.get(run)?.push(event);
  }

  /** A handler whose function is in the program. */
  handlerOf(node: string): PodHandler {
    return { description: "a function of the program", run: (task, signals) => this.#run(node, task, signals) };
  }

  async *#run(node: string, task: HandlerTask, { abort, kill }: HandlerSignals): AsyncGenerator<HandlerEvent> {
    const run = ++this.#lastRun;
    const queue = new AsyncQueue<WorkEvent>();
    this.#queues.set(run, queue);
    using _abort = onAbort(abort, () => this.send({ type: "abort", run, reason: reasonText(abort) }));
    using _kill = onAbort(kill, () => queue.close());
    try {
      this.send({ type: "run", run, node, task });
      for await (const event of queue) {
        if (kill.aborted) break;
        if (event.kind === "log") yield event;
        else if (event.kind === "progress") {
          const progress = readProgress(event.fraction, event.text);
          if (progress !== undefined) yield { kind: "progress", progress };
        } else {
          yield { kind: "end", outcome: outcomeOf(event, abort.aborted) };
          return;
        }
      }
      const text = "the handler did not stop when it was asked to";
      yield { kind: "end", outcome: failed("Abandoned", text, ABANDONED_EXIT_CODE) };
    } finally {
      this.#queues.delete(run);
    }
  }
}

function outcomeOf(
  event: Extract<WorkEvent, { readonly kind: "returned" | "thrown" }>,
  isAborted: boolean,
): HandlerOutcome {
  if (event.kind === "returned") return readOutcome(event.value);
  return isAborted
    ? failed("Cancelled", `the handler stopped: ${event.message}`, CANCELLED_EXIT_CODE)
    : failed("HandlerError", event.message);
}
