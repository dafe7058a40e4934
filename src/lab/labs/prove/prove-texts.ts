import { LANGUAGES, type Language } from "../../../util/i18n/language.js";
import type { LabEnvironment } from "../environment/environment.js";
import type { Lab } from "../format/lab.js";
import { CLOSING_OF } from "../format/text.js";
import type { LabMessage } from "../session/message.js";
import { LabSession } from "../session/session.js";

export interface ProofTexts {
  readonly lab: Lab;
  readonly environment: LabEnvironment;
  /** chooses the values of the lab's variables */
  readonly seed: number;
  /** gets all texts, in each language */
  readonly onText?: (language: Language, message: LabMessage) => void;
}

/**
 * The problems in a step's texts, in each language and with the values of this run: task, choices, hints, goal, and the
 * text afterwards. Runs nothing.
 * @param done the steps before it
 */
export async function stepTextProblems(texts: ProofTexts, done: readonly string[]): Promise<readonly string[]> {
  return inEachLanguage(texts, done, (session, shown) => {
    const { step, stepText } = session;
    session.present();
    while (session.hint() === true);
    const { title, body, goal, hints, choices, afterwards } = stepText;
    shown.push(goal, afterwards);
    const wanted: Readonly<Record<string, string>> = {
      title,
      text: body,
      ...(step !== undefined && "predict" in step
        ? Object.fromEntries(step.predict.map((key) => [`choice ${key}`, choices[key] ?? ""]))
        : {}),
      ...(step !== undefined && "check" in step ? { goal, hints: hints.join("") } : {}),
    };
    return wanted;
  });
}

/** The problems in the texts before the first step and after the last one. */
export async function frameTextProblems(texts: ProofTexts): Promise<readonly string[]> {
  return inEachLanguage(texts, [], (session, shown) => {
    const { title, summary, introduction, closing } = session.text;
    const { kind } = session.definition;
    shown.push(title, summary, introduction, ...Object.values(closing));
    const sections = Object.fromEntries(CLOSING_OF[kind].map((name) => [name, closing[name] ?? ""]));
    return { title, summary, introduction, ...sections };
  });
}

/** @param show adds its texts to `shown`, and returns the required ones by name */
async function inEachLanguage(
  { lab, environment, seed, onText }: ProofTexts,
  done: readonly string[],
  show: (session: LabSession, shown: string[]) => Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const language of LANGUAGES) {
    const messages: LabMessage[] = [];
    const emit = (message: LabMessage) => void messages.push(message);
    await using session = new LabSession(lab, environment, { language, seed, done, emit });
    const shown: string[] = [];
    const wanted = show(session, shown);
    for (const message of messages) onText?.(language, message);
    for (const markdown of shown) onText?.(language, { kind: "text", markdown });
    const all = JSON.stringify([messages, shown]);
    const unfilled = new Set([...all.matchAll(/\{\{\w+\}\}/g)].map(([placeholder]) => placeholder));
    problems.push(...[...unfilled].map((placeholder) => `${language}: ${placeholder} has no value`));
    problems.push(...missingIn(wanted, language));
  }
  return problems;
}

function missingIn(wanted: Readonly<Record<string, string>>, language: Language): string[] {
  const empty = Object.entries(wanted).filter(([, text]) => text.trim() === "");
  // A name or a choice can be the same word in both languages, but a paragraph cannot.
  const isUntranslated = language === "zh" && !/\p{Script=Han}/u.test(wanted["text"] ?? wanted["introduction"] ?? "");
  return [
    ...empty.map(([name]) => `${language}: it has no ${name}`),
    ...(isUntranslated && empty.length === 0 ? [`${language}: its text is not in Chinese`] : []),
  ];
}
