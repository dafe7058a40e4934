import { resolvePath } from "../../fs/paths.js";
import type { Self } from "../../process/process.js";
import { BytesSource } from "../../streams.js";
import { print } from "../console.js";

/** `diff [-rN...] FILE FILE`: just-bash compares files; folders are compared name by name. Mirrors busybox's editors/diff.c. */
export async function diff(self: Self): Promise<number> {
  const { runUtility } = await import("../../language/utilities.js");
  const { fs } = self.machine;
  const args = self.argv.slice(1);
  const names = args.filter((arg) => !/^-./.test(arg));
  const options = args
    .filter((arg) => /^-./.test(arg))
    .map((arg) => arg.replace(/^-[A-Za-z]+/, (one) => one.replace(/[rN]/g, "")));
  const has = (letter: string) => args.some((arg) => /^-[A-Za-z]+$/.test(arg) && arg.includes(letter));
  const typeOf = (name: string) => {
    const path = resolvePath(self.cwd, name);
    return fs.exists(path) ? fs.stat(path).type : undefined;
  };
  const compare = async (left: string, right: string): Promise<number> => {
    const argv = ["diff", ...options.filter((one) => one !== "-"), left, right];
    if (typeOf(left) !== "directory" || typeOf(right) !== "directory")
      return runUtility({ ...self, argv, stdin: names.includes("-") ? self.stdin : new BytesSource() });
    const folders = [left, right].map((name) => new Set(fs.readdir(resolvePath(self.cwd, name))));
    let code = 0;
    for (const name of [...new Set(folders.flatMap((one) => [...one]))].sort()) {
      await self.turn();
      const paths = [left, right].map((folder) => `${folder.replace(/\/$/, "")}/${name}`);
      const [a = "", b = ""] = paths.map((path, at) => (folders[at]?.has(name) === true ? path : "/dev/null"));
      const isInBoth = a !== "/dev/null" && b !== "/dev/null";
      const isFolder = [a, b].some((path) => typeOf(path) === "directory");
      if (!isInBoth && (!has("N") || isFolder)) {
        const [root = "", folder = ""] = a === "/dev/null" ? [names[1], right] : [names[0], left];
        await print(self, `Only in ${root}: ${`${folder}/${name}`.slice(root.length).replace(/^\/+/, "")}\n`);
      } else if (isFolder && !has("r")) await print(self, `Common subdirectories: ${a} and ${b}\n`);
      if (isInBoth && isFolder && !has("r")) continue;
      code = Math.max(code, isInBoth || (has("N") && !isFolder) ? await compare(a, b) : 1);
    }
    return code;
  };
  const [left, right] = names;
  return left === undefined || right === undefined ? runUtility(self) : compare(left, right);
}
