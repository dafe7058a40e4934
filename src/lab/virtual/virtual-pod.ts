import { runInScope, type Scope } from "../../trace/scope.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import { defined } from "../../util/defined.js";
import { messageOf } from "../../util/errors.js";
import { ABANDONED_EXIT_CODE, type HandlerTask, type PodHandler } from "./handler.js";
import type { HandlerLog } from "./log-file.js";
import { failed, type HandlerOutcome, type HandlerProgress, progressText } from "./outcome.js";

export interface VirtualPodDeps {
  readonly handler: PodHandler;
  readonly clock: Clock;
  readonly trace: Trace;
}

export interface VirtualPodOptions {
  /** `namespace/name` */
  readonly podText: string;
  readonly task: HandlerTask;
  readonly log: HandlerLog;
  /** undefined: no limit except the pod's activeDeadlineSeconds */
  readonly timeoutMs: number | undefined;
  /** called on progress and at the end */
  readonly onChanged: () => void;
}

const TIMED_OUT_EXIT_CODE = 124;
const DEFAULT_GRACE_SECONDS = 30;

/**
 * One pod's work: one call of the handler.
 *
 * Ends when the handler ends. A handler that is asked to stop gets a grace period; then it is abandoned.
 */
export class VirtualPod {
  #progress: HandlerProgress | undefined;
  #outcome: HandlerOutcome | undefined;
  readonly #abort = new AbortController();
  readonly #kill = new AbortController();
  readonly #over = new AbortController();
  /** the call that asked the handler to stop */
  #stoppedBy: Scope | undefined;
  readonly ended: Promise<HandlerOutcome>;

  constructor(
    readonly deps: VirtualPodDeps,
    readonly options: VirtualPodOptions,
  ) {
    const { trace } = deps;
    const cause = defined({ causedBy: trace.cause, pod: options.podText });
    this.ended = trace.detached(() => trace.because(cause, () => this.#run()));
  }

  get progress(): HandlerProgress | undefined {
    return this.#progress;
  }

  /** undefined while the handler runs */
  get outcome(): HandlerOutcome | undefined {
    return this.#outcome;
  }

  /** Asks the handler to stop, and abandons it after the grace period. Safe to call again, also with a shorter one. */
  async stop(why: string, graceMs: number): Promise<void> {
    if (!this.#abort.signal.aborted) {
      this.#stoppedBy = this.deps.trace.keepScope({ pod: this.options.podText }).scope;
      this.#say(`ask the handler of ${this.options.podText} to stop`, why);
      this.#abort.abort(new DOMException(why, "AbortError"));
    }
    if (graceMs > 0) await Promise.race([this.ended, this.#after(graceMs)]);
    if (this.#outcome === undefined) {
      const what = `abandon the handler of ${this.options.podText}`;
      this.#say(what, `it did not stop within its grace period of ${graceMs / 1000} s`);
      this.#kill.abort();
    }
    await this.ended;
  }

  async #after(ms: number): Promise<void> {
    try {
      await this.deps.clock.sleep(ms, this.#over.signal);
    } catch {
      // The handler ended first.
    }
  }

  #run(): Promise<HandlerOutcome> {
    const { handler, trace } = this.deps;
    const why = `all of its containers have been started: ${handler.description}`;
    const causedBy = this.#say(`call the handler for ${this.options.podText}`, why);
    return trace.because({ causedBy }, () => this.#callHandler());
  }

  async #callHandler(): Promise<HandlerOutcome> {
    const { handler } = this.deps;
    const { task, log, timeoutMs, podText, onChanged } = this.options;
    const timeLimit = timeoutMs === undefined ? undefined : this.#limit(timeoutMs);
    let outcome: HandlerOutcome = failed("Abandoned", "the handler reported no result", ABANDONED_EXIT_CODE);
    try {
      for await (const event of handler.run(task, { abort: this.#abort.signal, kill: this.#kill.signal })) {
        if (event.kind === "log") log.write(event.stream, event.bytes);
        else if (event.kind === "progress") this.#reportProgress(event.progress);
        else outcome = event.outcome;
      }
    } catch (error) {
      // The handler could not be called: no thread or process started.
      outcome = failed("HandlerError", messageOf(error));
    }
    this.#over.abort();
    const limited = await timeLimit;
    if (limited !== undefined) outcome = limited;
    log.close();
    this.#outcome = outcome;
    const { phase, reason, message } = outcome;
    const to = message === "" ? `${phase} (${reason})` : `${phase} (${reason}: ${message.split("\n")[0]})`;
    const fact = { kind: "state", subject: `pod ${podText}`, what: "handler", from: "running", to } as const;
    runInScope(this.#stoppedBy, () => {
      this.deps.trace.emit(fact, { actor: "runtime" });
      onChanged();
    });
    return outcome;
  }

  /** @returns the pod's outcome if its time is over */
  async #limit(timeoutMs: number): Promise<HandlerOutcome | undefined> {
    try {
      await this.deps.clock.sleep(timeoutMs, this.#over.signal);
    } catch {
      return undefined;
    }
    if (this.#abort.signal.aborted) return undefined;
    const { pod } = this.options.task;
    const why = `it worked for longer than ${timeoutMs / 1000} s (--handler-timeout)`;
    const graceMs = (pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS) * 1000;
    // Not awaited: the end of #run waits for this function.
    void this.stop(why, graceMs);
    return failed("HandlerTimeout", why, TIMED_OUT_EXIT_CODE);
  }

  #reportProgress(progress: HandlerProgress): void {
    this.#progress = progress;
    const text = `${this.options.podText}: ${progressText(progress)}`;
    this.deps.trace.emit({ kind: "note", text }, { actor: "runtime", level: 2 });
    this.options.onChanged();
  }

  /** @returns the id of the fact */
  #say(what: string, why: string): string {
    const { trace } = this.deps;
    const report = () => trace.emit({ kind: "decision", what, why }, { actor: "runtime" });
    return trace.because({ pod: this.options.podText }, report).id;
  }
}
