import type { TraceEvent } from "../../../trace/events.js";
import type { Language } from "../../../util/i18n/language.js";
import type { Random } from "../../../util/random.js";
import { withinMs } from "../checks/check.js";
import { matchedLines } from "../checks/output.js";
import type { LabEnvironment } from "../environment/environment.js";
import type { Lab } from "../format/lab.js";
import type { DoStep, LabDefinition, ObserveStep, PredictStep, Step } from "../format/schema.js";
import { checkChoice, checkOf, isNoticed, typeOf } from "../format/steps.js";
import type { LabText, StepText } from "../format/text.js";
import { chooseValues, fillAll } from "../format/variables.js";
import { LabBroken, LabRuns } from "./actions.js";
import { untilHeld } from "./held.js";
import { Judge } from "./judge.js";
import type { LabMessage } from "./message.js";
import { settledOutcomes } from "./outcomes.js";
import { type Picture, withCauses, withoutChecks } from "./picture.js";
import { StepCommands } from "./step-commands.js";
import { choicesOf, messagesOfStep, type StepChoice, textOfStep } from "./step-text.js";
import { LabTrace } from "./step-trace.js";
import { LabWords } from "./words.js";

export interface SessionOptions {
  readonly language: Language;
  /** chooses the values of the lab's variables */
  readonly seed: number;
  /** the steps done earlier, in another process */
  readonly done?: readonly string[];
  readonly emit: (message: LabMessage) => void;
}

/**
 * The session of one learner in one lab: its steps in order, each with text, question, check and hints. Messages go to
 * `emit`; the session does not know how they are shown, or whether a learner can answer.
 */
export class LabSession implements AsyncDisposable {
  readonly definition: LabDefinition;
  readonly runs: LabRuns;
  readonly #words: LabWords;
  readonly #emit: (message: LabMessage) => void;
  #index: number;
  #hintsShown = 0;
  /** how many facts there were when the current step began */
  #factsBefore = 0;
  /** the last step that did something */
  #active: { readonly step: string; readonly factsBefore: number } | undefined;
  /** the last step that kubelab solved */
  #shownStep: string | undefined;
  #isPresented = false;
  readonly #trace: LabTrace;
  readonly #commands: StepCommands;
  readonly #judge: Judge;

