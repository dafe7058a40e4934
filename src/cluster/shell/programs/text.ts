import { encodeText } from "../byte-text.js";
import { errorText, FsError } from "../fs/fs-error.js";
import { baseName, resolvePath } from "../fs/paths.js";
import { echoBytes } from "../language/echo.js";
import { AccountNames } from "../process/accounts.js";
import { openSink, openSource } from "../process/descriptors.js";
import type { Self } from "../process/process.js";
import { type ByteSink, type ByteSource, readAll, unitsOf } from "../streams.js";
import { complain, fail, parseArgs, print, usage, warn } from "./console.js";

/** `echo [-n] [-e] [TEXT...]` */
export async function echo(self: Self): Promise<number> {
  await self.stdout.write(echoBytes(self.argv.slice(1)), self.signal);
  return 0;
}

/** Programs whose errors say that they cannot open a file. */
const OPENERS = /^(cat|tail|uniq|less|more|\w+sum)$/;

/**
 * Opens each named file, or stdin for `-` and without names, and passes it on. Reports files that cannot be opened.
 * @returns the exit code
 */
export async function forEachInput(
  self: Self,
  names: readonly string[],
  use: (source: ByteSource, name: string) => Promise<void>,
): Promise<number> {
  let code = 0;
  for (const name of names.length === 0 ? ["-"] : names) {
    const source = await openInput(self, name);
    if (source === undefined) code = 1;
    else await use(source, name);
  }
  return code;
}

/** Opens a file, or stdin for `-`. @returns undefined if that fails, which is reported */
export async function openInput(self: Self, name: string): Promise<ByteSource | undefined> {
  if (name === "-") return self.stdin;
  try {
    return openSource(self, resolvePath(self.cwd, name));
  } catch (error) {
    const program = baseName(self.argv[0] ?? "");
    // busybox opens a folder, and cannot read it.
    const isFolder = error instanceof FsError && error.code === "EISDIR";
    const opens = isFolder && program.endsWith("sum") ? `can't read '${name}'` : `can't open '${name}'`;
    const what = isFolder && /^(cat|tail)$/.test(program) ? "read error" : OPENERS.test(program) ? opens : name;
    await complain(self, `${what}: ${errorText(error)}`);
    return undefined;
  }
}

export async function copy(self: Self, source: ByteSource): Promise<void> {
  for (;;) {
    const bytes = await source.read(self.signal);
    if (bytes === undefined) return;
    await self.stdout.write(bytes, self.signal);
    await self.turn(unitsOf(bytes.length));
  }
}

/** `head [-n LINES] [-c BYTES] [FILE...]`: a number below zero keeps all but the last ones. */
export async function head(self: Self): Promise<number> {
  // `head -5` is the old form of `head -n 5`.
  const args = self.argv.slice(1).flatMap((arg, at) => (at === 0 && /^-\d+$/.test(arg) ? ["-n", arg.slice(1)] : [arg]));
  const { options, rest, unknown } = parseArgs(args, "n:c:qv");
  if (unknown !== undefined) return usage(self, unknown);
  const bytes = options.get("c");
  const number = bytes ?? options.get("n") ?? "10";
  const limit = parseCount(number.replace("-", ""));
  if (!Number.isInteger(limit)) return fail(self, `invalid number '${number}'`);
  let first = true;
  return forEachInput(self, rest, async (source, name) => {
    if (hasHeads(rest, options)) await print(self, `${first ? "" : "\n"}==> ${name} <==\n`);
    first = false;
    if (number.startsWith("-")) await allButLast(self, source, limit, bytes !== undefined);
    else await (bytes === undefined ? headLines(self, source, limit) : headBytes(self, source, limit));
  });
}

export function hasHeads(names: readonly unknown[], options: ReadonlyMap<string, string>): boolean {
  return options.has("v") || (names.length > 1 && !options.has("q"));
}

