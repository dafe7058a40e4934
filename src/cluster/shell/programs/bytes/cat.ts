import type { Self } from "../../process/process.js";
import { unitsOf } from "../../streams.js";
import { parseArgs, usage } from "../console.js";
import { copy, forEachInput } from "../text.js";

const NEWLINE = 0x0a;
const TAB = 0x09;

/** `cat [-nbvteA] [FILE...]` */
export async function cat(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "nbvteAu");
  if (unknown !== undefined) return usage(self, unknown);
  const has = (letters: string) => [...letters].some((letter) => options.has(letter));
  if (!has("nbvteA")) return forEachInput(self, rest, (source) => copy(self, source));
  const isShown = has("vteA");
  const shown = Array.from({ length: 256 }, (_, byte) => {
    if (byte === NEWLINE) return has("eA") ? "$\n" : "\n";
    return isShown && (byte !== TAB || has("tA")) ? visible(byte) : String.fromCharCode(byte);
  });
  let line = 0;
  let startsLine = true;
  return forEachInput(self, rest, async (source) => {
    for (;;) {
      const bytes = await source.read(self.signal);
      if (bytes === undefined) return;
      let text = "";
      for (const byte of bytes) {
        const isNumbered = has("b") ? byte !== NEWLINE : has("n");
        if (startsLine && isNumbered) text += `${String(++line).padStart(6)}\t`;
        text += shown[byte];
        startsLine = byte === NEWLINE;
      }
      await self.stdout.write(Buffer.from(text, "latin1"), self.signal);
      await self.turn(8 * unitsOf(bytes.length));
    }
  });
}

/** `^A`, `M-a`: a byte that is not printed as it is. */
function visible(byte: number): string {
  if (byte >= 0x80) return `M-${visible(byte - 0x80)}`;
  return byte < 0x20 || byte === 0x7f ? `^${String.fromCharCode(byte ^ 0x40)}` : String.fromCharCode(byte);
}
