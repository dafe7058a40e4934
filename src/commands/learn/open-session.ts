import { LabBroken } from "../../labs/actions.js";
import type { LabSummary } from "../../labs/library.js";
import type { LabMessage } from "../../labs/message.js";
import type { LabPlace } from "../../labs/place.js";
import { LabSession } from "../../labs/session.js";
import { LabError } from "../../util/errors.js";
import { openEmbeddedPlace } from "./embedded-place.js";
import type { LearnEnvironment } from "./environment.js";
import { trackProgress } from "./track.js";

export interface OpenSessionOptions {
  readonly speed?: number;
  readonly seed?: number;
  readonly onMessage: (message: LabMessage) => void;
}

export interface OpenSession extends AsyncDisposable {
  readonly session: LabSession;
  readonly place: LabPlace;
  readonly written: () => Promise<void>;
}

/** As other commands find the lab's cluster: `kubelab --cluster learn`. */
export const LEARN_CLUSTER = "learn";
const MAX_SEED = 1_000_000;

/**
 * Opens a lab where its learner left it: the same values, the steps that were done left out. A lab is brought to its starting
 * state each time, and what its steps did is done again for the learner, since a cluster does not outlive its process.
 * @throws LabError FAILED for a lab that cannot begin
 */
export async function openSession(
  env: LearnEnvironment,
  summary: LabSummary,
  { speed, seed: wantedSeed, onMessage }: OpenSessionOptions,
): Promise<OpenSession> {
  const { context, store, library, language } = env;
  const lab = await library.load(summary.id);
  if (lab === undefined) throw new LabError("USAGE", env.say("noLab", { id: summary.id }), env.say("noLabHint"));
  const before = await store.of(summary);
  const isAnew = before === undefined || before.finishedAtMs !== undefined;
  const seed = wantedSeed ?? (isAnew ? Math.floor(context.random.float() * MAX_SEED) : before.seed);
  const { done } = isAnew || seed !== before.seed ? await store.begin(summary, seed) : before;
  const { definition } = lab;
  const place = await openEmbeddedPlace(context, {
    clusterName: LEARN_CLUSTER,
    speed: speed ?? definition.speed,
    definition,
    columns: Math.min(context.streams.stderr.columns ?? 80, 100),
    isColoured: env.isColoured("stderr"),
  });
  const { note, written } = trackProgress(store, summary);
  let isQuiet = false;
  const emit = (message: LabMessage) => {
    if (isQuiet) return;
    note(message);
    onMessage(message);
  };
  const session = new LabSession(lab, place, { language, seed, emit });
  const close = async () => {
    await session[Symbol.asyncDispose]();
    await place[Symbol.asyncDispose]();
    await written();
  };
  try {
    await session.begin(context.signal);
    isQuiet = true;
    for (const step of done) await redo(session, step, context.signal);
    isQuiet = false;
    return { session, place, written, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    if (!(error instanceof LabBroken)) throw error;
    throw new LabError("FAILED", `${env.say("labBroken")}: ${error.message}`, `kubelab learn reset ${summary.id}`, {
      cause: error,
    });
  }
}

/** Does a step again that was done in an earlier run, so that the cluster is as the learner left it. */
async function redo(session: LabSession, step: string, signal: AbortSignal): Promise<void> {
  if (session.step?.id !== step) return;
  await session.solve(signal);
  const [first] = session.choices();
  await session.perform(first?.key, signal);
}