const COUNT_UNITS: Readonly<Record<string, number>> = { "": 1, b: 512, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** `5`, `10k`, `2G` */
export function parseCount(text: string): number {
  const [, digits = "NaN", unit = ""] = /^(\d+)([bkmg]?)$/i.exec(text) ?? [];
  return Number(digits) * (COUNT_UNITS[unit.toLowerCase()] ?? 1);
}

async function headBytes(self: Self, source: ByteSource, limit: number): Promise<void> {
  for (let left = limit; left > 0; ) {
    const bytes = await source.read(self.signal, left);
    if (bytes === undefined) return;
    await self.stdout.write(bytes, self.signal);
    left -= bytes.length;
    await self.turn(unitsOf(bytes.length));
  }
}

async function headLines(self: Self, source: ByteSource, limit: number): Promise<void> {
  for (let left = limit; left > 0; ) {
    const bytes = await source.read(self.signal);
    if (bytes === undefined) return;
    let end = 0;
    while (left > 0 && end < bytes.length) {
      const at = bytes.indexOf(0x0a, end);
      end = at < 0 ? bytes.length : at + 1;
      if (at >= 0) left--;
    }
    if (end < bytes.length) source.unread(bytes.subarray(end));
    await self.stdout.write(bytes.subarray(0, end), self.signal);
    await self.turn(unitsOf(bytes.length));
  }
}

async function allButLast(self: Self, source: ByteSource, count: number, countsBytes: boolean): Promise<void> {
  const bytes = await readAll(source, self.signal, self);
  let end = countsBytes ? Math.max(0, bytes.length - count) : bytes.length;
  for (let left = countsBytes ? 0 : count; left > 0 && end > 0; left--)
    end = end < 2 ? 0 : bytes.lastIndexOf(0x0a, end - 2) + 1;
  await self.stdout.write(bytes.subarray(0, end), self.signal);
}

const YES_LINES_BYTES = 65_536;
/** `yes [TEXT]` */
export async function yes(self: Self): Promise<number> {
  const line = `${self.argv.length > 1 ? self.argv.slice(1).join(" ") : "y"}\n`;
  const block = encodeText(line.repeat(Math.max(1, Math.floor(YES_LINES_BYTES / line.length))));
  for (;;) {
    await self.stdout.write(block, self.signal);
    await self.turn(unitsOf(block.length));
  }
}

/** `tee [-a] [FILE...]` */
export async function tee(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "ai");
  if (unknown !== undefined) return usage(self, unknown);
  const paths = rest.map((name) => resolvePath(self.cwd, name));
  let code = 0;
  const sinks: ByteSink[] = [];
  for (const [at, path] of paths.entries()) {
    try {
      sinks.push(openSink(self, path, { append: options.has("a") }));
    } catch (error) {
      await complain(self, `${rest[at]}: ${errorText(error)}`);
      code = 1;
    }
  }
  for (;;) {
    const bytes = await self.stdin.read(self.signal);
    if (bytes === undefined) return code;
    for (const sink of sinks) await sink.write(bytes, self.signal);
    await self.stdout.write(bytes, self.signal);
    await self.turn(unitsOf(bytes.length));
  }
}

/** `logger [-s] [-t TAG] [-p PRIO] [MESSAGE]`: no container has a syslogd that would get it. */
export async function logger(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "+st:p:");
  if (unknown !== undefined) return usage(self, unknown);
  const text = rest.length > 0 ? `${rest.join(" ")}\n` : (await readAll(self.stdin, self.signal, self)).toString();
  const name = new AccountNames(self.machine.fs).user(self.machine.user.uid) ?? String(self.machine.user.uid);
  if (options.has("s")) await warn(self, text.replace(/^(?=.)/gm, `${options.get("t") ?? name}: `));
  return 0;
}

/** `wc [-lwcmL] [FILE...]` */
export async function wc(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "lwcmL");
  if (unknown !== undefined) return usage(self, unknown);
  const wanted = ["l", "w", "c", "L"].filter((letter) =>
    options.size === 0 ? letter !== "L" : options.has(letter === "c" && options.has("m") ? "m" : letter),
  );
  const total: Record<string, number> = { l: 0, w: 0, c: 0, L: 0 };
  const line = (counts: Readonly<Record<string, number>>, name: string) => {
    const numbers = wanted.map((letter) => String(counts[letter]));
    const shown =
      wanted.length === 1 && rest.length < 2 ? numbers.join("") : numbers.map((text) => text.padStart(9)).join(" ");
    return `${shown}${name === "-" ? "" : ` ${name}`}\n`;
  };
  const code = await forEachInput(self, rest, async (source, name) => {
    const counts = await count(self, source);
    for (const [letter, value] of Object.entries(counts)) {
      const before = total[letter] ?? 0;
      total[letter] = letter === "L" ? Math.max(before, value) : before + value;
    }
    await print(self, line(counts, name));
  });
  if (rest.length > 1) await print(self, line(total, "total"));
  return code;
}

/** Programs that look at each byte do this much work in a unit. */
const BYTES_PER_UNIT = 2048;

async function count(self: Self, source: ByteSource): Promise<Record<string, number>> {
  const counts = { l: 0, w: 0, c: 0, L: 0 };
  let inWord = false;
  let lineLength = 0;
  for (;;) {
    const bytes = await source.read(self.signal);
    if (bytes === undefined) return counts;
    counts.c += bytes.length;
    for (const byte of bytes) {
      if (byte === 0x0a) counts.l++;
      lineLength = byte === 0x0a ? 0 : lineLength + 1;
      counts.L = Math.max(counts.L, lineLength);
      const isSpace = byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
      // As in busybox without a locale, a word begins with a printable character of ASCII.
      if (!inWord && byte > 0x20 && byte < 0x7f) {
        counts.w++;
        inWord = true;
      } else if (isSpace) inWord = false;
    }
    await self.turn(1 + bytes.length / BYTES_PER_UNIT);
  }
}
