import { readdir, readFile, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../../util/clock.js";
import type { Say } from "../../../../util/i18n/catalogue.js";
import { writeFileAtomic } from "../../../../util/os/files.js";
import { isSameProcess } from "../../../../util/os/processes.js";
import { learnFolder, makeLearnFolder } from "../../progress/progress-store.js";

type Env = Readonly<Record<string, string | undefined>>;

/** The objects of a lab on the learner's own cluster, saved before the lab creates them. */
export interface OwnRecord {
  readonly version: 1;
  readonly lab: string;
  /** see OwnCluster.identity */
  readonly cluster: string;
  readonly context: string;
  readonly server: string;
  /** flags that select the cluster */
  readonly flags: string;
  /** of the lab's process, with the start that distinguishes it from a later process of the same number */
  readonly pid: number;
  readonly mark: string;
  /** paths of its objects, which did not exist before */
  readonly paths: readonly string[];
  /** UIDs of earlier certificate requests */
  readonly earlier: readonly string[];
  /** by path, the UIDs of the objects seen while the lab ran */
  readonly made: Readonly<Record<string, readonly string[]>>;
  /** how far the cluster's clock is ahead of this machine's, in ms */
  readonly aheadMs: number;
}

/** A saved record. */
export interface FoundRecord {
  readonly file: string;
  readonly record: OwnRecord;
  /** Unix ms of this machine's clock: the last sign of life of the lab's process */
  readonly seenAtMs: number;
  readonly isAlive: boolean;
}

const SUFFIX = ".json";

function ownFolder(env: Env): string {
  return join(learnFolder(env), "own");
}

/** The record file of one running lab in the state folder, deleted after the lab has removed its objects. */
export class OwnNote {
  #file: string | undefined;

  constructor(
    readonly env: Env,
    readonly wall: Clock,
    /** of the lab's folder, which is unique */
    readonly name: string,
  ) {}

  /** @throws LabError BAD_FILE; the lab then creates nothing, because it could not find the objects again */
  async write(record: OwnRecord): Promise<void> {
    const folder = await makeLearnFolder(this.env);
    this.#file = join(folder, "own", `${this.name}${SUFFIX}`);
    await writeFileAtomic(this.#file, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
    await this.touch();
  }

  /** Records that the lab's process is alive. */
  async touch(): Promise<void> {
    const now = new Date(this.wall.now());
    if (this.#file !== undefined) await utimes(this.#file, now, now).catch(() => {}); // The state folder may have been cleared.
  }

  async forget(): Promise<void> {
    if (this.#file !== undefined) await rm(this.#file, { force: true });
  }
}

/** The records of labs on the learner's own clusters, oldest first. */
export async function findRecords(env: Env): Promise<readonly FoundRecord[]> {
  const folder = ownFolder(env);
  const found: FoundRecord[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    const file = join(folder, name);
    const record = name.endsWith(SUFFIX) ? await readRecord(file) : undefined;
    const seen = await stat(file).catch(() => undefined); // Its lab has just ended.
    if (record === undefined || seen === undefined) continue;
    found.push({ file, record, seenAtMs: seen.mtimeMs, isAlive: await isSameProcess(record.pid, record.mark) });
  }
  return found.sort((a, b) => a.seenAtMs - b.seenAtMs);
}

export async function forgetRecord({ file }: FoundRecord): Promise<void> {
  await rm(file, { force: true });
}

/** Describes the orphaned objects of killed labs on other clusters, with the commands to remove them. */
export async function leftElsewhere(env: Env, say: Say): Promise<readonly string[]> {
  const killed = (await findRecords(env)).filter((found) => !found.isAlive);
  return killed.map(({ file, record: { lab, context, server, flags } }) =>
    [say("leftOn", { lab, context, server }), say("leftBehindHint", { flags }), say("leftOnGone", { file })].join("\n"),
  );
}

/** undefined: not a record, or of a newer version */
async function readRecord(file: string): Promise<OwnRecord | undefined> {
  try {
    const value = JSON.parse(await readFile(file, "utf8")) as Partial<OwnRecord> | null;
    const isOurs = value?.version === 1 && Array.isArray(value.paths) && typeof value.made === "object";
    return isOurs ? (value as OwnRecord) : undefined;
  } catch {
    return undefined;
  }
}
