import { join } from "node:path";
import { stateFolder } from "../../../testbed/target/state-folder.js";
import { type Clock, sleepOn } from "../../../util/clock.js";
import { defined } from "../../../util/defined.js";
import { fileErrorMessage } from "../../../util/i18n/file-error.js";
import { MessageError } from "../../../util/i18n/message-error.js";
import { makeFolder } from "../../../util/os/files.js";
import { tryLock } from "../../../util/os/pid-lock.js";
import type { LabSummary } from "../format/library.js";
import { type LabProgress, loadProgress, type Progress, progressIn, saveProgress } from "./progress.js";
import { bestResult } from "./result.js";
import type { TodayResult } from "./today.js";

/** A change takes a few milliseconds. */
const LOCK_POLL_MS = 5;
const MAX_LOCK_TRIES = 200;

type Env = Readonly<Record<string, string | undefined>>;

/** `$XDG_STATE_HOME/kubelab/learn`: progress, and the state of a background lab. */
export function learnFolder(env: Env): string {
  return join(stateFolder(env), "learn");
}

/** Creates the folder, readable only by its owner. @throws LabError BAD_FILE */
export async function makeLearnFolder(env: Env): Promise<string> {
  const folder = learnFolder(env);
  try {
    await makeFolder(folder, 0o700);
    return folder;
  } catch (cause) {
    const why = fileErrorMessage(cause);
    throw new MessageError("BAD_FILE", ["fileUnwritable", { file: folder, why }], ["stateFolderHint"], { cause });
  }
}

/**
 * The learner's progress file. Each change reads and writes the file at once, under a lock, because another terminal may change it
 * too.
 */
export class ProgressStore {
  readonly file: string;
  /** set if the file was unreadable and was moved aside */
  keptAs: string | undefined;

  constructor(
    readonly env: Env,
    readonly wall: Clock,
  ) {
    this.file = join(learnFolder(env), "progress.json");
  }

  /** @throws LabError BAD_FILE */
  async load(): Promise<Progress> {
    const { progress, keptAs } = await loadProgress(this.file, this.wall.now());
    this.keptAs ??= keptAs;
    return progress;
  }

  async save(progress: Progress): Promise<void> {
    await makeLearnFolder(this.env);
    await saveProgress(this.file, progress);
  }

  /** The learner's progress in this lab, unless the lab has changed since. */
  async of(lab: Pick<LabSummary, "id" | "revision" | "steps">): Promise<LabProgress | undefined> {
    const found = progressIn(lab, await this.load());
    return found && { ...found, done: found.done.filter((step) => lab.steps.includes(step)) };
  }

  /**
   * Restarts a lab. The best earlier result and the best exam stay.
   * @param kubeVersion the release that the learner has chosen
   */
  async begin(lab: LabSummary, seed: number, kubeVersion?: string): Promise<LabProgress> {
    const { id, revision } = lab;
    const before = await this.of(lab);
    const best = bestResult(lab, before);
    const begun: LabProgress = {
      revision,
      seed,
      done: [],
      hints: 0,
      rightPredictions: 0,
      wrongPredictions: 0,
      startedAtMs: this.wall.now(),
      ...defined({ best, exam: before?.exam, folder: lab.folder, kubeVersion }),
    };
    await this.change(id, () => begun);
    return begun;
  }

  /** @param change undefined: removes the lab's progress */
  change(id: string, change: (before: LabProgress | undefined) => LabProgress | undefined): Promise<void> {
    return this.#changeAll((progress) => {
      const { [id]: before, ...others } = progress.labs;
      const after = change(before);
      return { ...progress, labs: after === undefined ? others : { ...others, [id]: after } };
    });
  }

  /** Keeps the result of a day. @param date `2026-11-28` */
  changeToday(date: string, result: TodayResult): Promise<void> {
    return this.#changeAll((progress) => ({ ...progress, today: { ...progress.today, [date]: result } }));
  }

  async #changeAll(change: (before: Progress) => Progress): Promise<void> {
    const folder = await makeLearnFolder(this.env);
    await using _lock = await this.#lock(folder);
    await this.save(change(await this.load()));
  }

  /** Waits for another terminal that changes the file; undefined: the wait is over, and that terminal is assumed dead. */
  async #lock(folder: string): Promise<AsyncDisposable | undefined> {
    for (let tries = 0; tries < MAX_LOCK_TRIES; tries++) {
      const answer = await tryLock(join(folder, "progress.lock"), "Choose another folder with XDG_STATE_HOME.");
      if (answer.outcome === "taken") return answer.lock;
      await sleepOn(this.wall, LOCK_POLL_MS);
    }
    return undefined;
  }
}
