import { chmod, link, lstat, mkdir, readlink, realpath, rm } from "node:fs/promises";
import { dirname, join, posix, sep } from "node:path";
import { makeFolder } from "../../util/os/files.js";

/** The maximum number of links to follow; more count as a cycle. */
const MAX_LINKS = 40;

/** A path that leads out of its root. */
export class EscapeError extends Error {
  override readonly name = "EscapeError";
}

/**
 * Resolves a path below `root`, following every link as if `root` were `/`: no path leads out. Missing parts are taken
 * as written.
 *
 * Mirrors github.com/cyphar/filepath-securejoin (SecureJoin). A process that changes links below `root` meanwhile can
 * still win a race.
 * @throws EscapeError for a cycle of links
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
 * The real path of a file or folder in a volume; missing folders are created with the volume's mode.
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
    if (!isThere) {
      await mkdir(next, mode);
      await chmod(next, mode); // the mode given to mkdir is cut by the umask, and has no setgid bit
    }
    path = await realpath(next);
    if (path !== base && !path.startsWith(base + sep)) {
      throw new EscapeError(`subpath ${JSON.stringify(subPath)} not within volume path`);
    }
  }
  return path;
}

/**
 * Links a file of a volume to a path of its own. A container that mounts this path keeps the file even when the volume
 * replaces it: a config map's file mounted by subPath does not change with the config map.
 *
 * Mirrors doBindSubPath in pkg/volume/util/subpath/subpath_linux.go.
 * Differs: a hard link instead of a bind mount, which needs privileges. So folders, and files of another file system,
 * stay where they are, and another process may still replace them by a link.
 * @returns the path to mount
 */
export async function bindFile(path: string, place: string): Promise<string> {
  if (!(await lstat(path)).isFile()) return path;
  try {
    await makeFolder(dirname(place), 0o750);
    // Left by the previous container.
    await rm(place, { force: true });
    await link(path, place);
    return place;
  } catch {
    return path;
  }
}
