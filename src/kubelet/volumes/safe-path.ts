import { lstat, mkdir, readlink, realpath } from "node:fs/promises";
import { join, posix, sep } from "node:path";

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
 * Mirrors SafeMakeDir and PrepareSafeSubpath in pkg/volume/util/subpath/subpath_linux.go.
 * Differs: upstream binds the file it has checked to a place of its own, so that nobody can put a link there afterwards.
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
