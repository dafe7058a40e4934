import type { MessageKey } from "../../labs/catalogue.js";
import type { LabSummary } from "../../labs/library.js";
import type { LabMessage } from "../../labs/message.js";
import type { LabSession } from "../../labs/session.js";
import type { LearnEnvironment } from "./environment.js";
import { standingInWords } from "./list.js";
import { openSession } from "./open-session.js";
import { type Choice, choose } from "./prompt.js";

export interface InteractiveOptions {
  readonly speed?: number;
  readonly seed?: number;
}

/** The menu, until the learner has had enough. */
export async function runMenu(env: LearnEnvironment, options: InteractiveOptions): Promise<void> {
  for (;;) {
    const lab = await chooseLab(env);
    if (lab === undefined) return;
    await runLab(env, lab, options);
  }
}

async function chooseLab(env: LearnEnvironment): Promise<LabSummary | undefined> {
  const { library, store, say, language } = env;
  const progress = await store.load();
  const entries = (kind: LabSummary["kind"]) =>
    library.summaries
      .filter((lab) => lab.kind === kind)
      .map((lab) => ({
        value: lab.id,
        name: `${lab.number.padEnd(3)} ${lab.title[language]}`,
        description: `${lab.summary[language]} (${say("minutes", { count: lab.minutes })}, ${standingInWords(lab, progress, say)})`,
      }));
  const incidents = entries("incident");
  const choices: Choice[] = [
    { heading: say("chapters") },
    ...entries("chapter"),
    ...(incidents.length === 0 ? [] : [{ heading: say("incidents") }, ...incidents]),
    { value: "", name: say("quit") },
  ];
  const id = await choose(env, say("menuTitle"), choices);
  return library.summaries.find((lab) => lab.id === id);
}

/** One lab, step by step. What the lab tells goes to stderr with the prompts: stdout is for results. */
export async function runLab(env: LearnEnvironment, lab: LabSummary, options: InteractiveOptions): Promise<void> {
  const { context, say, store } = env;
  const renderer = env.renderer("stderr");
  const progress = context.progress(say("preparing"));
  const onMessage = (message: LabMessage) => {
    if (message.kind === "waiting") progress.update(waitingText(env, message));
    else {
      progress.stop();
      renderer.write(message);
    }
  };
  await using open = await openSession(env, lab, { ...options, onMessage }).finally(() => progress.stop());
  while (open.session.step !== undefined) {
    open.session.present();
    if (!(await runStep(env, open.session))) break;
  }
  await open.written();
  const done = (await store.of(lab))?.done.length ?? 0;
  if (open.session.step === undefined) return;
  context.streams.stderr.write(`\n${say("left", { done, count: lab.steps.length, id: lab.id })}\n`);
}

function waitingText({ say }: LearnEnvironment, { want, seen, leftMs }: LabMessage & { kind: "waiting" }): string {
  return say("waitingFor", { want, seen, seconds: Math.ceil(leftMs / 1000) });
}

/** @returns false: the learner leaves */
async function runStep(env: LearnEnvironment, session: LabSession): Promise<boolean> {
  const { signal } = env.context;
  for (;;) {
    const { step } = session;
    if (step === undefined) return true;
    if ("predict" in step) {
      const answer = await choose(env, env.say("pressWhat"), predictionChoices(env, session));
      if (answer === LEAVE) return false;
      if (await session.perform(answer, signal)) return true;
      continue;
    }
    switch (await choose(env, env.say("pressWhat"), actionChoices(env, session))) {
      case LEAVE:
        return false;
      case "hint":
        session.hint();
        break;
      case "solve":
        await session.solve(signal);
        if (await session.perform(undefined, signal)) return true;
        break;
      default:
        if (await session.perform(undefined, signal)) return true;
    }
  }
}

const LEAVE = "leave";

function predictionChoices({ say }: LearnEnvironment, session: LabSession): Choice[] {
  return [
    ...session.choices().map(({ key, text }) => ({ value: key, name: `${key}: ${text}` })),
    { value: LEAVE, name: say("actionLeave") },
  ];
}

function actionChoices({ say }: LearnEnvironment, session: LabSession): Choice[] {
  const { step, stepText } = session;
  const main: MessageKey =
    step === undefined ? "actionNext" : "do" in step ? "actionRun" : "check" in step ? "actionCheck" : "actionNext";
  return [
    { value: "go", name: say(main) },
    ...(stepText.hints.length > 0 ? [{ value: "hint", name: say("actionHint") }] : []),
    ...(step !== undefined && "solve" in step ? [{ value: "solve", name: say("actionSolution") }] : []),
    { value: LEAVE, name: say("actionLeave") },
  ];
}
