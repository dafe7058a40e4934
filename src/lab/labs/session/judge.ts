import { defined } from "../../../util/defined.js";
import type { Waiting } from "../checks/check.js";
import type { Verdict } from "../checks/leaf-check.js";
import type { StateTable } from "../checks/state-table.js";
import { mistakeIn } from "../format/mistakes.js";
import type { Check, Step } from "../format/schema.js";
import type { StepText } from "../format/text.js";
import type { LabRuns } from "./actions.js";
import type { LabMessage } from "./message.js";
import { verdictEvidence } from "./verdict-evidence.js";
import { verdictInWords } from "./verdict-words.js";
import type { LabWords } from "./words.js";

/** The step that is judged now. */
export interface JudgedStep {
  readonly step: Step | undefined;
  readonly text: StepText;
  /** how many facts there were when it began */
  readonly factsBefore: number;
  /** kubelab has solved it */
  readonly isShown: boolean;
}

/** Evaluates the checks of a lab's steps, and reports verdicts with what decided them. */
export class Judge {
  #patience = new AbortController();
  /** all that led to the last verdict or answer, if it was not shown; kept, because old facts are forgotten */
  #more: readonly LabMessage[] = [];

  constructor(
    readonly runs: LabRuns,
    readonly words: LabWords,
    readonly emit: (message: LabMessage) => void,
    readonly now: () => JudgedStep,
  ) {}

  /** Evaluates a check of the step and reports the verdict. @returns whether it holds */
  async check(check: Check, signal: AbortSignal): Promise<boolean> {
    const onWaiting: Waiting = (verdict, leftMs) => {
      const { seen, want } = verdictInWords(verdict, this.now().text.goal, this.words.say);
      this.emit({ kind: "waiting", seen, want: want ?? "", leftMs, mayStop: true });
    };
    this.#patience = new AbortController();
    const verdict = await this.runs.check(check, signal, onWaiting, this.#patience.signal);
    const { step, text } = this.now();
    const made =
      verdict.ok || step === undefined || !("check" in step)
        ? undefined
        : await mistakeIn(step, this.runs.environment.folder);
    if (made === undefined) this.tell(verdict);
    // The author's sentence explains more than a remark that the answer is too long, which may be wrong.
    else this.tell({ ...verdict, seen: verdict.answer ?? verdict.seen }, { mistake: text.mistakes[made] ?? made });
    return verdict.ok;
  }

  /** Ends the wait of the current check; its last result counts. */
  stopWaiting(): void {
    this.#patience.abort();
  }

  tell(verdict: Verdict, more: { readonly mistake?: string } = {}): void {
    const { step, text, isShown } = this.now();
    const words = verdictInWords(verdict, text.goal, this.words.say);
    this.emit({ kind: "verdict", ...words, ...more, ...(verdict.ok && isShown ? { isShown } : {}) });
    if (verdict.ok) this.showEvidence(verdict, step !== undefined && "check" in step);
    else this.showTables(verdict.tables ?? []);
  }

  /** @param isDecided the step is a question or a task */
  showEvidence(verdict: Verdict, isDecided: boolean): void {
    const { facts } = this.runs.environment;
    const { factsBefore } = this.now();
    const evidence = (most?: number) =>
      verdictEvidence(verdict, facts, this.words.sayFact, { isDecided, factsBefore, ...defined({ most }) });
    const shown = evidence();
    const hasMore = shown.some((one) => one.kind === "evidence" && one.facts.length < one.count);
    this.#more = hasMore ? evidence(Number.POSITIVE_INFINITY).filter(({ kind }) => kind === "evidence") : [];
    shown.forEach(this.emit);
  }

  /** Whether more led to the last verdict or answer than was shown. */
  get hasMore(): boolean {
    return this.#more.length > 0;
  }

  /** Shows all facts that led to the last verdict or answer. */
  why(): void {
    this.#more.forEach(this.emit);
  }

  showTables(tables: readonly StateTable[]): void {
    for (const table of tables) this.emit({ kind: "table", ...table });
  }
}
