import { errorText } from "../../fs/fs-error.js";
import { openForReading } from "../../fs/open-file.js";
import { resolvePath } from "../../fs/paths.js";
import type { Self } from "../../process/process.js";
import { type ByteSource, unitsOf } from "../../streams.js";
import { complain, parseArgs, print, usage } from "../console.js";

/** `cmp [-ls] [-n NUM] FILE1 [FILE2]`. Mirrors busybox's editors/cmp.c. */
export async function cmp(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "lsn:");
  const [first, second = "-"] = rest;
  if (unknown !== undefined || first === undefined) return usage(self, unknown);
  const isQuiet = options.has("s");
  const sides: (() => Promise<number> | number)[] = [];
  for (const name of [first, second]) {
    try {
      const { fs, random } = self.machine;
      sides.push(reader(self, name === "-" ? self.stdin : openForReading(fs, resolvePath(self.cwd, name), random)));
    } catch (error) {
      if (!isQuiet) await complain(self, `${name}: ${errorText(error)}`);
      return 2;
    }
  }
  const [next = () => -1, nextOther = () => -1] = sides;
  const most = Number(options.get("n") ?? Number.POSITIVE_INFINITY);
  let code = 0;
  for (let [at, line] = [1, 1]; at <= most; at++) {
    const [one, other] = [await next(), await nextOther()];
    if (one === other && one < 0) break;
    if (one !== other && (isQuiet || one < 0 || other < 0)) {
      if (!isQuiet) await complain(self, `EOF on ${one < 0 ? first : second}`);
      return 1;
    }
    if (one !== other) {
      code = 1;
      if (!options.has("l")) {
        await print(self, `${first} ${second} differ: char ${at}, line ${line}\n`);
        break;
      }
      await print(self, `${at} ${one.toString(8).padStart(3)} ${other.toString(8).padStart(3)}\n`);
    }
    if (one === 0x0a) line++;
  }
  return code;
}

/** @returns gives one byte after the other, then -1 */
function reader(self: Self, source: ByteSource): () => Promise<number> | number {
  let bytes: Buffer = Buffer.alloc(0);
  let at = 0;
  const refill = async () => {
    bytes = (await source.read(self.signal)) ?? Buffer.alloc(0);
    at = 1;
    await self.turn(16 * unitsOf(bytes.length));
    return bytes[0] ?? -1;
  };
  return () => bytes[at++] ?? refill();
}
