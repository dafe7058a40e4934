import { encodeText } from "../byte-text.js";
import { errorText } from "../fs/fs-error.js";
import { FileSource, openForReading, openForWriting } from "../fs/open-file.js";
import { baseName, resolvePath } from "../fs/paths.js";
import { echoBytes } from "../language/echo.js";
import type { Self } from "../process/process.js";
import { type ByteSink, type ByteSource, readAll, unitsOf } from "../streams.js";
import { complain, parseArgs, print, usage } from "./console.js";
import { untilKilled } from "./system.js";

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
    if (name === "-") {
      await use(self.stdin, name);
      continue;
    }
    let source: ByteSource;
    try {
      source = openForReading(self.machine.fs, resolvePath(self.cwd, name), self.machine.random);
    } catch (error) {
      const opens = OPENERS.test(baseName(self.argv[0] ?? ""));
      await complain(self, `${opens ? `can't open '${name}'` : name}: ${errorText(error)}`);
      code = 1;
      continue;
    }
    await use(source, name);
  }
  return code;
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
  if (!Number.isInteger(limit)) return usage(self, `invalid number '${number}'`);
  let first = true;
  return forEachInput(self, rest, async (source, name) => {
    if (hasHeads(rest, options)) await print(self, `${first ? "" : "\n"}==> ${name} <==\n`);
    first = false;
    if (number.startsWith("-")) await allButLast(self, source, limit, bytes !== undefined);
    else await (bytes === undefined ? headLines(self, source, limit) : headBytes(self, source, limit));
  });
}

function hasHeads(names: readonly string[], options: ReadonlyMap<string, string>): boolean {
  return options.has("v") || (names.length > 1 && !options.has("q"));
}

