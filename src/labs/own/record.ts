import { readdir, readFile, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Say } from "../../i18n/catalogue.js";
import type { Clock } from "../../util/clock.js";
import { writeFileAtomic } from "../../util/files.js";
import { isAlive, markOf } from "../../util/processes.js";
import { learnFolder, makeLearnFolder } from "../progress-store.js";

type Env = Readonly<Record<string, string | undefined>>;

/** What a lab makes on a cluster of the learner's own: written down before any of it is made. */
export interface OwnRecord {
  readonly version: 1;
  readonly lab: string;
  /** see OwnCluster.identity */
  readonly cluster: string;
  readonly context: string;
  readonly server: string;
  /** that name the cluster in a command line */
  readonly flags: string;
  /** of the lab's process, with what tells it from a later one of the same number */
  readonly pid: number;
  readonly mark: string;
  /** of objects of its own: none of them was there before */
  readonly paths: readonly string[];
  /** UIDs of certificate requests that were there before */
  readonly earlier: readonly string[];
  /** by path, the UIDs of what was seen there while the lab went on */
  readonly made: Readonly<Record<string, readonly string[]>>;
  /** ms that the cluster's clock is ahead of this machine's */
  readonly aheadMs: number;
}

/** A record as it is found again. */
export interface FoundRecord {
  readonly file: string;
  readonly record: OwnRecord;
  /** Unix ms of this machine's clock when the lab's process last said that it lives */
  readonly seenAtMs: number;
  readonly isAlive: boolean;
}

const SUFFIX = ".json";

function ownFolder(env: Env): string {
  return join(learnFolder(env), "own");
}

/** The note of one lab that goes on: a file in the state folder, gone when the lab has taken everything away. */
export class OwnNote {
  #file: string | undefined;

  constructor(
    readonly env: Env,
    readonly wall: Clock,
    /** of the lab's folder, which no other lab has */
    readonly name: string,
  ) {}

  /** @throws LabError BAD_FILE: what could not be found again is not made */
  async write(record: OwnRecord): Promise<void> {
    const folder = await makeLearnFolder(this.env);
    this.#file = join(folder, "own", `${this.name}${SUFFIX}`);
    await writeFileAtomic(this.#file, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 });
    await this.touch();
  }

  /** The lab's process lives. */
  async touch(): Promise<void> {
    const now = new Date(this.wall.now());
    if (this.#file !== undefined) await utimes(this.#file, now, now).catch(() => {}); // a state folder may be cleared
  }

  async forget(): Promise<void> {
    if (this.#file !== undefined) await rm(this.#file, { force: true });
  }
}

/** What labs on clusters of the learner's own have noted, the oldest first. */
export async function findRecords(env: Env): Promise<readonly FoundRecord[]> {
  const folder = ownFolder(env);
  const found: FoundRecord[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    const file = join(folder, name);
    const record = name.endsWith(SUFFIX) ? await readRecord(file) : undefined;
    const seen = await stat(file).catch(() => undefined); // its lab has just come to its end
    if (record === undefined || seen === undefined) continue;
    found.push({ file, record, seenAtMs: seen.mtimeMs, isAlive: await isSame(record) });
  }
  return found.sort((a, b) => a.seenAtMs - b.seenAtMs);
}

export async function forgetRecord({ file }: FoundRecord): Promise<void> {
  await rm(file, { force: true });
}

/** What killed labs have left, on clusters that nobody asks just now, and what to do about it: some lines for each. */
export async function leftElsewhere(env: Env, say: Say): Promise<readonly string[]> {
  const killed = (await findRecords(env)).filter((found) => !found.isAlive);
  return killed.map(({ file, record: { lab, context, server, flags } }) =>
    [say("leftOn", { lab, context, server }), say("leftBehindHint", { flags }), say("leftOnGone", { file })].join("\n"),
  );
}

/** A number is given to another process in the end. */
async function isSame({ pid, mark }: OwnRecord): Promise<boolean> {
  return (await isAlive(pid)) && (await markOf(pid)) === mark;
}

/** undefined: a file of something else, or of a newer version */
async function readRecord(file: string): Promise<OwnRecord | undefined> {
  try {
    const value = JSON.parse(await readFile(file, "utf8")) as Partial<OwnRecord> | null;
    const isOurs = value?.version === 1 && Array.isArray(value.paths) && typeof value.made === "object";
    return isOurs ? (value as OwnRecord) : undefined;
  } catch {
    return undefined;
  }
}
