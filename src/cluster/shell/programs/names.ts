import { withoutEnding } from "../../../util/text/linear-text.js";
import { errorText, FsError } from "../fs/fs-error.js";
import { NEW_FILE_MODE } from "../fs/open-file.js";
import { baseName, resolvePath } from "../fs/paths.js";
import type { Self } from "../process/process.js";
import { complain, parseArgs, print, usage } from "./console.js";

/** Programs that make or take apart names of files. */

/** `basename FILE [SUFFIX]`, `basename -a FILE...`, `basename -s SUFFIX FILE...` */
export async function basename(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "as:");
  const isMany = options.size > 0;
  if (unknown !== undefined || rest.length === 0 || (!isMany && rest.length > 2)) return usage(self, unknown);
  const suffix = options.get("s") ?? (isMany ? "" : (rest[1] ?? ""));
  const nameOf = (path: string) => {
    const name = baseName(path);
    return name !== suffix && name.endsWith(suffix) ? name.slice(0, name.length - suffix.length) : name;
  };
  await print(self, (isMany ? rest : rest.slice(0, 1)).map((path) => `${nameOf(path)}\n`).join(""));
  return 0;
}

/** `dirname PATH` */
export async function dirname(self: Self): Promise<number> {
  const args = self.argv.slice(self.argv[1] === "--" ? 2 : 1);
  const [path] = args;
  if (path === undefined || args.length > 1) return usage(self);
  const trimmed = withoutEnding(path, "/");
  const slash = trimmed.lastIndexOf("/");
  await print(self, `${slash < 0 ? (trimmed === "" ? "/" : ".") : trimmed.slice(0, slash) || "/"}\n`);
  return 0;
}

/** `realpath FILE...` */
export async function realpath(self: Self): Promise<number> {
  const names = self.argv.slice(1);
  if (names.length === 0) return usage(self);
  let code = 0;
  for (const name of names) {
    try {
      await print(self, `${self.machine.fs.realpath(resolvePath(self.cwd, name))}\n`);
    } catch (error) {
      await complain(self, `${name}: ${errorText(error)}`);
      code = 1;
    }
  }
  return code;
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const PLACEHOLDER = "XXXXXX";

/** `mktemp [-dqtu] [-p DIR] [TEMPLATE]` */
export async function mktemp(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "dqtup:");
  if (unknown !== undefined) return usage(self, unknown);
  const { fs, random } = self.machine;
  const [template] = rest;
  const inFolder = template === undefined || options.has("t") || options.has("p");
  const folder = (options.get("p") ?? self.env["TMPDIR"]) || "/tmp";
  const pattern = inFolder ? `${folder}/${template ?? `tmp.${PLACEHOLDER}`}` : template;
  const fail = async (why: string) => {
    if (!options.has("q")) await complain(self, `(null): ${why}`);
    return 1;
  };
  if (!pattern.endsWith(PLACEHOLDER)) return fail("Invalid argument");
  let name = pattern.slice(0, -PLACEHOLDER.length);
  for (let i = 0; i < PLACEHOLDER.length; i++) name += LETTERS[Math.floor(random.float() * LETTERS.length)];
  try {
    const path = resolvePath(self.cwd, name);
    if (options.has("d")) fs.mkdir(path, { mode: 0o700 });
    else if (!options.has("u")) fs.write(path, Buffer.alloc(0), { mode: NEW_FILE_MODE & 0o600 });
  } catch (error) {
    if (!(error instanceof FsError)) throw error;
    return fail(error.text);
  }
  await print(self, `${name}\n`);
  return 0;
}