  constructor(
    lab: Lab,
    readonly environment: LabEnvironment,
    { language, seed, done = [], emit }: SessionOptions,
  ) {
    const values = { ...environment.given, ...chooseValues(lab.definition, seed) };
    this.definition = fillAll(lab.definition, values);
    this.#trace = new LabTrace(this.definition);
    this.#words = new LabWords(lab, values, language, environment.sayFact);
    this.runs = new LabRuns(environment, this.#words);
    this.#emit = emit;
    this.#commands = new StepCommands(this.runs, this.#trace, this.#words, emit);
    this.#judge = new Judge(this.runs, this.#words, emit, () => ({
      step: this.step,
      text: this.stepText,
      factsBefore: this.#active?.factsBefore ?? this.#factsBefore,
      isShown: this.step !== undefined && this.step.id === this.#shownStep,
    }));
    const next = this.definition.steps.findIndex(({ id }) => !done.includes(id));
    this.#index = next < 0 ? this.definition.steps.length : next;
  }

  /** undefined: all steps are done */
  get step(): Step | undefined {
    return this.definition.steps[this.#index];
  }

  /** in the learner's language */
  get text(): LabText {
    return this.#words.text;
  }

  get stepText(): StepText {
    return textOfStep(this.text, this.step);
  }

  /** Switches to another language. */
  async speak(language: Language): Promise<void> {
    await this.#words.speak(language);
  }

  /**
   * Creates the lab's starting state and checks it.
   * @throws LabBroken if the state does not match the lab's text
   */
  async begin(signal: AbortSignal): Promise<void> {
    const { title, summary, introduction } = this.text;
    const { id, number, minutes } = this.definition;
    this.#emit({ kind: "lab", id, number, title, summary, minutes, speed: this.environment.speed });
    let count = 0;
    for (const action of this.definition.setup) await this.#commands.setUp(action, `setup-${++count}`, signal);
    for (const check of this.definition.begin) {
      const verdict = await this.runs.check(check, signal);
      if (verdict.ok) continue;
      throw new LabBroken(this.#words.say("brokenBegin", { id, want: verdict.want, seen: verdict.seen }));
    }
    this.#emit({ kind: "text", markdown: introduction });
    this.#factsBefore = this.environment.facts.count;
  }

  /** Reports the current step. */
  present(): void {
    const { step } = this;
    if (step === undefined) return;
    this.#isPresented = true;
    for (const message of messagesOfStep(this.definition, this.text, step)) this.#emit(message);
  }

  /** Whether the learner has seen the current step. */
  get isPresented(): boolean {
    return this.#isPresented;
  }

  /** The current step as `present` reports it, in any language. */
  presentedIn(language: Language): readonly LabMessage[] {
    return this.step === undefined ? [] : messagesOfStep(this.definition, this.#words.textIn(language), this.step);
  }

  /** The choices of the current step, if it is a prediction. */
  choices(): readonly StepChoice[] {
    return choicesOf(this.step, this.stepText);
  }

  /**
   * Performs the current step: runs its command, judges the answer, evaluates its check. If the step is done, the
   * session moves to the next one.
   * @param choice the answer to a prediction
   * @returns whether the step is done
   * @throws LabError USAGE for an answer that is not one of the choices, or if the step has no question
   */
  async perform(choice: string | undefined, signal: AbortSignal): Promise<boolean> {
    const { step } = this;
    if (step === undefined) return false;
    if (choice !== undefined) checkChoice(step, choice);
    this.#activate(step);
    return (await this.#commands.whileShown(() => this.#perform(step, choice, signal))) && this.#goOn(step);
  }

  /**
   * Moves to the next step if the current step's goal is met; runs nothing and checks once.
   * @returns whether the step is done
   */
  async look(signal: AbortSignal): Promise<boolean> {
    const { step } = this;
    return step !== undefined && (await this.ask(false, signal)) === true && this.#goOn(step);
  }

  /**
   * Waits until the current step is done elsewhere: its check runs again after each change of what it reads.
   * @returns moves to the next step, unless the learner has done so meanwhile; undefined if the step is done here only
   * @throws the signal's reason; LabError as the check
   */
  async untilDone(random: Random, signal: AbortSignal): Promise<(() => boolean) | undefined> {
    const { step, environment, runs } = this;
    const check = step === undefined ? undefined : checkOf(step);
    if (step === undefined || check === undefined || !(this.isLookedAt || this.isNoticed)) return undefined;
    const verdict = await untilHeld({ environment, runs, random }, check, this.isNoticed, signal);
    return () => {
      if (this.step !== step) return false;
      this.#activate(step);
      if (this.isNoticed) this.#emit({ kind: "done-elsewhere" });
      this.#judge.tell(verdict);
      return this.#goOn(step);
    };
  }

  /** Ends the current wait for a check in `perform`, `look` or `ask`; the last result counts. */
  stopWaiting(): void {
    this.#judge.stopWaiting();
  }

  #goOn(step: Step): true {
    const { afterwards } = this.stepText;
    if (afterwards !== "") this.#emit({ kind: "text", markdown: afterwards });
    this.#emit({ kind: "done", step: step.id, hints: this.#hintsShown });
    this.#index += 1;
    this.#isPresented = false;
    this.#hintsShown = 0;
    this.#factsBefore = this.environment.facts.count;
    if (this.step === undefined) this.#emit({ kind: "finished", closing: this.text.closing });
    return true;
  }

  async #perform(step: Step, choice: string | undefined, signal: AbortSignal): Promise<boolean> {
    if ("do" in step) return this.#do(step, signal);
    if ("predict" in step) return this.#predict(step, choice, signal);
    if ("observe" in step) this.#observe(step);
    if ("check" in step) return this.#judge.check(step.check, signal);
    return true;
  }

  async #do(step: DoStep, signal: AbortSignal): Promise<boolean> {
    if (step.where === "here") {
      if (await this.#wasDoneElsewhere(step, signal)) return true;
      await this.#commands.run(step, signal);
    }
    if (step.expect !== undefined) return this.#judge.check(step.expect, signal);
    if (step.where === "elsewhere" || step.keep) return true;
    return this.#judge.check({ exit: step.id, is: step.exit }, signal);
  }

  async #wasDoneElsewhere(step: DoStep, signal: AbortSignal): Promise<boolean> {
    if (step.expect === undefined || !isNoticed(step, this.definition)) return false;
    const verdict = await this.runs.check({ ...step.expect, within: undefined }, signal);
    if (!verdict.ok) return false;
    this.#emit({ kind: "done-elsewhere" });
    this.#judge.tell(verdict);
    return true;
  }

  /** Judges the answer by the outcome. @throws LabBroken unless exactly one outcome occurs */
  async #predict(step: PredictStep, choice: string | undefined, signal: AbortSignal): Promise<boolean> {
    if (choice === undefined) {
      this.#emit({ kind: "needs-answer", choices: step.predict });
      return false;
    }
    await this.#commands.act(step.run, step.id, signal);
    const right = await settledOutcomes(step, this.runs, signal);
    const [[answer, verdict] = []] = right;
    if (answer === undefined || verdict === undefined || right.size > 1) {
      const names = [...right.keys()].join(", ") || "-";
      throw new LabBroken(this.#words.say("brokenOutcomes", { id: this.definition.id, step: step.id, names }));
    }
    const textOf = (key: string) => this.stepText.choices[key] ?? key;
    const mistake = choice === answer ? undefined : this.stepText.mistakes[choice];
    this.#emit({
      kind: "answer",
      given: choice,
      right: answer,
      text: textOf(answer),
      expected: textOf(choice),
      ...(mistake === undefined ? {} : { mistake }),
    });
    this.#judge.showEvidence(verdict, true);
    return true;
  }

  /** Shows the lines to look at from a command's real output. A missing line is the lab's fault, so the learner continues. */
  #observe(step: ObserveStep): void {
    const result = this.runs.view().output(step.observe);
    const found = result === undefined ? [] : matchedLines(result, step.lines);
    // Two patterns can be parts of one line.
    for (const line of new Set(found)) if (line !== undefined) this.#emit({ kind: "look", line });
    for (const line of step.lines.filter((_, i) => found[i] === undefined))
      this.#emit({ kind: "look", line, isMissing: true });
    this.#emit({ kind: "upstream", path: step.upstream });
  }

  /** Whether more led to the last verdict or answer than was shown. */
  get hasMore(): boolean {
    return this.#judge.hasMore;
  }

  /** Shows all facts that led to the last verdict or answer. */
  why(): void {
    this.#judge.why();
  }

  /** Whether the current step has hints, shown or not. */
  get hasHints(): boolean {
    return this.stepText.hints.length > 0;
  }

  /** Whether the current step has a hint that was not shown yet. */
  get hasHint(): boolean {
    return this.#hintsShown < this.stepText.hints.length;
  }

  /** Shows the next hint of the current step. @returns false after the last hint; undefined if the step has no hints */
  hint(): boolean | undefined {
    const { hints } = this.stepText;
    if (hints.length === 0) return undefined;
    const text = hints[this.#hintsShown];
    if (text === undefined) return false;
    this.#hintsShown += 1;
    this.#emit({ kind: "hint", index: this.#hintsShown, count: hints.length, text });
    return true;
  }

  /** Whether the current step can be done in another terminal as well as here. */
  get isNoticed(): boolean {
    const { step } = this;
    return step !== undefined && "do" in step && step.where === "here" && isNoticed(step, this.definition);
  }

  /** Whether the lab can do the current step itself. */
  get isSolvable(): boolean {
    const { step } = this;
    return step !== undefined && ("solve" in step || ("do" in step && step.where === "elsewhere"));
  }

  /**
   * Does the current step for the learner.
   * @returns false if the step cannot be solved
   * @throws LabBroken if a command of the solution fails, because of the learner's earlier changes
   */
  async solve(signal: AbortSignal): Promise<boolean> {
    const { step } = this;
    if (step === undefined || !this.isSolvable) return false;
    this.#activate(step);
    await this.#commands.whileShown(async () => {
      if ("solve" in step) await this.#commands.act(step.solve, `${step.id}-solution`, signal);
      else if ("do" in step) await this.#commands.run(step, signal);
    });
    if ("solve" in step) {
      this.#shownStep = step.id;
      this.#emit({ kind: "shown", step: step.id });
    }
    return true;
  }

  /**
   * Evaluates the check of the current step.
   * @param waits waits as long as the check allows; otherwise checks once
   * @returns undefined if the step has no check
   */
  async ask(waits: boolean, signal: AbortSignal): Promise<boolean | undefined> {
    const { step } = this;
    const check = step === undefined ? undefined : checkOf(step);
    if (step === undefined || check === undefined) return undefined;
    this.#activate(step);
    return this.#judge.check(waits ? check : { ...check, within: undefined }, signal);
  }

  /** The time limit of the current step's check, in ms of the lab's clock; 0: no wait. */
  get mayTakeMs(): number {
    const check = this.step === undefined ? undefined : checkOf(this.step);
    return check === undefined ? 0 : withinMs(check);
  }

  /** Whether the learner does the current step elsewhere, so that only its check matters here. */
  get isLookedAt(): boolean {
    const { step } = this;
    if (step === undefined || checkOf(step) === undefined) return false;
    return "check" in step || ("do" in step && step.where === "elsewhere");
  }

  /** Whether a step of this run has done something. */
  get hasRun(): boolean {
    return this.#active !== undefined;
  }

  /** The facts of the last step with an action, up to now: right after a step is done, the next one has no facts yet. */
  picture(): Picture {
    const { facts } = this.environment;
    const { step, factsBefore } = this.#active ?? { step: this.step?.id ?? "", factsBefore: this.#factsBefore };
    return { step, facts: withCauses(withoutChecks(facts.since(factsBefore), this.definition), facts.since()) };
  }

  /** The whole trace of that step: what its commands have printed, and what else the cluster has done. */
  trace(): readonly TraceEvent[] {
    return this.picture().facts.filter((one) => one.level <= 1 || this.#trace.ids.has(one.id));
  }

  /** The whole results of that step's commands of which only a part was shown. */
  get results(): readonly string[] {
    return this.#trace.results;
  }

  /** Unix ms from which the times of that trace count, as those of the lines that were shown during the step. */
  get traceStartMs(): number | undefined {
    return this.#trace.startMs;
  }

  /** Whether that step's commands have printed facts. */
  get hasTrace(): boolean {
    return this.#trace.ids.size > 0;
  }

  /** Texts to read and lines to look at do nothing. */
  #activate(step: Step): void {
    const { id } = step;
    if (typeOf(step) === "read" || typeOf(step) === "observe" || this.#active?.step === id) return;
    this.#active = { step: id, factsBefore: this.#factsBefore };
    this.#trace.begin(step);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.runs[Symbol.asyncDispose]();
  }
}
