import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter } from "node:path";
import type { LabPlace } from "../../lab/labs/environment/environment.js";
import { type RunningLab, runningLabs } from "../../lab/labs/session/running.js";
import { ChildAbort } from "../../util/async/abort.js";
import { isAbortError } from "../../util/errors.js";
import { LocalizedError } from "../../util/i18n/message-error.js";
import type { LearnContext } from "./context.js";
import { shellPrompt } from "./shell-prompt.js";
import { LAB_OF_SHELL, labOfShell, labRunning, nameTaken } from "./taken-lab.js";

/** A shell's exit code for an unknown program. */
const EXIT_NOT_FOUND = 127;
const LOOK_AGAIN_MS = 1_000;

/**
 * Opens a shell in the folder of a running lab, with its cluster and programs: a second terminal in one command.
 * kubelab's own messages there are in the lab's language, unless `--lang` chose one.
 * @param given id or number of the lab; "": the lab in whose shell this is, else the one that was started last
 * @throws LabError FAILED if no such lab runs, or if the shell cannot be started
 */
export async function openShell(here: LearnContext, given: string): Promise<void> {
  const { lab, place, language } = await runningLab(here, given || labOfShell(here));
  const env = here.inLanguageOfLab(language);
  using shellEnd = new ChildAbort(env.context.signal);
  let lookout: Promise<void> | undefined;
  try {
    const onStart = () => {
      lookout = noticeEnd(env, lab, place.folder, shellEnd.signal);
    };
    env.context.exitWith(await runShell(env, lab, place, onStart));
  } finally {
    shellEnd.abort();
    await lookout;
  }
}

/**
 * Runs a shell in a lab's folder to its end; at a terminal its prompt shows the state of the step.
 * @param onStart gets the shell's PID
 * @returns its exit code
 * @throws LabError FAILED if it cannot be started
 */
export async function runShell(
  { context, say, notice }: LearnContext,
  lab: string,
  place: LabPlace,
  onStart: (pid: number | undefined) => void,
): Promise<number> {
  const { folder, programs, variables } = place;
  const shell = context.env["SHELL"] || "/bin/sh";
  const isTerminal = context.streams.stdin.isTTY === true;
  if (isTerminal) notice(say("shellOpened", { id: lab, folder }));
  const path = `${programs}${delimiter}${context.env["PATH"] ?? ""}`;
  const own = isTerminal ? await shellPrompt(shell, place, context.env) : { args: [], env: {} };
  const env = { ...context.env, ...variables, PATH: path, [LAB_OF_SHELL]: lab, ...own.env };
  const child = spawn(shell, own.args, { cwd: folder, stdio: "inherit", env });
  onStart(child.pid);
  return new Promise((resolve, reject) => {
    child.once("error", (cause) => {
      reject(new LocalizedError("FAILED", say("shellMissing", { shell }), say("shellMissingHint"), { cause }));
    });
    child.once("close", (exit) => resolve(exit ?? EXIT_NOT_FOUND));
  });
}

/** Reports the end of the lab in its shell: the cluster and `kubelab` are gone, and only the learner's programs continue. */
async function noticeEnd(env: LearnContext, lab: string, folder: string, signal: AbortSignal): Promise<void> {
  const { context, notice, say, wall } = env;
  try {
    while (existsSync(folder)) await wall.sleep(LOOK_AGAIN_MS, signal);
    // The cursor is after the shell's prompt.
    const begin = context.streams.stdin.isTTY === true ? "\n" : "";
    notice(`${begin}${say("shellLabEnded", { id: lab })}`);
  } catch (error) {
    // The shell was left before the lab.
    if (!isAbortError(error)) throw error;
  }
}

/** The lab of this id or number, or the newest. @throws LabError FAILED */
async function runningLab(env: LearnContext, word: string): Promise<RunningLab> {
  const running = await runningLabs(env.context.env);
  const [newest] = running;
  if (word !== "" || newest === undefined) return labRunning(env, running, word);
  nameTaken(env, running, newest, "shell");
  return newest;
}
