import {
  chmodSync,
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  lstatSync,
  open,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Clock } from "../../util/clock.js";
import { makeFolder } from "../../util/os/files.js";
import type { Random } from "../../util/random.js";

/** A file of a volume: its bytes and permission bits. */
export interface FileProjection {
  readonly data: Buffer;
  readonly mode: number;
  /** its owner; default: root */
  readonly user?: number;
}

/**
 * Only root can give files away. Another user's kubelet marks them with this bit, and the embedded runtime shows them as
 * those of the container's user (cluster/shell/fs/host-owners.ts).
 */
const SET_UID = 0o4000;

/** By path below the volume: `ca.crt`, `nested/key`. */
export type Payload = ReadonlyMap<string, FileProjection>;

/** To a file descriptor: later operations on the descriptor create no files. */
const openFile = promisify(open);

const DATA_DIR = "..data";
const NEW_DATA_DIR = "..data_tmp";
const MAX_PATH_LENGTH = 4096;
const MAX_FILE_NAME_LENGTH = 255;

export interface AtomicWriterDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/** The error of a payload that would leave its volume, in upstream's words. */
export class PayloadError extends Error {
  override readonly name = "PayloadError";
}

/**
 * Writes the files of a volume so that a container sees either all old ones or all new ones.
 *
 * The files are in a folder with a timestamp as its name, `..data` links to it, and the visible files are links through
 * `..data`: one rename changes them all.
 *
 * Mirrors pkg/volume/util/atomic_writer.go (AtomicWriter.Write).
 *
 * Files, folders and links are created in libuv's threads: after many deletions ext4 takes up to 300 µs for each, and a
 * hundred pods that start at once create a thousand. Reads and renames are synchronous, because they are faster than a
 * switch of threads.
 *
 * @param targetDir the volume's folder; created when it is missing
 * @returns whether anything had to be written
 * @throws PayloadError before anything is changed; the file system's error
 */
export async function writeAtomically(deps: AtomicWriterDeps, targetDir: string, payload: Payload): Promise<boolean> {
  for (const path of payload.keys()) validatePath(path);
  await makeFolder(targetDir);
  const dataDir = join(targetDir, DATA_DIR);
  if (targetOf(dataDir) !== undefined && isSame(dataDir, payload)) {
    // A crash may have happened between the switch and the links.
    await linkUserVisible(targetDir, payload);
    return false;
  }
  const newDir = await makeTimestampedDir(deps, targetDir);
  await Promise.all([...payload].map(([path, file]) => writeOne(join(targetDir, newDir), path, file)));
  const temporary = join(targetDir, NEW_DATA_DIR);
  await link(newDir, temporary);
  renameSync(temporary, dataDir);
  await linkUserVisible(targetDir, payload);
  removeStale(targetDir, payload, newDir);
  return true;
}

/** Mirrors validatePath. */
function validatePath(path: string): void {
  const refuse = (what: string): never => {
    throw new PayloadError(`invalid path: ${what}`);
  };
  const parts = path.split("/");
  if (path === "") refuse(`must not be empty: ${JSON.stringify(path)}`);
  if (path.startsWith("/")) refuse(`must be relative path: ${path}`);
  if (path.includes("\0")) refuse(`must not contain a NUL: ${JSON.stringify(path)}`);
  if (path.length > MAX_PATH_LENGTH) refuse(`must be less than or equal to ${MAX_PATH_LENGTH} characters`);
  if (parts.includes("..")) refuse(`must not contain '..': ${path}`);
  if (parts.some((part) => part === "" || part === ".")) refuse(`must not contain an empty part: ${path}`);
  if (parts.some((part) => part.length > MAX_FILE_NAME_LENGTH)) {
    refuse(`filename must be less than or equal to ${MAX_FILE_NAME_LENGTH} characters`);
  }
  if (path.startsWith("..")) refuse(`must not start with '..': ${path}`);
}

/** Reports whether the volume holds exactly these files. Mirrors shouldWritePayload and pathsToRemove. */
function isSame(dataDir: string, payload: Payload): boolean {
  const present = filesBelow(dataDir, "");
  if (present.length !== payload.size) return false;
  return present.every((path) => payload.get(path)?.data.equals(readFileSync(join(dataDir, path))) === true);
}

function filesBelow(dir: string, prefix: string): string[] {
  // A dangling link: another process has removed its folder.
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = `${prefix}${entry.name}`;
    return entry.isDirectory() ? filesBelow(join(dir, entry.name), `${path}/`) : [path];
  });
}

/** `..2026_01_02_03_04_05.123456789`. Mirrors newTimestampDir. */
async function makeTimestampedDir({ clock, random }: AtomicWriterDeps, targetDir: string): Promise<string> {
  const time = new Date(clock.now()).toISOString().slice(0, 19).replace(/[-T:]/g, "_");
  const suffix = Math.floor(random.float() * 1e9);
  for (let i = 0; ; i++) {
    const name = `..${time}.${suffix + i}`;
    try {
      await mkdir(join(targetDir, name));
      chmodSync(join(targetDir, name), 0o755); // the mode given to mkdir is cut by the umask
      return name;
    } catch (error) {
      // Two writes within a second may get the same number.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
}

async function writeOne(dir: string, path: string, { data, mode, user }: FileProjection): Promise<void> {
  if (path.includes("/")) await makeFolder(dirname(join(dir, path)), 0o755);
  const file = await openFile(join(dir, path), "wx", mode);
  try {
    writeFileSync(file, data);
    const isRoot = process.getuid?.() === 0;
    if (user !== undefined && isRoot) fchownSync(file, user, -1);
    // The mode given before is cut by the umask.
    fchmodSync(file, user === undefined || isRoot ? mode : mode | SET_UID);
  } finally {
    closeSync(file);
  }
}

/** Creates one link for the first segment of each path. Mirrors createUserVisibleFiles. */
async function linkUserVisible(targetDir: string, payload: Payload): Promise<void> {
  await Promise.all([...firstParts(payload)].map((name) => link(`${DATA_DIR}/${name}`, join(targetDir, name))));
}

/** Creates a link, replacing whatever is in its place. */
async function link(target: string, path: string): Promise<void> {
  const isFree = lstatSync(path, { throwIfNoEntry: false }) === undefined;
  if (!isFree && targetOf(path) === target) return;
  if (!isFree) rmSync(path, { recursive: true, force: true });
  await symlink(target, path);
}

/** Removes dangling links, and the folders of earlier writes. Mirrors removeUserVisiblePaths. */
function removeStale(targetDir: string, payload: Payload, newDir: string): void {
  const kept = new Set([...firstParts(payload), DATA_DIR, newDir]);
  for (const name of readdirSync(targetDir)) {
    if (!kept.has(name)) rmSync(join(targetDir, name), { recursive: true, force: true });
  }
}

function firstParts(payload: Payload): ReadonlySet<string> {
  return new Set([...payload.keys()].map((path) => path.split("/")[0] ?? path));
}

/** The target of a link; undefined if it does not exist. */
function targetOf(path: string): string | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true ? readlinkSync(path) : undefined;
}
