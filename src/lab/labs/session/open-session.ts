import { isRunning, lockCluster, readClusterState } from "../../../testbed/target/cluster-state.js";
import { nearestRelease } from "../../../testbed/target/server-release.js";
import { labRule } from "../../../trace/story/rules.js";
import { tellStory } from "../../../trace/story/teller.js";
import { Trace, type TraceSink } from "../../../trace/trace.js";
import { defined } from "../../../util/defined.js";
import { byLanguage } from "../../../util/i18n/language.js";
import { LocalizedError } from "../../../util/i18n/message-error.js";
import type { LabContext, LabOptions, LabProcess } from "../environment/context.js";
import { type EmbeddedEnvironmentOptions, openEmbeddedEnvironment } from "../environment/embedded-environment.js";
import type { LabEnvironment } from "../environment/environment.js";
import type { LabFacts } from "../environment/facts.js";
import { stopOrphanedProcesses } from "../environment/orphaned-processes.js";
import type { RealTarget } from "../environment/own/cluster.js";
import { OWN_NODE_PREFIX, openOwnEnvironment } from "../environment/own/environment.js";
import { isOnPath } from "../environment/programs.js";
import { commandsOf } from "../format/commands.js";
import type { Lab } from "../format/lab.js";
import { type LabSummary, wordFor } from "../format/library.js";
import { withNodesNamed } from "../format/variables.js";
import { LabBroken } from "./actions.js";
import type { LabMessage } from "./message.js";
import { hidesChecks } from "./picture.js";
import { Announcement } from "./running.js";
import { LabSession } from "./session.js";
import { promptNotes } from "./shell-files.js";
import { trackProgress } from "./track.js";

export interface OpenSessionOptions extends LabOptions {
  /** restarts the lab although it has begun */
  readonly isAnew?: boolean;
  /** undefined: an embedded cluster for the lab */
  readonly real?: RealTarget;
  readonly onMessage: (message: LabMessage) => void;
  /** called before each step of an earlier run that is repeated: `index` of `count`, from 1 */
  readonly onRepeat?: ((index: number, count: number) => void) | undefined;
  /** ends the opening; default: the process's signal */
  readonly signal?: AbortSignal;
  /** gets the lab's facts as they happen */
  readonly sink?: TraceSink | undefined;
}

export interface OpenSession extends AsyncDisposable {
  readonly session: LabSession;
  readonly environment: LabEnvironment;
  readonly written: () => Promise<void>;
}

/** The name of the lab's cluster for other commands: `kubelab --cluster learn`. */
const LEARN_CLUSTER = "learn";
const MAX_SEED = 1_000_000;

/**
 * Opens a lab at its current step with the same values. A cluster does not outlive its process, so the lab first
 * creates its starting state and repeats the steps done in earlier runs.
 * @throws LabError FAILED if the lab cannot start
 */
