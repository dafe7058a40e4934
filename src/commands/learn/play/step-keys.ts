import type { LabSession } from "../../../lab/labs/session/session.js";
import type { Say } from "../../../util/i18n/catalogue.js";
import type { KeyHint } from "./key-prompt.js";

/** What keys do at a step. Choices of predictions begin with a letter or a digit. */
export const ACTIONS = {
  go: ".go",
  check: ".check",
  hint: ".hint",
  solve: ".solve",
  shell: ".shell",
  why: ".why",
  trace: ".trace",
  page: ".page",
  faster: "+",
  slower: "-",
  list: ".list",
  leave: ".leave",
} as const;

/** Lets a wait end without its real time. */
export const JUMP_KEY = "j";

export interface StepKeyOptions {
  readonly say: Say;
  readonly isExam: boolean;
  readonly canSetSpeed: boolean;
}

/** The state of a session that decides which keys work. */
export type KeyState = Pick<
  LabSession,
  "step" | "isPresented" | "isLookedAt" | "isNoticed" | "isSolvable" | "hasHint" | "hasTrace" | "hasMore"
>;

/** The keys that work now: at a step, or between a verdict and the next step. Pure. */
export function stepKeys(session: KeyState, { say, isExam, canSetSpeed }: StepKeyOptions): readonly KeyHint[] {
  const of = (isShown: boolean, key: string, value: string, name: string): readonly KeyHint[] =>
    isShown ? [{ key, value, name }] : [];
  // One stray key must not end an exam.
  const leave = isExam ? of(true, "X", ACTIONS.leave, say("keyHandIn")) : of(true, "q", ACTIONS.leave, say("quit"));
  const always = [
    ...of(true, "p", ACTIONS.page, say("keyPicture")),
    ...of(true, "s", ACTIONS.shell, say("keyShell")),
    ...of(canSetSpeed, "+", ACTIONS.faster, say("keySpeed")).map((one) => ({ ...one, sign: "+-" })),
    ...of(canSetSpeed, "-", ACTIONS.slower, ""),
    ...of(true, "l", ACTIONS.list, say("keyList")),
    ...leave,
  ];
  const trace = of(!isExam, "t", ACTIONS.trace, say("keyTrace"));
  const { step, isPresented, isLookedAt, isNoticed, isSolvable, hasHint, hasTrace, hasMore } = session;
  if (!isPresented) {
    const why = of(hasMore && !isExam, "w", ACTIONS.why, say("keyWhy"));
    return [...of(true, "n", ACTIONS.go, say("keyNext")), ...why, ...trace, ...always];
  }
  const isElsewhere = step !== undefined && "do" in step && step.where === "elsewhere";
  const isTask = step !== undefined && "check" in step;
  const isQuestion = step !== undefined && "predict" in step;
  const isDo = step !== undefined && "do" in step;
  return [
    ...of(!isQuestion && !isLookedAt, "n", ACTIONS.go, say(isDo ? "keyRun" : "keyNext")),
    ...of(isLookedAt || isNoticed, "c", ACTIONS.check, say("keyCheck")),
    ...of(isElsewhere, "r", ACTIONS.solve, say("keyRun")),
    ...of(hasHint && !isExam, "h", ACTIONS.hint, say("keyHint")),
    ...of(isSolvable && !isElsewhere && !isExam, "d", ACTIONS.solve, say("keySolution")),
    ...(isTask || hasTrace ? trace : []),
    ...always,
  ];
}
