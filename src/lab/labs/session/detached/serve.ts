import { join } from "node:path";
import { Mutex } from "../../../../util/async/mutex.js";
import { defined } from "../../../../util/defined.js";
import { LabError } from "../../../../util/errors.js";
import { socketPathProblem } from "../../../../util/os/paths.js";
import { makeTemporaryFolder, removeOwn } from "../../../../util/os/temporary-folder.js";
import type { LabContext, LabOptions } from "../../environment/context.js";
import { type LabSummary, wordFor } from "../../format/library.js";
import { makeLearnFolder } from "../../progress/progress-store.js";
import type { LabMessage } from "../message.js";
import { openSession } from "../open-session.js";
import { writePicture } from "../picture.js";
import { Speaker } from "../speaker.js";
import { TaskWatch } from "../task-watch.js";
import { hostLab } from "./host.js";
import { announceDetached, forgetDetached, type HostState } from "./state.js";

const SOCKET = "session.sock";

/** Serves a lab in this process until the learner leaves. `kubelab learn start --detach` runs it in a new process. */
export async function serveLab(env: LabContext, lab: LabSummary, options: LabOptions): Promise<void> {
  // The first client gets the messages of the start.
  const speaker = new Speaker();
  const turns = new Mutex();
  let watch: TaskWatch | undefined;
  const onMessage = (message: LabMessage) => {
    speaker.emit(message);
    watch?.note(message);
  };
  await using open = await openSession(env, lab, { ...options, onMessage });
  const { session, written } = open;
  await using tasks = new TaskWatch(session, { random: env.context.random, turns });
  watch = tasks;
  const [socket, temporary] = await placeSocket(env);
  const { language } = env;
  const { speed, kubeVersion } = options;
  const state: HostState = {
    version: 1,
    lab: wordFor(lab),
    socket,
    pid: process.pid,
    language,
    ...defined({ speed, kubeVersion }),
  };
  const host = { socket, written, language, turns, writePicture: () => writePicture(env, lab.id, session.picture()) };
  const serving = hostLab(session, speaker, host, env.context.signal);
  await announceDetached(env, state);
  try {
    await serving;
  } finally {
    await forgetDetached(env, state);
    if (temporary !== undefined) await removeOwn(temporary);
  }
}

/** In the state folder, or in a temporary one if its path would be too long for a socket. @throws LabError USAGE if that is, too */
async function placeSocket(env: LabContext): Promise<readonly [socket: string, temporary: string | undefined]> {
  const own = join(await makeLearnFolder(env.context.env), SOCKET);
  if (socketPathProblem(own) === undefined) return [own, undefined];
  const temporary = await makeTemporaryFolder("learn");
  const socket = join(temporary, SOCKET);
  const problem = socketPathProblem(socket);
  if (problem === undefined) return [socket, temporary];
  await removeOwn(temporary);
  throw new LabError("USAGE", `${problem}: ${socket}`, "Name a shorter folder for temporary files with TMPDIR.");
}
