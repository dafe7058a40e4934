import { link, lstat, mkdir, readlink, realpath, rm } from "node:fs/promises";
import { dirname, join, posix, sep } from "node:path";
import { makeFolder } from "../../util/files.js";

/** So many links are followed; more are a circle. */
const MAX_LINKS = 40;

/** A path that leads out of where it must stay. */
export class EscapeError extends Error {
  override readonly name = "EscapeError";
}

/**
 * The path below `root` with every link in it followed as if `root` were `/`: nothing leads out. What is not there yet is
 * taken as written.
 *
 * Mirrors github.com/cyphar/filepath-securejoin (SecureJoin). Whoever can change links below `root` meanwhile can still
 * win a race.
 * @throws EscapeError for a circle of links
 */
export async function secureJoin(root: string, path: string): Promise<string> {
  let done = "/";
  let rest = path.split("/");
  for (let links = 0; rest.length > 0; ) {
    const [part = "", ...others] = rest;
    rest = others;
    const next = posix.join(done, part);
    const target = part === ".." ? undefined : await linkTarget(join(root, next));
    if (target === undefined) {
      done = next;
      continue;
    }
    if (++links > MAX_LINKS) throw new EscapeError(`too many links in ${path}`);
    rest = [...target.split("/"), ...rest];
    if (target.startsWith("/")) done = "/";
  }
  return join(root, done);
}

async function linkTarget(path: string): Promise<string | undefined> {
  const stat = await lstat(path).catch(() => undefined);
  return stat?.isSymbolicLink() === true ? readlink(path) : undefined;
}

/**
 * The real path of something inside a volume; folders are made where nothing is.
 *
 * Mirrors SafeMakeDir and doSafeOpen in pkg/volume/util/subpath/subpath_linux.go.
 * @throws EscapeError when it is not inside
 */
export async function safeSubpath(volumePath: string, subPath: string, mode: number): Promise<string> {
  const base = await realpath(volumePath);
  let path = base;
  for (const part of subPath.split("/")) {
    if (part === "" || part === ".") continue;
    const next = join(path, part);
    const isThere = (await lstat(next).catch(() => undefined)) !== undefined;
    if (!isThere) await mkdir(next, mode);
    path = await realpath(next);
    if (path !== base && !path.startsWith(base + sep)) {
      throw new EscapeError(`subpath ${JSON.stringify(subPath)} not within volume path`);
    }
  }
  return path;
}

/**
 * Gives a file of a volume a place of its own. Who mounts that keeps this file, also when the volume has another in its
 * stead: a config map's file that a container has by a subPath does not change with the config map.
 *
 * Mirrors doBindSubPath in pkg/volume/util/subpath/subpath_linux.go.
 * Differs: a hard link in place of a bind mount, which takes rights. So folders, and files of another file system, stay
 * where they are, and somebody may still put a link there.
 * @returns where it is to be mounted from
 */
export async function bindFile(path: string, place: string): Promise<string> {
  if (!(await lstat(path)).isFile()) return path;
  try {
    await makeFolder(dirname(place), 0o750);
    // Of the container before this one.
    await rm(place, { force: true });
    await link(path, place);
    return place;
  } catch {
    return path;
  }
}
