import { openForReading } from "../fs/open-file.js";
import { resolvePath } from "../fs/paths.js";
import type { Self } from "../process/process.js";
import { readAll } from "../streams.js";
import { parseArgs, print, usage } from "./console.js";

const ROW_BYTES = 16;

/** `hexdump -C [FILE]`: offset, bytes and printable characters, 16 in a row. */
export async function hexdump(self: Self): Promise<number> {
  const { rest, unknown } = parseArgs(self.argv.slice(1), "Cv");
  if (unknown !== undefined) return usage(self, unknown);
  const { fs, random } = self.machine;
  const [name] = rest;
  const source = name === undefined ? self.stdin : openForReading(fs, resolvePath(self.cwd, name), random);
  const bytes = await readAll(source, self.signal, self);
  for (let at = 0; at < bytes.length; at += ROW_BYTES) await print(self, row(bytes.subarray(at, at + ROW_BYTES), at));
  if (bytes.length > 0) await print(self, `${offset(bytes.length)}\n`);
  return 0;
}

const offset = (at: number) => at.toString(16).padStart(8, "0");

function row(bytes: Buffer, at: number): string {
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0"));
  const columns = `${hex.slice(0, 8).join(" ").padEnd(23)}  ${hex.slice(8).join(" ").padEnd(23)}`;
  const shown = [...bytes].map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("");
  return `${offset(at)}  ${columns}  |${shown}|\n`;
}
