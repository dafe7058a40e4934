import { defined } from "../../../../util/defined.js";
import { FsError } from "../../fs/fs-error.js";
import { changedMode } from "../../fs/mode.js";
import { baseName, resolvePath } from "../../fs/paths.js";
import { copyFiles } from "../../language/bash-fs.js";
import { groupIdOf, userIdOf } from "../../process/accounts.js";
import type { Self } from "../../process/process.js";
import { complain, fail, parseArgs, usage } from "../console.js";

const DEFAULT_MODE = 0o755;

/** `install [-cdDp] [-o USER] [-g GROUP] [-m MODE] [-t FOLDER] [SOURCE...] DEST`. Mirrors busybox' coreutils/install.c. */
export async function install(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "cdDpsg:m:o:t:");
  const isFolders = options.has("d");
  const [target, ...sources] = options.has("t") ? [options.get("t"), ...rest] : [rest.at(-1), ...rest.slice(0, -1)];
  if (unknown !== undefined || target === undefined || (sources.length === 0 && !isFolders))
    return usage(self, unknown);
  const { fs } = self.machine;
  const [text, user, group] = [options.get("m"), options.get("o"), options.get("g")];
  const mode = text === undefined ? DEFAULT_MODE : changedMode(text, DEFAULT_MODE, { isFolder: isFolders, umask: 0 });
  const owner = defined({
    uid: user === undefined ? undefined : userIdOf(fs, user),
    gid: group === undefined ? undefined : groupIdOf(fs, group),
  });
  if (mode === undefined) return fail(self, `invalid mode '${text}'`);
  if (user !== undefined && owner.uid === undefined) return fail(self, `unknown user ${user}`);
  if (group !== undefined && owner.gid === undefined) return fail(self, `unknown group ${group}`);
  const at = resolvePath(self.cwd, target);
  const intoFolder = options.has("t") || (fs.exists(at) && fs.stat(at).type === "directory");
  const finish = (path: string) => {
    if (user !== undefined || group !== undefined) fs.chown(path, owner);
    fs.chmod(path, mode);
  };
  let code = 0;
  const attempt = async (what: string, work: () => void) => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof FsError)) throw error;
      await complain(self, `${what}: ${error.text}`);
      code = 1;
    }
    await self.turn();
  };
  if (isFolders) {
    for (const name of rest)
      await attempt(`can't create directory '${name}'`, () => {
        const path = resolvePath(self.cwd, name);
        fs.mkdir(path, { recursive: true, mode: 0o777 & ~self.umask });
        finish(path);
      });
    return code;
  }
  for (const name of sources) {
    const shown = intoFolder ? `${target.replace(/\/$/, "")}/${baseName(name)}` : target;
    const [from, to] = [resolvePath(self.cwd, name), resolvePath(self.cwd, shown)];
    if (!fs.exists(from)) await attempt(`can't stat '${name}'`, () => fs.stat(from));
    else if (fs.stat(from).type === "directory") code = await fail(self, `omitting directory '${name}'`);
    else
      await attempt(`can't create '${shown}'`, () => {
        if (options.has("D")) fs.mkdir(resolvePath(to, ".."), { recursive: true, mode: DEFAULT_MODE });
        copyFiles(fs, from, to, { isRecursive: false, keepsAttributes: options.has("p"), umask: 0 });
        finish(to);
      });
  }
  return code;
}
