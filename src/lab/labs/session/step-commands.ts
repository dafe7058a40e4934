import type { UnbrokenLines } from "../../../trace/terminal/unbroken.js";
import type { Waiting } from "../checks/check.js";
import { printsState, type StateTable, stateTables } from "../checks/state-table.js";
import type { OutputListener } from "../environment/runner.js";
import type { Action, DoStep } from "../format/schema.js";
import type { LabRuns } from "./actions.js";
import { foldedResult } from "./folded-result.js";
import type { LabMessage } from "./message.js";
import type { LabTrace } from "./step-trace.js";
import type { LabWords } from "./words.js";

/** Runs the commands of a lab's steps, and reports them with what they print. */
export class StepCommands {
  /** Reports a background command's output only during the step that started it. */
  #showing = { isOver: false, hasInvalidAges: false };

  constructor(
    readonly runs: LabRuns,
    readonly trace: LabTrace,
    readonly words: LabWords,
    readonly emit: (message: LabMessage) => void,
  ) {}

  /** Reports what commands print while `body` runs. */
  async whileShown<T>(body: () => Promise<T>): Promise<T> {
    const showing = { isOver: false, hasInvalidAges: false };
    this.#showing = showing;
    try {
      return await body();
    } finally {
      showing.isOver = true;
      if (showing.hasInvalidAges) this.emit({ kind: "text", markdown: this.words.say("invalidAges") });
    }
  }

  get #show(): OutputListener {
    const showing = this.#showing;
    return (stream, text, more) => {
      if (!showing.isOver)
        this.emit(
          more !== undefined && "event" in more ? this.trace.messageOf(more) : this.#outputOf(stream, text, more),
        );
      // kubectl describe counts ages on the clock of this machine.
      showing.hasInvalidAges ||= text.includes("<invalid>");
    };
  }

  #outputOf(stream: "stdout" | "stderr", text: string, lines?: UnbrokenLines): LabMessage {
    const folded = lines && foldedResult(text, lines.english, this.trace.about);
    if (folded === undefined) return { kind: "output", stream, text };
    this.trace.results.push(text);
    return { kind: "output", stream, ...folded };
  }

  /** The step's own command. */
  async run(step: DoStep, signal: AbortSignal): Promise<void> {
    this.emit({ kind: "running", line: step.do });
    if (step.keep) return this.runs.keep(step.id, step.do, step.until, this.#show, signal);
    const { code } = await this.runs.run(step.id, step.do, this.#show, signal);
    this.emit({ kind: "exit", code: code ?? 0 });
  }

  /** @param name of their output @throws LabBroken as `LabRuns.act` */
  async act(actions: readonly Action[], name: string, signal: AbortSignal): Promise<void> {
    for (const action of actions) {
      if ("run" in action) this.emit({ kind: "running", line: action.run });
      if ("keep" in action) this.emit({ kind: "running", line: action.keep });
      const isState = "run" in action && printsState(action.run);
      await this.#act(action, name, signal, isState ? undefined : this.#show);
      if (!("run" in action)) continue;
      const { code = 0, stdout = "" } = this.runs.view().output(name) ?? {};
      if (code !== 0) this.emit({ kind: "exit", code });
      const tables: readonly StateTable[] = (isState ? stateTables(action.run, stdout) : undefined) ?? [];
      for (const table of tables) this.emit({ kind: "table", ...table });
    }
  }

  /** Performs an action silently; the awaited state, which could be the answer to a step, is not named. */
  async setUp(action: Action, name: string, signal: AbortSignal): Promise<void> {
    await this.#act(action, name, signal, undefined, { seen: "", want: this.words.say("startingState") });
  }

  /** @param instead shown in place of an awaited state */
  async #act(
    action: Action,
    name: string,
    signal: AbortSignal,
    onOutput?: OutputListener,
    instead?: { readonly seen: string; readonly want: string },
  ): Promise<void> {
    let hasWaited = false;
    const onWaiting: Waiting = ({ seen, want }, leftMs) => {
      hasWaited = true;
      const told = instead !== undefined && "wait" in action ? instead : { seen, want };
      this.emit({ kind: "waiting", ...told, leftMs, mayStop: false });
    };
    await this.runs.act(action, name, signal, onOutput, onWaiting);
    if (hasWaited) this.emit({ kind: "waited" });
  }
}
