import type { Trace } from "../trace/trace.js";
import type { Clock } from "../util/clock.js";
import { messageOf } from "../util/errors.js";
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
  /** undefined: as long as it takes, or as the pod's activeDeadlineSeconds say */
  readonly timeoutMs: number | undefined;
  /** told when there is something new to show of it, and when it has ended */
  readonly onChanged: () => void;
}

const TIMED_OUT_EXIT_CODE = 124;
const DEFAULT_GRACE_SECONDS = 30;

/**
 * One pod's work: a call of the handler, from its start to its end.
 *
 * It ends when the handler does. Asked to stop, the handler has its grace; then it is abandoned, whatever it does.
 */
export class VirtualPod {
  #progress: HandlerProgress | undefined;
  #outcome: HandlerOutcome | undefined;
  readonly #abort = new AbortController();
  readonly #kill = new AbortController();
  readonly #over = new AbortController();
  readonly ended: Promise<HandlerOutcome>;

  constructor(
    readonly deps: VirtualPodDeps,
    readonly options: VirtualPodOptions,
  ) {
    this.ended = deps.trace.detached(() => this.#run());
  }

  get progress(): HandlerProgress | undefined {
    return this.#progress;
  }

  /** undefined: it is at work */
  get outcome(): HandlerOutcome | undefined {
    return this.#outcome;
  }

  /** Asks the handler to stop, and abandons it after its grace. Safe to call again, also with a shorter grace. */
  async stop(why: string, graceMs: number): Promise<void> {
    if (!this.#abort.signal.aborted) {
      this.#say(`ask the handler of ${this.options.podText} to stop`, why);
      this.#abort.abort(new DOMException(why, "AbortError"));
    }
    if (graceMs > 0) await Promise.race([this.ended, this.#after(graceMs)]);
    if (this.#outcome === undefined) {
      const what = `abandon the handler of ${this.options.podText}`;
      this.#say(what, `it has not stopped within its ${graceMs / 1000} s of grace`);
      this.#kill.abort();
    }
    await this.ended;
  }

  async #after(ms: number): Promise<void> {
    try {
      await this.deps.clock.sleep(ms, this.#over.signal);
    } catch {
      // The handler came to its end first.
    }
  }

  async #run(): Promise<HandlerOutcome> {
    const { handler } = this.deps;
    const { task, log, timeoutMs, podText, onChanged } = this.options;
    this.#say(`call the handler for ${podText}`, `all of its containers have been started: ${handler.description}`);
    const timeLimit = timeoutMs === undefined ? undefined : this.#limit(timeoutMs);
    let outcome: HandlerOutcome = failed("Abandoned", "the handler was not heard to its end", ABANDONED_EXIT_CODE);
    try {
      for await (const event of handler.run(task, { abort: this.#abort.signal, kill: this.#kill.signal })) {
        if (event.kind === "log") log.write(event.stream, event.bytes);
        else if (event.kind === "progress") this.#tellProgress(event.progress);
        else outcome = event.outcome;
      }
    } catch (error) {
      // A handler that cannot even be called: no thread, no process.
      outcome = failed("HandlerError", messageOf(error));
    }
    this.#over.abort();
    const limited = await timeLimit;
    if (limited !== undefined) outcome = limited;
    log.close();
    this.#outcome = outcome;
    const { phase, reason, message } = outcome;
    const to = message === "" ? `${phase} (${reason})` : `${phase} (${reason}: ${message.split("\n")[0]})`;
    const fact = { kind: "state", subject: `pod ${podText}`, what: "handler", from: "at work", to } as const;
    this.deps.trace.emit(fact, { actor: "runtime" });
    onChanged();
    return outcome;
  }

  /** @returns the end that the pod gets when its time was over */
  async #limit(timeoutMs: number): Promise<HandlerOutcome | undefined> {
    try {
      await this.deps.clock.sleep(timeoutMs, this.#over.signal);
    } catch {
      return undefined;
    }
    if (this.#abort.signal.aborted) return undefined;
    const { pod } = this.options.task;
    const why = `it has worked for longer than ${timeoutMs / 1000} s (--handler-timeout)`;
    const graceMs = (pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS) * 1000;
    // Not waited for: its end waits for this.
    void this.stop(why, graceMs);
    return failed("HandlerTimeout", why, TIMED_OUT_EXIT_CODE);
  }

  #tellProgress(progress: HandlerProgress): void {
    this.#progress = progress;
    const text = `${this.options.podText}: ${progressText(progress)}`;
    this.deps.trace.emit({ kind: "note", text }, { actor: "runtime", level: 2 });
    this.options.onChanged();
  }

  #say(what: string, why: string): void {
    this.deps.trace.emit({ kind: "decision", what, why }, { actor: "runtime" });
  }
}
