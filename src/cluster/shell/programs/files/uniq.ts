import { openForWriting } from "../../fs/open-file.js";
import { resolvePath } from "../../fs/paths.js";
import type { Self } from "../../process/process.js";
import { readAll, unitsOf } from "../../streams.js";
import { fail, parseArgs, usage } from "../console.js";
import { forEachInput } from "../text.js";

/** `uniq [-cduiz] [-f FIELDS] [-s CHARS] [-w CHARS] [FILE [OUTFILE]]`. Mirrors busybox's coreutils/uniq.c. */
export async function uniq(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "cduizf:s:w:");
  if (unknown !== undefined) return usage(self, unknown);
  const wrong = ["f", "s", "w"]
    .map((letter) => options.get(letter))
    .find((text) => text !== undefined && !/^\d+$/.test(text));
  if (wrong !== undefined) return fail(self, `invalid number '${wrong}'`);
  const [fields, skipped] = [Number(options.get("f") ?? 0), Number(options.get("s") ?? 0)];
  const most = options.has("w") ? Number(options.get("w")) : undefined;
  const end = options.has("z") ? "\0" : "\n";
  const [input, output] = rest;
  const keyOf = (line: string) => {
    const text = line.replace(new RegExp(`^(?:[ \\t]*[^ \\t]+){0,${fields}}`), "").slice(skipped);
    const key = most === undefined ? text : text.slice(0, most);
    return options.has("i") ? key.toLowerCase() : key;
  };
  const sink =
    output === undefined || output === "-"
      ? self.stdout
      : openForWriting(self.machine.fs, resolvePath(self.cwd, output), { append: false, umask: self.umask });
  return forEachInput(self, input === undefined ? [] : [input], async (source) => {
    // In a container without a locale, a byte is a character.
    const text = (await readAll(source, self.signal, self)).toString("latin1");
    const lines = text.split(end);
    if (lines.at(-1) === "") lines.pop();
    for (let at = 0, count = 1; at < lines.length; at += count, count = 1) {
      const line = lines[at] ?? "";
      const key = keyOf(line);
      while (at + count < lines.length && keyOf(lines[at + count] ?? "") === key) count++;
      await self.turn(unitsOf(line.length));
      if (options.has(count === 1 ? "d" : "u")) continue;
      const shown = options.has("c") ? `${String(count).padStart(7)} ${line}${end}` : `${line}${end}`;
      await sink.write(Buffer.from(shown, "latin1"), self.signal);
    }
  });
}
