import { errorText, FsError } from "../../fs/fs-error.js";
import { resolvePath } from "../../fs/paths.js";
import type { Self } from "../../process/process.js";
import { complain, parseArgs, print, usage } from "../console.js";

const BLOCK_BYTES = 4096;

/** `du [-aschkm] [-d DEPTH] [FILE...]`. Mirrors busybox's coreutils/du.c. Differs: each folder takes one block. */
export async function du(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "aschkmd:xlLH");
  if (unknown !== undefined) return usage(self, unknown);
  const { fs } = self.machine;
  const deepest = options.has("s") ? 0 : Number(options.get("d") ?? Number.POSITIVE_INFINITY);
  const shown = (kib: number) =>
    options.has("h") ? humanText(kib) : String(options.has("m") ? Math.ceil(kib / 1024) : kib);
  let code = 0;
  /** @returns KiB */
  const sizeOf = async (name: string, depth: number): Promise<number> => {
    await self.turn();
    try {
      const path = resolvePath(self.cwd, name);
      const { type, size } = fs.lstat(path);
      let kib =
        type === "symlink" || type === "device" || type === "socket"
          ? 0
          : (Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES) / 1024;
      for (const one of type === "directory" ? fs.readdir(path) : [])
        kib += await sizeOf(`${name.replace(/\/$/, "")}/${one}`, depth + 1);
      const isShown = depth === 0 || (depth <= deepest && (type === "directory" || options.has("a")));
      if (isShown) await print(self, `${shown(kib)}\t${name}\n`);
      return kib;
    } catch (error) {
      if (!(error instanceof FsError)) throw error;
      code = 1;
      await complain(self, `${name}: ${errorText(error)}`);
      return 0;
    }
  };
  let total = 0;
  for (const name of rest.length === 0 ? ["."] : rest) total += await sizeOf(name, 0);
  if (options.has("c")) await print(self, `${shown(total)}\ttotal\n`);
  return code;
}

/** `4.0K`, `1.5M` */
function humanText(kib: number): string {
  const power = kib < 1024 ? 0 : kib < 1024 ** 2 ? 1 : 2;
  return kib === 0 ? "0" : `${(kib / 1024 ** power).toFixed(1)}${"KMG".charAt(power)}`;
}