export async function openSession(
  env: LabContext,
  summary: LabSummary,
  { speed, seed: wantedSeed, kubeVersion: wantedRelease, isAnew: isWantedAnew, real, ...options }: OpenSessionOptions,
): Promise<OpenSession> {
  const { context, store, language } = env;
  const { onMessage, onRepeat, sink, signal = context.signal } = options;
  const lab = await loadLab(env, summary.id, real);
  await stopOrphanedProcesses();
  const before = await store.of(summary);
  // Steps done earlier on the learner's own cluster are not repeated.
  const isAnew =
    isWantedAnew === true || real !== undefined || before === undefined || before.finishedAtMs !== undefined;
  const seed = wantedSeed ?? (isAnew ? Math.floor(context.random.float() * MAX_SEED) : before.seed);
  const shown = { columns: env.columns, isColoured: env.isColoured("stderr"), language };
  const realPlace =
    real === undefined
      ? undefined
      : await openOwnEnvironment(context, { target: real, definition: lab.definition, seed, say: env.say, ...shown });
  const goesOn = !isAnew && seed === before.seed;
  // A lab keeps the release that it was started with, because earlier steps may not hold for another one.
  const kept = goesOn && before.kubeVersion !== undefined ? nearestRelease(before.kubeVersion) : undefined;
  const kubeVersion = wantedRelease ?? kept;
  const { done } = goesOn ? before : await store.begin(summary, seed, kubeVersion);
  if (kubeVersion !== kept)
    await store.change(summary.id, (saved) => saved && { ...saved, ...defined({ kubeVersion }) });
  const definition = { ...lab.definition, ...defined({ kubeVersion }) };
  const embedded = { speed: speed ?? definition.speed, definition, ...shown };
  const environment =
    realPlace ?? (await openEmbeddedEnvironment(context, { ...(await claimClusterName(context)), ...embedded }));
  const { note, written } = trackProgress(store, summary);
  const about = { lab: summary.id, startedAtMs: env.wall.now(), language, place: environment.place };
  const announcement = await Announcement.of(context.env, about);
  const notePrompt = promptNotes(environment.place, summary.id, env.unicode);
  let isQuiet = false;
  let step: string | undefined;
  const emit = (message: LabMessage) => {
    if (isQuiet) return;
    note(message);
    notePrompt(message);
    if (message.kind === "step") step = message.title;
    if (message.kind === "step") announcement.note(byLanguage((language) => session.presentedIn(language)));
    onMessage(message);
  };
  const session: LabSession = new LabSession(lab, environment, { language, seed, emit });
  const told = sink === undefined ? undefined : tellSteps(environment.facts, session, sink, () => step);
  const close = async () => {
    try {
      told?.[Symbol.dispose]();
      await announcement[Symbol.asyncDispose]();
      await session[Symbol.asyncDispose]();
      if (realPlace !== undefined) await cleanUp(env, session);
    } finally {
      await environment[Symbol.asyncDispose]();
    }
    await written();
  };
  try {
    await session.begin(signal);
    isQuiet = true;
    for (const [index, step] of done.entries()) {
      onRepeat?.(index + 1, done.length);
      await redo(env, session, step, signal);
    }
    isQuiet = false;
    return { session, environment, written, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    if (!(error instanceof LabBroken)) throw error;
    const message = `${env.say("labBroken")}: ${error.message}`;
    throw new LocalizedError("FAILED", message, env.say("startAgainHint", { id: wordFor(summary) }), { cause: error });
  }
}

/** @throws LabError USAGE if there is no such lab, FAILED if a program that it needs is not installed */
async function loadLab(
  { context, library, say, notice }: LabContext,
  id: string,
  real: RealTarget | undefined,
): Promise<Lab> {
  const found = await library.load(id);
  if (found === undefined) throw new LocalizedError("USAGE", say("noLab", { id }), say("noLabHint"));
  const lab = real === undefined ? found : withNodesNamed(found, OWN_NODE_PREFIX);
  for (const program of lab.definition.needs) {
    if (isOnPath(program, context.env)) continue;
    throw new LocalizedError("FAILED", say("programMissing", { program }), say("noLabHint"));
  }
  if (!isOnPath("kubectl", context.env) && commandsOf(lab.definition).some((line) => /\bkubectl /.test(line))) {
    notice(say("kubectlMissing"));
  }
  return lab;
}

/** Removes the lab's objects, also after Ctrl-C, and reports those that it cannot remove. */
async function cleanUp({ notice, say }: LabContext, session: LabSession): Promise<void> {
  const never = new AbortController().signal;
  for (const action of session.definition.cleanup) {
    try {
      await session.runs.act(action, "cleanup", never);
    } catch (error) {
      if (!(error instanceof LabBroken)) throw error;
      notice(say("notCleaned", { what: error.message }));
    }
  }
}

/** Repeats a step from an earlier run, so that the cluster has the same state. */
async function redo({ say }: LabContext, session: LabSession, step: string, signal: AbortSignal): Promise<void> {
  if (session.step?.id !== step) return;
  await session.solve(signal);
  const [first] = session.choices();
  if (!(await session.perform(first?.key, signal))) throw new LabBroken(say("cannotRedo", { step }));
}

/** `learn`, or `learn-2` if another lab runs in another terminal. */
async function claimClusterName({
  env,
}: LabProcess): Promise<Pick<EmbeddedEnvironmentOptions, "clusterName" | "lock">> {
  for (let count = 1; ; count++) {
    const clusterName = count === 1 ? LEARN_CLUSTER : `${LEARN_CLUSTER}-${count}`;
    const state = await readClusterState(env, clusterName);
    if (state !== undefined && (await isRunning(state))) continue;
    const answer = await lockCluster(env, clusterName);
    if (answer.outcome === "taken") return { clusterName, lock: answer.lock };
  }
}

/**
 * Passes the facts that a learner can see on to a sink, with the story of each step.
 * @param step the title of the one that is shown; undefined while the lab sets up its cluster
 */
function tellSteps(facts: LabFacts, session: LabSession, sink: TraceSink, step: () => string | undefined): Disposable {
  const shown = new Trace(facts.clock, facts.wantsBodies, facts.secrets);
  shown.addSink({ write: (event) => sink.write(event) });
  const telling = tellStory(shown, labRule(step));
  const isShown = hidesChecks(session.definition);
  facts.passTo({ write: (fact) => isShown(fact) && shown.relay(fact) });
  return telling;
}
