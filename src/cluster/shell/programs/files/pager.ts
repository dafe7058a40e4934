import { decodeText, encodeText } from "../../byte-text.js";
import type { Self } from "../../process/process.js";
import { type Terminal, terminalOf } from "../../process/terminal.js";
import { readAll, unitsOf } from "../../streams.js";
import { parseArgs, usage } from "../console.js";
import { copy, forEachInput } from "../text.js";

const DEFAULT_ROWS = 24;

/**
 * `less [-EFIMNSRm] [FILE...]`, `more [FILE...]`: page by page at a terminal, else as cat. Blank and Enter go on, `b` goes back, `q`
 * ends. Differs: no search.
 */
export async function pager(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "EFIMNRSdefm");
  if (unknown !== undefined) return usage(self, unknown);
  const terminal = terminalOf(self.stdout);
  if (terminal === undefined) return forEachInput(self, rest, (source) => copy(self, source));
  let isOver = false;
  return forEachInput(self, rest, async (source) => {
    if (isOver) return;
    const text = decodeText(await readAll(source, self.signal, self));
    await self.turn(unitsOf(text.length));
    const lines = text.replace(/\n$/, "").split("\n");
    const shown = options.has("N") ? lines.map((line, at) => `${String(at + 1).padStart(7)} ${line}`) : lines;
    isOver = await page(self, terminal, shown);
  });
}

/** @returns whether q was typed */
async function page(self: Self, terminal: Terminal, lines: readonly string[]): Promise<boolean> {
  const show = (text: string) => self.stdout.write(encodeText(text), self.signal);
  const rows = Math.max(2, terminal.size.height || DEFAULT_ROWS) - 1;
  const before = terminal.modes;
  terminal.modes = { ...before, isCanonical: false, echoes: false };
  try {
    for (let from = 0, to = rows; ; ) {
      await show(lines.slice(from, to).join("\n"));
      if (to >= lines.length) break;
      await show(`\n--More-- (${Math.floor((100 * to) / lines.length)}%)`);
      const key = (await terminal.source.read(self.signal, 1))?.toString() ?? "q";
      await show("\r\x1b[K");
      if (/[qQ]/.test(key)) return true;
      from = key === "b" ? Math.max(0, from - rows) : to;
      to = key === "\n" || key === "\r" ? to + 1 : from + rows;
    }
    await show("\n");
    return false;
  } finally {
    terminal.modes = before;
  }
}
