import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Language } from "../../../util/i18n/language.js";
import { writeFileAtomic } from "../../../util/os/files.js";
import { isSameProcess, markOf } from "../../../util/os/processes.js";
import { isRecord } from "../../../util/records.js";
import type { LabPlace } from "../environment/environment.js";
import { learnFolder, makeLearnFolder } from "../progress/progress-store.js";
import type { LabMessage } from "./message.js";

type Env = Readonly<Record<string, string | undefined>>;

/** The messages of a step by language. */
export type Presentations = Readonly<Partial<Record<Language, readonly LabMessage[]>>>;

/** A lab that is played in some process, for other terminals. */
export interface RunningLab {
  readonly version: 2;
  readonly lab: string;
  readonly pid: number;
  /** the start of that process, because its PID can be reused */
  readonly mark: string;
  /** Unix ms */
  readonly startedAtMs: number;
  readonly language: Language;
  readonly place: LabPlace;
  /** the current step's message in each language; absent while a lab starts */
  readonly step: Presentations;
}

const FILE = /^running-\d+\.json$/;
const fileOf = (env: Env, pid: number) => join(learnFolder(env), `running-${pid}.json`);

/** The running labs, the newest first. Removes the files of killed processes. */
export async function runningLabs(env: Env): Promise<readonly RunningLab[]> {
  const folder = learnFolder(env);
  const names = (await readdir(folder).catch(() => [])).filter((name) => FILE.test(name));
  const found: RunningLab[] = [];
  for (const name of names) {
    const running = parsed(await readFile(join(folder, name), "utf8").catch(() => ""));
    if (running === undefined) continue;
    if (await isSameProcess(running.pid, running.mark)) found.push(running);
    else await rm(join(folder, name), { force: true });
  }
  return found.toSorted((a, b) => b.startedAtMs - a.startedAtMs);
}

function parsed(text: string): RunningLab | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && value["version"] === 2 ? (value as unknown as RunningLab) : undefined;
  } catch {
    // Another process is writing it, or was killed while it wrote.
    return undefined;
  }
}

/** Publishes a running lab and its current step to other terminals, until it is disposed. */
export class Announcement implements AsyncDisposable {
  #writing: Promise<void> = Promise.resolve();

  private constructor(
    readonly env: Env,
    readonly about: Omit<RunningLab, "step">,
  ) {}

  /** @throws LabError BAD_FILE */
  static async of(
    env: Env,
    about: Pick<RunningLab, "lab" | "startedAtMs" | "language" | "place">,
  ): Promise<Announcement> {
    await makeLearnFolder(env);
    const { pid } = process;
    const announcement = new Announcement(env, { version: 2, pid, mark: await markOf(pid), ...about });
    announcement.#write({});
    return announcement;
  }

  /** Records the current step's message. Other terminals can read it in another language. */
  note(step: Presentations): void {
    this.#write(step);
  }

  #write(step: Presentations): void {
    const text = JSON.stringify({ ...this.about, step });
    const path = fileOf(this.env, this.about.pid);
    // A lab continues even if its folder was removed.
    this.#writing = this.#writing.then(() => writeFileAtomic(path, text, { mode: 0o600 })).catch(() => undefined);
  }

  /** Resolves when other terminals can see the recorded step. */
  written(): Promise<void> {
    return this.#writing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.written();
    await rm(fileOf(this.env, this.about.pid), { force: true });
  }
}