const COUNT_UNITS: Readonly<Record<string, number>> = { "": 1, b: 512, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

/** `5`, `10k`, `2G` */
function parseCount(text: string): number {
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

const TAIL_POLL_MS = 1000;
/** The most that `tail` keeps of a stream whose end it needs. */
const TAIL_KEEP_BYTES = 1024 * 1024;

/** `tail [-n LINES] [-c BYTES] [-f|-F] [FILE...]`: checks for new data once a second, as busybox does. */
export async function tail(self: Self): Promise<number> {
  const args = self.argv.slice(1).flatMap((arg) => (/^-\d+$/.test(arg) ? ["-n", arg.slice(1)] : [arg]));
  const { options, rest, unknown } = parseArgs(args, "n:c:fFqv");
  if (unknown !== undefined) return usage(self, unknown);
  const follows = options.has("f") || options.has("F");
  const { fs } = self.machine;
  const sources: ByteSource[] = [];
  // With -F a file may come later; the check comes first, so that no file is both read and waited for.
  const isAwaited = (name: string) => options.has("F") && name !== "-" && !fs.exists(resolvePath(self.cwd, name));
  let awaited = rest.filter(isAwaited);
  const from = options.get("c") ?? options.get("n") ?? "";
  const code = await forEachInput(self, rest, async (source, name) => {
    if (hasHeads(rest, options)) await print(self, `${sources.length === 0 ? "" : "\n"}==> ${name} <==\n`);
    if (from.startsWith("+")) await copyFrom(self, source, Number(from) || 1, options.has("c"));
    else await self.stdout.write(await lastPart(self, source, options), self.signal);
    sources.push(source);
  });
  const files = sources.filter((source) => source instanceof FileSource);
  // A device never has more to read, but tail waits for it.
  if (follows && rest.length > 0 && files.length === 0 && code === 0) return untilKilled(self);
  while (follows && files.length + awaited.length > 0) {
    for (const name of awaited.filter((one) => !isAwaited(one))) {
      await complain(self, `${name} has appeared; following end of new file`);
      files.push(new FileSource(fs, resolvePath(self.cwd, name)));
    }
    awaited = awaited.filter(isAwaited);
    for (const source of files) await copy(self, source);
    await self.machine.clock.sleep(TAIL_POLL_MS, self.signal);
  }
  return code;
}

async function lastPart(self: Self, source: ByteSource, options: ReadonlyMap<string, string>): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for (;;) {
    const read = await source.read(self.signal);
    if (read === undefined) break;
    parts.push(read);
    length += read.length;
    for (let first = parts[0]; first !== undefined && length - first.length >= TAIL_KEEP_BYTES; first = parts[0]) {
      length -= first.length;
      parts.shift();
    }
    await self.turn(unitsOf(read.length));
  }
  const kept = Buffer.concat(parts);
  const bytes = options.get("c");
  if (bytes !== undefined) return kept.subarray(-Number(bytes) || kept.length);
  return lastLines(kept, Math.abs(Number(options.get("n") ?? "10")));
}

/** Everything from a byte or line on, counted from 1: `kubectl cp --retries` resumes this way. */
async function copyFrom(self: Self, source: ByteSource, first: number, countsBytes: boolean): Promise<void> {
  for (let left = first - 1; left > 0; ) {
    const bytes = await source.read(self.signal);
    if (bytes === undefined) return;
    let end = 0;
    if (countsBytes) {
      end = Math.min(left, bytes.length);
      left -= end;
    }
    while (!countsBytes && left > 0 && end < bytes.length) {
      const at = bytes.indexOf(0x0a, end);
      end = at < 0 ? bytes.length : at + 1;
      if (at >= 0) left--;
    }
    if (end < bytes.length) source.unread(bytes.subarray(end));
    await self.turn(unitsOf(bytes.length));
  }
  await copy(self, source);
}

function lastLines(bytes: Buffer, count: number): Buffer {
  if (!(count > 0)) return Buffer.alloc(0);
  let at = bytes.length - 1;
  for (let left = count; left > 0 && at >= 0; left--) {
    at = bytes.lastIndexOf(0x0a, at - 1);
    if (at === 0 && left > 1) break;
  }
  return at < 0 ? bytes : bytes.subarray(at + 1);
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
  const { fs } = self.machine;
  const paths = rest.map((name) => resolvePath(self.cwd, name));
  let code = 0;
  const sinks: ByteSink[] = [];
  for (const [at, path] of paths.entries()) {
    try {
      sinks.push(openForWriting(fs, path, { append: options.has("a"), umask: self.umask }));
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

/** `wc [-l] [-w] [-c] [FILE...]` */
export async function wc(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "lwcm");
  if (unknown !== undefined) return usage(self, unknown);
  const wanted = ["l", "w", "c"].filter(
    (letter) => options.size === 0 || options.has(letter === "c" && options.has("m") ? "m" : letter),
  );
  const total: Record<string, number> = { l: 0, w: 0, c: 0 };
  const line = (counts: Readonly<Record<string, number>>, name: string) => {
    const numbers = wanted.map((letter) => String(counts[letter]));
    const shown =
      wanted.length === 1 && rest.length < 2 ? numbers.join("") : numbers.map((text) => text.padStart(9)).join(" ");
    return `${shown}${name === "-" ? "" : ` ${name}`}\n`;
  };
  const code = await forEachInput(self, rest, async (source, name) => {
    const counts = await count(self, source);
    for (const [letter, value] of Object.entries(counts)) total[letter] = (total[letter] ?? 0) + value;
    await print(self, line(counts, name));
  });
  if (rest.length > 1) await print(self, line(total, "total"));
  return code;
}

/** Programs that look at each byte do this much work in a unit. */
const BYTES_PER_UNIT = 2048;

async function count(self: Self, source: ByteSource): Promise<Record<string, number>> {
  const counts = { l: 0, w: 0, c: 0 };
  let inWord = false;
  for (;;) {
    const bytes = await source.read(self.signal);
    if (bytes === undefined) return counts;
    counts.c += bytes.length;
    for (const byte of bytes) {
      if (byte === 0x0a) counts.l++;
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
