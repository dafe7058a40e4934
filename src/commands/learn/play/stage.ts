import { speedByKey } from "../../../lab/labs/environment/speed.js";
import { LabBroken } from "../../../lab/labs/session/actions.js";
import type { OpenSession } from "../../../lab/labs/session/open-session.js";
import { writePicture } from "../../../lab/labs/session/picture.js";
import { controlSocket } from "../../../lab/labs/session/shell-files.js";
import type { Speaker } from "../../../lab/labs/session/speaker.js";
import { withoutRepeats } from "../../../trace/terminal/fold.js";
import { TerminalSink } from "../../../trace/terminal/terminal-sink.js";
import type { Mutex } from "../../../util/async/mutex.js";
import { isAbortError, LabError } from "../../../util/errors.js";
import { localized } from "../../../util/i18n/message-error.js";
import { wrap } from "../../../util/text/text-width.js";
import { showsLines, withKeys } from "../../cli/terminal-keys.js";
import type { LearnContext } from "../context.js";
import { runShell } from "../shell.js";
import type { ExamTime } from "./exam.js";
import type { LabPage } from "./lab-page.js";
import { stepsOf } from "./live.js";
import { withoutCode } from "./markdown.js";
import { showPage } from "./page.js";
import { choose, isPlain, type Question } from "./prompt.js";
import type { LabReporter } from "./reporter.js";
import { ACTIONS, JUMP_KEY, stepKeys } from "./step-keys.js";

export interface StageOptions extends Pick<OpenSession, "session" | "environment" | "written"> {
  readonly reporter: LabReporter;
  readonly speaker: Speaker;
  /** serializes everything that changes the session: keys, the automatic check, commands in the lab's shells */
  readonly turns: Mutex;
  readonly exam: ExamTime | undefined;
  /** the second input */
  readonly page: LabPage | undefined;
}

const ESC = "\u001b";
/** The last facts of a step that `t` shows. */
const MAX_TRACE = 300;

/** A lab at a terminal. Shows one prompt at a time, and removes it when something happens without a key. */
export class Stage {
  #prompt: { readonly cancel: AbortController; readonly ended: Promise<void> } | undefined;
  /** of the shell in this terminal */
  #shell: number | undefined;

  constructor(
    readonly env: LearnContext,
    readonly options: StageOptions,
  ) {}

  /** Removes the prompt until the present turn is over. */
  async suspend(): Promise<void> {
    this.#prompt?.cancel.abort();
    await this.#prompt?.ended;
  }

  /** Serves the lab's shells until `signal` aborts. An exam takes no commands, because they could help. */
  async serve(signal: AbortSignal): Promise<void> {
    const { session, environment, speaker, turns, written, exam } = this.options;
    const socket = controlSocket(environment.place);
    if (socket === undefined || exam !== undefined) return;
    const { hostLab } = await import("../../../lab/labs/session/detached/host.js");
    const { language } = this.env;
    const picture = () => writePicture(this.env, session.definition.id, session.picture());
    const prompt = { suspend: () => this.suspend() };
    const host = { socket, written, language, turns, prompt, writePicture: picture };
    // A lab can be played without its socket. Commands in its shells then only name the lab's terminal.
    await hostLab(session, speaker, host, signal).catch(() => {});
  }

