import { FsError } from "../../fs/fs-error.js";
import { baseName, resolvePath } from "../../fs/paths.js";
import { copyFiles } from "../../language/bash-fs.js";
import type { Self } from "../../process/process.js";
import { complain, parseArgs, print, usage } from "../console.js";

/** `cp [-arRdPLpfnuTv] SOURCE... DEST`. Mirrors busybox's coreutils/cp.c. */
export async function cp(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "arRdPLHpfnuTvt:");
  const [target, ...names] = options.has("t") ? [options.get("t"), ...rest] : [rest.at(-1), ...rest.slice(0, -1)];
  if (unknown !== undefined || target === undefined || names.length === 0) return usage(self, unknown);
  const { fs } = self.machine;
  const has = (letters: string) => [...letters].some((letter) => options.has(letter));
  const copyOptions = {
    isRecursive: has("arR"),
    keepsLinks: has("adPrR") && !has("L"),
    keepsAttributes: has("ap"),
    umask: self.umask,
  };
  const at = resolvePath(self.cwd, target);
  const intoFolder = (fs.exists(at) && fs.stat(at).type === "directory" && !has("T")) || names.length > 1;
  let code = 0;
  for (const name of names) {
    const from = resolvePath(self.cwd, name);
    const shown = intoFolder ? `${target.replace(/\/$/, "")}/${baseName(name.replace(/\/+$/, ""))}` : target;
    const to = resolvePath(self.cwd, shown);
    const problem = (() => {
      try {
        const stat = copyOptions.keepsLinks ? fs.lstat(from) : fs.stat(from);
        const isFolder = stat.type === "directory";
        const before = fs.exists(to) ? fs.stat(to) : undefined;
        if (isFolder && !copyOptions.isRecursive) return `omitting directory '${name}'`;
        if (before !== undefined && fs.exists(from) && fs.realpath(from) === fs.realpath(to))
          return `'${name}' and '${shown}' are the same file`;
        if (isFolder && to.startsWith(`${from}/`)) return `recursion detected, omitting directory '${shown}'`;
        const isKept = before !== undefined && (has("n") || (has("u") && before.mtimeMs >= stat.mtimeMs));
        if (isFolder || !isKept) copyFiles(fs, from, to, copyOptions);
        return undefined;
      } catch (error) {
        if (!(error instanceof FsError)) throw error;
        if (error.path !== from) return `can't create '${shown}': ${error.text}`;
        return `can't ${error.code === "ENOENT" ? "stat" : "open"} '${name}': ${error.text}`;
      }
    })();
    if (problem === undefined && has("v")) await print(self, `'${name}' -> '${shown}'\n`);
    if (problem !== undefined) await complain(self, problem);
    if (problem !== undefined) code = 1;
    await self.turn();
  }
  return code;
}
