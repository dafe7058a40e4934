import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { LabSummary } from "../../labs/library.js";
import type { LabMessage } from "../../labs/message.js";
import { LabError } from "../../util/errors.js";
import { makeFolder, writeFileAtomic } from "../../util/files.js";
import type { LearnEnvironment } from "./environment.js";
import { hostLab, type LabOperation, type LabOutcome, type Speaker } from "./host.js";
import { askHost } from "./host-client.js";
import type { InteractiveOptions } from "./interactive.js";
import { openSession } from "./open-session.js";
import { learnFolder } from "./progress-store.js";

/** What a lab in the background leaves to be found by. */
interface HostState {
  readonly lab: string;
  readonly socket: string;
}

const stateFile = (env: LearnEnvironment): string => join(learnFolder(env.context.env), "session.json");

/** Serves a lab in this process until the learner leaves: `kubelab learn start --detach` runs it as a process of its own. */
export async function serveLab(env: LearnEnvironment, lab: LabSummary, options: InteractiveOptions): Promise<void> {
  const opening: LabMessage[] = [];
  const speaker: Speaker = { emit: (message) => void opening.push(message) };
  await using open = await openSession(env, lab, { ...options, onMessage: (message) => speaker.emit(message) });
  const folder = learnFolder(env.context.env);
  await makeFolder(folder, 0o700);
  const socket = join(folder, "session.sock");
  const state: HostState = { lab: lab.id, socket };
  const replayed: Speaker = speaker;
  const first = opening.splice(0);
  const present = open.session.present.bind(open.session);
  let isFirst = true;
  open.session.present = () => {
    // Whoever asks first hears how the lab began.
    if (isFirst) for (const message of first) replayed.emit(message);
    isFirst = false;
    present();
  };
  const serving = hostLab(open.session, speaker, { socket, written: open.written }, env.context.signal);
  await writeFileAtomic(stateFile(env), JSON.stringify(state), { mode: 0o600 });
  try {
    await serving;
  } finally {
    await rm(stateFile(env), { force: true });
  }
}

/** The lab that runs in the background, if one does. */
export async function backgroundLab(env: LearnEnvironment): Promise<HostState | undefined> {
  try {
    return JSON.parse(await readFile(stateFile(env), "utf8")) as HostState;
  } catch {
    // Missing or half-written: for the callers both mean that nothing runs.
    return undefined;
  }
}

/**
 * Asks the lab in the background, and shows what it tells.
 * @throws LabError FAILED when none runs
 */
export async function ask(env: LearnEnvironment, operation: LabOperation): Promise<LabOutcome & { kind: "outcome" }> {
  const state = await backgroundLab(env);
  const renderer = env.renderer("stdout");
  const outcome =
    state === undefined
      ? undefined
      : await askHost(state.socket, operation, (message) => renderer.write(message), env.context.signal);
  if (outcome !== undefined) return outcome;
  await rm(stateFile(env), { force: true });
  throw new LabError("FAILED", env.say("noneStarted"), env.say("noneStartedHint"));
}

const POLL_MS = 20;
const READY_TIMEOUT_MS = 60_000;

/** Starts a lab in a process of its own; one that runs is ended first. @throws LabError FAILED with what it said */
export async function startInBackground(
  env: LearnEnvironment,
  lab: LabSummary,
  { speed, seed }: InteractiveOptions,
): Promise<void> {
  if ((await backgroundLab(env)) !== undefined) await ask(env, { op: "leave" }).catch(() => undefined);
  const { context, language, wall } = env;
  const folder = learnFolder(context.env);
  await makeFolder(folder, 0o700);
  const logFile = join(folder, "session.log");
  const log = openSync(logFile, "w", 0o600);
  const [program = "kubelab", ...first] = context.self;
  const flags = [
    ...(speed === undefined ? [] : ["--speed", String(speed)]),
    ...(seed === undefined ? [] : ["--seed", String(seed)]),
  ];
  const child = spawn(program, [...first, "learn", "serve", lab.id, "--lang", language, ...flags], {
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
  child.once("exit", () => {
    ended ??= readFileSync(logFile, "utf8").trim().split("\n").slice(0, 4).join("\n");
  });
  for (let waitedMs = 0; waitedMs < READY_TIMEOUT_MS && ended === undefined; waitedMs += POLL_MS) {
    if ((await backgroundLab(env))?.lab === lab.id) return;
    await wall.sleep(POLL_MS, context.signal);
  }
  throw new LabError("FAILED", `${lab.id} did not start: ${ended ?? "it was not ready in time"}`, env.say("noLabHint"));
}