  /** For a task that is done without a key: says so in a shell that is open here, where the verdict has to wait. */
  doneNotice(): () => Promise<void> {
    const { goal, title } = this.options.session.stepText;
    return async () => {
      // An editor's screen stays as it is; its user sees the prompt afterwards.
      if (this.#shell === undefined || !(await showsLines(this.#shell))) return;
      const { unicode } = this.env.renderer("stderr").options;
      // The cursor is after the shell's prompt.
      this.env.notice(`\n${unicode ? "✓" : "+"} ${this.env.say("shellDone", { goal: withoutCode(goal || title) })}`);
    };
  }

  /** @returns false: the learner leaves */
  async play(): Promise<boolean> {
    const { session, environment, reporter } = this.options;
    const { say } = this.env;
    while (session.step !== undefined) {
      if (!session.isPresented) session.present();
      reporter.keys = {
        speed: environment.canSetSpeed ? say("speedKeys") : "",
        jump: environment.jump === undefined ? "" : say("jumpKey"),
        stop: say("waitKeys"),
      };
      if (!(await this.#step())) return false;
    }
    return true;
  }

  /** One step, until it is done and its verdict was read. @returns false: the learner leaves */
  async #step(): Promise<boolean> {
    const { session } = this.options;
    const { step } = session;
    let isDecided = step !== undefined && ("predict" in step || session.isLookedAt);
    while (session.step === step && step !== undefined) {
      const answer = await this.#ask();
      if (answer !== undefined && !(await this.#act(answer))) return false;
      isDecided ||= answer === undefined;
    }
    while (isDecided && session.step !== undefined && !session.isPresented) {
      const answer = await this.#ask();
      if (answer === ACTIONS.go) return true;
      if (answer !== undefined && !(await this.#act(answer))) return false;
    }
    return true;
  }

  /** @returns undefined: something happened meanwhile */
  async #ask(): Promise<string | undefined> {
    const { env } = this;
    const { turns, exam, page } = this.options;
    const cancel = new AbortController();
    let end: () => void = () => {};
    // A turn that begins from now on cancels the prompt.
    await turns.run(async () => {
      this.#prompt = { cancel, ended: new Promise((resolve) => (end = resolve)) };
    });
    const over = exam === undefined ? cancel.signal : AbortSignal.any([cancel.signal, exam.signal]);
    try {
      if (cancel.signal.aborted) return undefined;
      const question = this.#question();
      // While a shell has the terminal, only the page can answer.
      if (page !== undefined && this.#shell !== undefined) return await page.ask(question, over);
      return await choose(env, { ...question, over, page });
    } catch (error) {
      if (!cancel.signal.aborted || env.context.signal.aborted || exam?.signal.aborted === true) throw error;
      return undefined;
    } finally {
      this.#prompt = undefined;
      end();
    }
  }

  #question(): Question {
    const { say } = this.env;
    const { session, environment, exam } = this.options;
    const { step, stepText, isPresented } = session;
    const keys = stepKeys(session, { say, isExam: exam !== undefined, canSetSpeed: environment.canSetSpeed });
    const left = exam === undefined ? [] : [say("examLeft", { minutes: exam.leftMinutes })];
    if (!isPresented) return { lines: ["", say("nextStep", { title: stepText.title }), ...left], keys };
    if (step !== undefined && "predict" in step) {
      const isIncident = session.definition.kind === "incident";
      const choices = session.choices().map(({ key, text }) => ({ value: key, name: withoutCode(text) }));
      return { lines: ["", say(isIncident ? "predictIncident" : "predictFirst"), ...left], choices, keys };
    }
    const { unicode } = this.env.renderer("stderr").options;
    const goal = step !== undefined && "check" in step ? [`${unicode ? "○" : "o"} ${withoutCode(stepText.goal)}`] : [];
    return { lines: ["", ...goal, ...left], keys };
  }

  /** @returns false: the learner leaves */
  async #act(answer: string): Promise<boolean> {
    const { session, environment, reporter } = this.options;
    switch (answer) {
      case ACTIONS.leave:
        return false;
      case ACTIONS.go:
        await this.#attempt((signal) => session.perform(undefined, signal));
        break;
      case ACTIONS.check:
        await this.#attempt((signal) => session.look(signal));
        break;
      case ACTIONS.solve:
        await this.#attempt((signal) => this.#solve(signal));
        break;
      case ACTIONS.hint:
        session.hint();
        break;
      case ACTIONS.shell:
        await this.#openShell();
        break;
      case ACTIONS.why:
        session.why();
        break;
      case ACTIONS.trace:
        this.#showTrace();
        break;
      case ACTIONS.list:
        reporter.tell({ kind: "table", ...stepsOf(this.env.say, session) });
        break;
      case ACTIONS.page:
        await this.#tried(async () => {
          if (!session.hasRun) return this.#write(this.env.say("nothingRan"));
          showPage(this.env, "stderr", await writePicture(this.env, session.definition.id, session.picture()));
        });
        break;
      case ACTIONS.faster:
      case ACTIONS.slower:
        await this.#tried(() => speedByKey(answer, environment).then((factor) => this.#saySpeed(factor)));
        break;
      default:
        await this.#attempt((signal) => session.perform(answer, signal));
    }
    return true;
  }

  /** A solution assumes the state at the step's start; the learner's later changes can block it. */
  async #solve(signal: AbortSignal): Promise<void> {
    const { session } = this.options;
    try {
      if (await session.solve(signal)) await session.perform(undefined, signal);
    } catch (error) {
      if (!(error instanceof LabBroken)) throw error;
      // Its output is above.
      const [what = ""] = error.message.split("\n");
      this.#write("", what, this.env.say("solutionInTheWay", { id: session.definition.id }));
    }
  }

  /** Runs `body`, which may wait. Meanwhile keys change the speed of time or end the wait. */
  async #attempt(body: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    const { session, environment, reporter, exam, turns, page } = this.options;
    const { context } = this.env;
    const signal = exam === undefined ? context.signal : AbortSignal.any([context.signal, exam.signal]);
    const press = async (key: string) => {
      if (key === ESC) return session.stopWaiting();
      if (key === JUMP_KEY) return environment.jump?.ask();
      await this.#tried(async () => {
        const factor = await speedByKey(key, environment);
        if (factor !== undefined) reporter.stop();
        this.#saySpeed(factor);
      });
    };
    const step = session.step;
    await turns.run(async () => {
      // The automatic check may just have completed the task.
      if (session.step !== step) return;
      using _waiting = page?.during(press, environment.jump !== undefined);
      const hasKeys = this.#shell === undefined && !isPlain(this.env);
      await (hasKeys ? withKeys(context.streams, signal, body, press) : body(signal));
    });
  }

  /** Opens a shell in this terminal, and checks the task when the shell ends. Messages are printed afterwards. */
  async #openShell(): Promise<void> {
    const { session, environment, speaker } = this.options;
    const { step } = session;
    const left = new AbortController();
    let answering: Promise<unknown> | undefined;
    await this.#tried(async () => {
      const onStart = (pid: number | undefined) => {
        this.#shell = pid;
        answering = this.#answerPage(left.signal).catch((error: unknown) => error);
      };
      const open = () => runShell(this.env, session.definition.id, environment.place, onStart);
      await speaker.during(undefined, open).finally(async () => {
        left.abort();
        await this.suspend();
        const error = await answering;
        this.#shell = undefined;
        if (error !== undefined) throw error;
      });
    });
    if (speaker.flush() || session.step !== step || !session.isPresented) return;
    if (session.isLookedAt || session.isNoticed) await this.#attempt((signal) => session.look(signal));
  }

  /** Lets the page play on while a shell has the terminal. */
  async #answerPage(signal: AbortSignal): Promise<void> {
    const { session, page } = this.options;
    while (page !== undefined && session.step !== undefined && !signal.aborted) {
      const answer = await this.#ask();
      if (answer === ACTIONS.go && !session.isPresented) session.present();
      else if (answer !== undefined) await this.#act(answer);
    }
  }

  #showTrace(): void {
    const { session, environment } = this.options;
    const facts = withoutRepeats(session.trace()).slice(-MAX_TRACE);
    if (facts.length + session.results.length === 0) this.#write(this.env.say("traceEmpty"));
    const { stderr } = this.env.context.streams;
    const { chalk, unicode, width } = this.env.renderer("stderr").options;
    const startMs = session.traceStartMs ?? facts[0]?.atMs ?? 0;
    const options = { chalk, unicode, width, verbosity: 3, startMs, say: environment.sayFact } as const;
    const sink = new TerminalSink(options, stderr);
    for (const fact of facts) sink.write(fact);
    for (const result of session.results) stderr.write(result);
  }

  #saySpeed(factor: number | undefined): void {
    if (factor !== undefined) this.#write(this.env.say("speedNow", { factor }));
  }

  #write(...texts: readonly string[]): void {
    const lines = texts.flatMap((text) => wrap(text, this.env.columns));
    this.env.context.streams.stderr.write(`${lines.join("\n")}\n`);
  }

  /** Prints an error that the learner can fix by trying again, and throws others. */
  async #tried(body: () => Promise<void>): Promise<void> {
    try {
      await body();
    } catch (thrown) {
      const error = localized(thrown, this.env.say);
      if (!(error instanceof LabError) || isAbortError(error)) throw error;
      this.#write(error.message);
    }
  }
}
