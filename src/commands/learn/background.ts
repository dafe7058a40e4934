import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { LabSummary } from "../../labs/library.js";
import type { LabMessage } from "../../labs/message.js";
import type { Language } from "../../labs/text.js";
import { isAbortError, LabError } from "../../util/errors.js";
import { makeFolder, writeFileAtomic } from "../../util/files.js";
import type { LearnEnvironment } from "./environment.js";
import { hostLab, type LabOperation, type Speaker } from "./host.js";
import { askHost, type LabAnswer } from "./host-client.js";
import type { InteractiveOptions } from "./interactive.js";
import { openSession } from "./open-session.js";
import { learnFolder } from "./progress-store.js";
import { WaitingLine } from "./waiting.js";

/** What a lab in the background leaves to be found by. */
export interface HostState {
  readonly version: 1;
  readonly lab: string;
  readonly socket: string;
  readonly pid: number;
  /** that it was begun in: whoever goes on with it reads the same */
  readonly language: Language;
}

const stateFile = (env: LearnEnvironment): string => join(learnFolder(env.context.env), "session.json");

/** Serves a lab in this process until the learner leaves: `kubelab learn start --detach` runs it as a process of its own. */
export async function serveLab(env: LearnEnvironment, lab: LabSummary, options: InteractiveOptions): Promise<void> {
  const opening: LabMessage[] = [];
  const speaker: Speaker = { emit: (message) => void opening.push(message) };
  await using open = await openSession(env, lab, { ...options, onMessage: (message) => speaker.emit(message) });
  const { session, written } = open;
  const folder = learnFolder(env.context.env);
  await makeFolder(folder, 0o700);
  const socket = join(folder, "session.sock");
  const { language, say } = env;
  const state: HostState = { version: 1, lab: lab.id, socket, pid: process.pid, language };
  const present = session.present.bind(session);
  session.present = () => {
    // Whoever asks first hears how the lab began.
    for (const message of opening.splice(0)) speaker.emit(message);
    present();
  };
  const serving = hostLab(session, speaker, { socket, written, say }, env.context.signal);
  await writeFileAtomic(stateFile(env), JSON.stringify(state), { mode: 0o600 });
  try {
    await serving;
  } finally {
    await rm(stateFile(env), { force: true });
  }
}

/** The lab that runs in the background, or did when its process was killed. */
export async function backgroundLab(env: LearnEnvironment): Promise<HostState | undefined> {
  try {
    const state = JSON.parse(await readFile(stateFile(env), "utf8")) as Partial<HostState> | null;
    const { lab, socket, pid, language } = state ?? {};
    const isOurs = lab !== undefined && socket !== undefined && pid !== undefined;
    return isOurs ? { version: 1, lab, socket, pid, language: language ?? env.language } : undefined;
  } catch {
    // Missing or half-written: for the callers both mean that nothing runs.
    return undefined;
  }
}

/** Whom to ask, in the language of the lab. @throws LabError FAILED when there is none */
export async function openBackground(env: LearnEnvironment): Promise<{ env: LearnEnvironment; state: HostState }> {
  const state = await backgroundLab(env);
  if (state === undefined) throw new LabError("FAILED", env.say("noneStarted"), env.say("noneStartedHint"));
  return { env: env.inLanguage(state.language), state };
}

/**
 * Asks the lab in the background, and shows what it tells.
 * @throws LabError FAILED when it does not answer any more
 */
export async function ask(
  { env, state }: { readonly env: LearnEnvironment; readonly state: HostState },
  operation: LabOperation,
): Promise<LabAnswer> {
  const renderer = env.renderer("stdout");
  const waiting = new WaitingLine(env);
  const onMessage = (message: LabMessage) => {
    if (message.kind === "waiting") return waiting.update(message);
    waiting.stop();
    renderer.write(message);
  };
  try {
    const outcome = await askHost(state.socket, operation, onMessage, env.context.signal);
    if (outcome !== undefined) return outcome;
  } finally {
    waiting.stop();
  }
  await forget(env, state);
  const { lab: id } = state;
  throw new LabError("FAILED", env.say("labEnded", { id }), env.say("labEndedHint", { id }));
}

async function forget(env: LearnEnvironment, { socket }: HostState): Promise<void> {
  await rm(stateFile(env), { force: true });
  await rm(socket, { force: true });
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
    await forget(env, state);
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
  const ended = await endBackground(env);
  if (ended !== undefined) context.streams.stderr.write(`${say("underway", { id: ended })}\n`);
  const folder = learnFolder(context.env);
  await makeFolder(folder, 0o700);
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
    throw new LabError("FAILED", say("labDidNotStart", { id: lab.id, why }), say("resetHint", { id: lab.id }));
  }
}

/** @returns undefined: it is ready; else why it is not */
async function startProcess(
  env: LearnEnvironment,
  words: readonly string[],
  logFile: string,
): Promise<string | undefined> {
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
  let ended: string | undefined;
  child.once("error", (error) => {
    ended = error.message;
  });
  child.once("exit", (code) => {
    ended ??= readFileSync(logFile, "utf8").trim().split("\n").slice(0, 4).join("\n") || `exit ${code}`;
  });
  for (let waitedMs = 0; waitedMs < READY_TIMEOUT_MS && ended === undefined; waitedMs += POLL_MS) {
    if ((await backgroundLab(env))?.pid === child.pid) return undefined;
    await wall.sleep(POLL_MS, context.signal);
  }
  return ended ?? say("notReadyInTime");
}
