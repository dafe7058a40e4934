import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LabSummary } from "../../labs/library.js";
import { SpokenError } from "../../labs/said-error.js";
import { isAbortError } from "../../util/errors.js";
import { tryLock } from "../../util/pid-lock.js";
import { backgroundLab, forgetBackground, type HostState } from "./background-state.js";
import { type LearnEnvironment, labNamed } from "./environment.js";
import type { LabOperation } from "./host.js";
import { askHost, type LabAnswer } from "./host-client.js";
import type { InteractiveOptions } from "./interactive.js";
import { leftElsewhere } from "./own-record.js";
import { makeLearnFolder } from "./progress-store.js";
import { Teller } from "./teller.js";

/** A lab in the background, or one whose process was killed there, and the language that it was begun in. */
export interface Background {
  readonly env: LearnEnvironment;
  readonly state: HostState;
}

/** Whom to ask, in the language of the lab. @throws LabError FAILED when there is none */
export async function openBackground(env: LearnEnvironment): Promise<Background> {
  const state = await backgroundLab(env);
  if (state === undefined) {
    const hint = [env.say("noneStartedHint"), ...(await leftElsewhere(env.context.env, env.say))].join("\n");
    throw new SpokenError("FAILED", env.say("noneStarted"), hint);
  }
  return { env: env.inLanguage(state.language), state };
}

/**
 * Asks the lab in the background, and shows what it tells.
 * @throws LabError FAILED when it does not answer any more
 */
export async function ask(background: Background, operation: LabOperation): Promise<LabAnswer> {
  const outcome = await askIfThere(background, operation);
  if (outcome !== undefined) return outcome;
  const { env, state } = background;
  throw new SpokenError("FAILED", env.say("labEnded", { id: state.lab }), env.say("labEndedHint"));
}

/** As `ask`. @returns undefined: it does not answer any more, its process was killed */
export async function askIfThere({ env, state }: Background, operation: LabOperation): Promise<LabAnswer | undefined> {
  const teller = new Teller(env, "stdout");
  try {
    return await askHost(state.socket, operation, (message) => teller.tell(message), env.context.signal);
  } finally {
    teller.stop();
  }
}

/** Begins a lab again whose process was killed, where its learner was. @throws LabError FAILED */
export async function takeUp({ env, state }: Background): Promise<void> {
  const { lab, speed } = state;
  env.context.streams.stderr.write(`${env.say("takenUp", { id: lab })}\n`);
  await startInBackground(env, labNamed(env, lab), speed === undefined ? {} : { speed });
}

const POLL_MS = 20;
const READY_TIMEOUT_MS = 60_000;
const LEAVE_TIMEOUT_MS = 10_000;

/** Ends the lab in the background and waits until its process has. @returns its id; undefined: none ran */
export async function endBackground(env: LearnEnvironment): Promise<string | undefined> {
  const state = await backgroundLab(env);
  if (state === undefined) return undefined;
  const outcome = await askHost(state.socket, { op: "leave" }, () => {}, env.context.signal).catch((error: unknown) => {
    if (isAbortError(error)) throw error;
    return undefined;
  });
  if (outcome === undefined) {
    await forgetBackground(env, state);
    return undefined;
  }
  for (let waitedMs = 0; waitedMs < LEAVE_TIMEOUT_MS; waitedMs += POLL_MS) {
    if ((await backgroundLab(env))?.pid !== state.pid) break;
    await env.wall.sleep(POLL_MS, env.context.signal);
  }
  return state.lab;
}

/** Starts a lab in a process of its own; one that runs is ended first, and it is said. @throws LabError FAILED with what it said */
export async function startInBackground(
  env: LearnEnvironment,
  lab: LabSummary,
  { speed, seed }: InteractiveOptions,
): Promise<void> {
  const { context, language, say } = env;
  const folder = await makeLearnFolder(context.env);
  await using _turn = await turnToStart(env, lab, folder);
  const ended = await endBackground(env);
  if (ended !== undefined) context.streams.stderr.write(`${say("underway", { id: ended })}\n`);
  const flags = [
    ...(speed === undefined ? [] : ["--speed", String(speed)]),
    ...(seed === undefined ? [] : ["--seed", String(seed)]),
  ];
  const why = await startProcess(
    env,
    ["learn", "serve", lab.id, "--lang", language, ...flags],
    join(folder, "session.log"),
  );
  if (why !== undefined) {
    const { first, rest } = why;
    const hint = rest === "" ? say("resetHint", { id: lab.id }) : rest;
    throw new SpokenError("FAILED", say("labDidNotStart", { id: lab.id, why: first }), hint);
  }
}

/** Two that begin at once would not see each other, and one would be found by nobody: the second waits. @throws LabError FAILED */
async function turnToStart(env: LearnEnvironment, { id }: LabSummary, folder: string): Promise<AsyncDisposable> {
  const { context, wall, say } = env;
  for (let waitedMs = 0; waitedMs < READY_TIMEOUT_MS; waitedMs += POLL_MS) {
    const answer = await tryLock(join(folder, "start.lock"), "Name another folder with XDG_STATE_HOME.");
    if (answer.outcome === "taken") return answer.lock;
    await wall.sleep(POLL_MS, context.signal);
  }
  throw new SpokenError("FAILED", say("labDidNotStart", { id, why: say("notReadyInTime") }), say("labEndedHint"));
}

/** The first line of what a process has said that did not start, and what to do about it. */
interface LastWords {
  readonly first: string;
  readonly rest: string;
}

/** @returns undefined: it is ready; else why it is not */
async function startProcess(
  env: LearnEnvironment,
  words: readonly string[],
  logFile: string,
): Promise<LastWords | undefined> {
  const { context, wall, say } = env;
  const log = openSync(logFile, "w", 0o600);
  const [program = "kubelab", ...first] = context.self;
  const child = spawn(program, [...first, ...words], {
    detached: true,
    stdio: ["ignore", log, log],
    env: { ...context.env },
  });
  closeSync(log);
  child.unref();
  let ended: LastWords | undefined;
  child.once("error", (error) => {
    ended = { first: error.message, rest: "" };
  });
  child.once("exit", (code) => {
    const [first = "", ...rest] = readFileSync(logFile, "utf8").trim().split("\n").slice(0, 4);
    const said = first.startsWith(say("edgeError")) ? first.slice(say("edgeError").length).trim() : first;
    ended ??= { first: said || say("exitCode", { code: code ?? "-" }), rest: rest.join("\n") };
  });
  for (let waitedMs = 0; waitedMs < READY_TIMEOUT_MS && ended === undefined; waitedMs += POLL_MS) {
    if ((await backgroundLab(env))?.pid === child.pid) return undefined;
    await wall.sleep(POLL_MS, context.signal);
  }
  return ended ?? { first: say("notReadyInTime"), rest: "" };
}
