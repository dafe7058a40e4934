import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { defined } from "../../../../util/defined.js";
import type { Language } from "../../../../util/i18n/language.js";
import { writeFileAtomic } from "../../../../util/os/files.js";
import type { LabContext } from "../../environment/context.js";
import { learnFolder } from "../../progress/progress-store.js";

/** The file through which other processes find a background lab. */
export interface HostState {
  readonly version: 1;
  /** id of the lab, or the folder of the learner's own */
  readonly lab: string;
  readonly socket: string;
  readonly pid: number;
  /** the language that the lab was started in, and continues in unless a command names another */
  readonly language: Language;
  /** the speed that the lab was started with; absent: the lab's default */
  readonly speed?: number;
  /** its requested release */
  readonly kubeVersion?: string;
}

const stateFile = (env: LabContext): string => join(learnFolder(env.context.env), "session.json");

/** The lab that runs in the background, or whose process was killed. */
export async function detachedLab(env: LabContext): Promise<HostState | undefined> {
  try {
    const state = JSON.parse(await readFile(stateFile(env), "utf8")) as Partial<HostState> | null;
    const { lab, socket, pid, language = env.language, speed, kubeVersion } = state ?? {};
    if (lab === undefined || socket === undefined || pid === undefined) return undefined;
    return { version: 1, lab, socket, pid, language, ...defined({ speed, kubeVersion }) };
  } catch {
    // Missing and incomplete files both mean that no lab runs.
    return undefined;
  }
}

/** Saves the state for `detachedLab`. */
export async function announceDetached(env: LabContext, state: HostState): Promise<void> {
  await writeFileAtomic(stateFile(env), JSON.stringify(state), { mode: 0o600 });
}

/** Removes the state. Safe to call twice. */
export async function forgetDetached(env: LabContext, { socket }: HostState): Promise<void> {
  await rm(stateFile(env), { force: true });
  await rm(socket, { force: true });
}
