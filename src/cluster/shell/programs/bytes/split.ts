import { openForWriting } from "../../fs/open-file.js";
import { resolvePath } from "../../fs/paths.js";
import type { Self } from "../../process/process.js";
import { type ByteSink, unitsOf } from "../../streams.js";
import { fail, parseArgs, usage } from "../console.js";
import { openInput, parseCount } from "../text.js";

const NEWLINE = 0x0a;
const LETTERS = 26;

/** `split [-l LINES | -b BYTES] [-a LETTERS] [FILE [PREFIX]]`. Mirrors busybox's coreutils/split.c. */
export async function split(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "l:b:a:");
  const [name = "-", prefix = "x", ...others] = rest;
  if (unknown !== undefined || others.length > 0) return usage(self, unknown);
  const countText = options.get("b") ?? options.get("l") ?? "1000";
  const [limit, length] = [parseCount(countText), Number(options.get("a") ?? 2)];
  if (!(limit > 0)) return fail(self, `invalid number '${countText}'`);
  if (!(Number.isInteger(length) && length > 0)) return fail(self, `invalid number '${options.get("a")}'`);
  const source = await openInput(self, name);
  if (source === undefined) return 1;
  let sink: ByteSink | undefined;
  let part = 0;
  let left = 0;
  for (let bytes = await source.read(self.signal); bytes !== undefined; bytes = await source.read(self.signal)) {
    for (let from = 0; from < bytes.length; ) {
      if (sink === undefined || left === 0) {
        const suffix = suffixOf(part++, length);
        if (suffix === undefined) return fail(self, "suffixes exhausted");
        const path = resolvePath(self.cwd, `${prefix}${suffix}`);
        sink = openForWriting(self.machine.fs, path, { append: false, umask: self.umask });
        left = limit;
      }
      let end = Math.min(bytes.length, from + left);
      if (options.has("b")) left -= end - from;
      else {
        const newline = bytes.indexOf(NEWLINE, from);
        end = newline < 0 ? bytes.length : newline + 1;
        if (newline >= 0) left--;
      }
      await sink.write(Buffer.from(bytes.subarray(from, end)), self.signal);
      from = end;
      await self.turn();
    }
    await self.turn(unitsOf(bytes.length));
  }
  return 0;
}

/** `aa`, `ab`, ... @returns undefined after the last one */
function suffixOf(part: number, length: number): string | undefined {
  if (part >= LETTERS ** length) return undefined;
  let text = "";
  for (let at = 0, rest = part; at < length; at++) {
    text = String.fromCharCode("a".charCodeAt(0) + (rest % LETTERS)) + text;
    rest = Math.floor(rest / LETTERS);
  }
  return text;
}
