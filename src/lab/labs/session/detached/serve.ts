import { join } from "node:path";
import { socketPathProblem } from "../../../../staging/cri/grpc/endpoint.js";
import { defined } from "../../../../util/defined.js";
import { LabError } from "../../../../util/errors.js";
import { makeTemporaryFolder, removeOwn } from "../../../../util/os/temporary-folder.js";
import type { LabContext, LabOptions } from "../../environment/context.js";
import { type LabSummary, wordFor } from "../../format/library.js";
import { makeLearnFolder } from "../../progress/progress-store.js";
import type { LabMessage } from "../message.js";
import { openSession } from "../open-session.js";
import { writePicture } from "../picture.js";
import { hostLab, type Speaker } from "./host.js";
import { announceDetached, forgetDetached, type HostState } from "./state.js";

const SOCKET = "session.sock";

/** Serves a lab in this process until the learner leaves. `kubelab learn start --detach` runs it in a new process. */
export async function serveLab(env: LabContext, lab: LabSummary, options: LabOptions): Promise<void> {
  const opening: LabMessage[] = [];
  // Remaining times are outdated when a client reads them.
  const speaker: Speaker = {
    emit: (message) => {
      if (message.kind !== "waiting" && message.kind !== "waited") opening.push(message);
    },
  };
  await using open = await openSession(env, lab, { ...options, onMessage: (message) => speaker.emit(message) });
  const { session, written } = open;
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
  const present = session.present.bind(session);
  session.present = () => {
    // The first client receives the messages of the start.
    for (const message of opening.splice(0)) speaker.emit(message);
    present();
  };
  const host = { socket, written, language, writePicture: () => writePicture(env, lab.id, session.picture()) };
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
