import { join } from "node:path";
import { startDetached } from "../../../../testbed/detached-process.js";
import { isAbortError } from "../../../../util/errors.js";
import { LocalizedError } from "../../../../util/i18n/message-error.js";
import { tryLock } from "../../../../util/os/pid-lock.js";
import type { LabContext, LabOptions } from "../../environment/context.js";
import { leftElsewhere } from "../../environment/own/record.js";
import { type LabSummary, wordFor } from "../../format/library.js";
import { makeLearnFolder } from "../../progress/progress-store.js";
import { runningLabs } from "../running.js";
import { askHost } from "./client.js";
import { detachedLab, forgetDetached, type HostState } from "./state.js";

const POLL_MS = 20;
const READY_TIMEOUT_MS = 60_000;
const LEAVE_TIMEOUT_MS = 10_000;

/** The detached lab, which may have been killed. @throws LabError FAILED if there is no such lab */
export async function requireDetached(env: LabContext): Promise<HostState> {
  const state = await detachedLab(env);
  if (state !== undefined) return state;
  const running = await runningLabs(env.context.env);
  if (running.length > 0) {
    const id = running.map(({ lab }) => lab).join(", ");
    throw new LocalizedError("FAILED", env.say("atOtherPrompt", { id }), env.say("atOtherPromptHint"));
  }
  const hint = [env.say("noneStartedHint"), ...(await leftElsewhere(env.context.env, env.say))].join("\n");
  throw new LocalizedError("FAILED", env.say("noneStarted"), hint);
}

/** Ends the detached lab and waits until its process has exited. @returns its id; undefined if no lab ran */
export async function endDetached(env: LabContext): Promise<string | undefined> {
  const state = await detachedLab(env);
  if (state === undefined) return undefined;
  const outcome = await askHost(state.socket, { op: "leave" }, () => {}, env.context.signal).catch((error: unknown) => {
    if (isAbortError(error)) throw error;
    return undefined;
  });
  if (outcome === undefined) {
    await forgetDetached(env, state);
    return undefined;
  }
  for (let waitedMs = 0; waitedMs < LEAVE_TIMEOUT_MS; waitedMs += POLL_MS) {
    if ((await detachedLab(env))?.pid !== state.pid) break;
    await env.wall.sleep(POLL_MS, env.context.signal);
  }
  return state.lab;
}

/**
 * Starts a lab in a new process, and ends the running one.
 * @param present shows the lab's first step; no other command ends the lab before that
 * @throws LabError FAILED with the output of the process
 */
export async function startDetachedLab(
  env: LabContext,
  lab: LabSummary,
  { speed, seed, kubeVersion }: LabOptions,
  present: () => Promise<void>,
): Promise<void> {
  const { context, language, say } = env;
  const { id } = lab;
  const folder = await makeLearnFolder(context.env);
  await using _turn = await lockStart(env, id, folder);
  const ended = await endDetached(env);
  if (ended !== undefined) env.notice(say("underway", { id: ended }));
  const outcome = await startDetached(context, {
    args: [
      ...["learn", "serve", wordFor(lab), "--lang", language],
      ...(speed === undefined ? [] : ["--speed", String(speed)]),
      ...(seed === undefined ? [] : ["--seed", String(seed)]),
      ...(kubeVersion === undefined ? [] : ["--kube-version", kubeVersion]),
    ],
    logFile: join(folder, "session.log"),
    timeoutMs: READY_TIMEOUT_MS,
    ready: async (pid) => {
      const state = await detachedLab(env);
      return state?.pid === pid ? state : undefined;
    },
  });
  if (outcome.type === "ready") return await present();
  if (outcome.type === "timed-out") throw didNotStart(env, id, say("notReadyInTime"));
  const [line = "", ...rest] = outcome.log.split("\n").slice(0, 4);
  const prefix = say("edgeError");
  const why = line.startsWith(prefix) ? line.slice(prefix.length).trim() : line;
  throw didNotStart(env, id, why || say("exitCode", { code: outcome.code ?? "-" }), rest.join("\n"));
}

/** Lets one process start a lab at a time; others wait. @throws LabError FAILED */
async function lockStart(env: LabContext, id: string, folder: string): Promise<AsyncDisposable> {
  for (let waitedMs = 0; waitedMs < READY_TIMEOUT_MS; waitedMs += POLL_MS) {
    const answer = await tryLock(join(folder, "start.lock"), "Choose another folder with XDG_STATE_HOME.");
    if (answer.outcome === "taken") return answer.lock;
    await env.wall.sleep(POLL_MS, env.context.signal);
  }
  throw didNotStart(env, id, env.say("notReadyInTime"), env.say("labEndedHint"));
}

function didNotStart({ say }: LabContext, id: string, why: string, hint = ""): LocalizedError {
  return new LocalizedError("FAILED", say("labDidNotStart", { id, why }), hint || say("startAgainHint", { id }));
}
