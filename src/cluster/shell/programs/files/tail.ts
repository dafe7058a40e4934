import { errorText, FsError } from "../../fs/fs-error.js";
import { FileSource, openForReading } from "../../fs/open-file.js";
import { resolvePath } from "../../fs/paths.js";
import type { Self } from "../../process/process.js";
import { type ByteSource, unitsOf } from "../../streams.js";
import { complain, fail, parseArgs, print, usage } from "../console.js";
import { copy, hasHeads, openInput, parseCount } from "../text.js";

/** The most that `tail` keeps of a stream whose end it needs. */
const KEEP_BYTES = 1024 * 1024;

/** How much of a file is printed at first. */
interface Part {
  readonly count: number;
  readonly isBytes: boolean;
  /** `+N`: from the Nth line or byte on, instead of the last ones */
  readonly isFromStart: boolean;
}

interface Input {
  readonly name: string;
  /** undefined: it cannot be opened now */
  source: ByteSource | undefined;
}

/** `tail [-n [+]LINES] [-c [+]BYTES] [-f|-F] [-s SECONDS] [FILE...]`. Mirrors busybox's coreutils/tail.c. */
export async function tail(self: Self): Promise<number> {
  const args = self.argv.slice(1).flatMap((arg, at) => (at === 0 && /^[-+]\d+$/.test(arg) ? ["-n", old(arg)] : [arg]));
  const { options, rest, unknown } = parseArgs(args, "n:c:fFqvs:");
  if (unknown !== undefined) return usage(self, unknown);
  const text = options.get("c") ?? options.get("n") ?? "10";
  const count = parseCount(text.replace(/^[-+]/, ""));
  const seconds = options.get("s") ?? "1";
  if (Number.isNaN(count)) return fail(self, `invalid number '${text}'`);
  if (!/^\d+$/.test(seconds)) return fail(self, `invalid number '${seconds}'`);
  const part = { count, isBytes: options.has("c"), isFromStart: text.startsWith("+") };
  const inputs: Input[] = [];
  for (const name of rest.length === 0 ? ["-"] : rest) {
    const source = await openInput(self, name);
    if (source !== undefined || options.has("F")) inputs.push({ name, source });
  }
  if (inputs.length === 0) return fail(self, "no files");
  const heads = new Heads(self, hasHeads(inputs, options));
  for (const input of inputs) {
    if (input.source === undefined) continue;
    await heads.before(input);
    if (part.isFromStart) await copyFrom(self, input.source, part);
    else await self.stdout.write(await lastPart(self, input.source, part), self.signal);
  }
  // A pipe without a name ends.
  const follows =
    options.has("F") || (options.has("f") && (rest.length > 0 || inputs[0]?.source instanceof FileSource));
  while (follows) {
    await self.machine.clock.sleep(Number(seconds) * 1000, self.signal);
    for (const input of inputs) {
      if (options.has("F")) await renew(self, input);
      await copyNew(self, input, heads);
    }
  }
  return inputs.length === Math.max(1, rest.length) ? 0 : 1;
}

/** `tail -5` and `tail +5` are old forms of `-n`. */
const old = (arg: string) => arg.replace("-", "");

/** The line above the part of each of several files. */
class Heads {
  #last: Input | undefined;

  constructor(
    readonly self: Self,
    readonly isShown: boolean,
  ) {}

  async before(input: Input): Promise<void> {
    if (this.isShown && input !== this.#last)
      await print(this.self, `${this.#last === undefined ? "" : "\n"}==> ${input.name} <==\n`);
    this.#last = input;
  }
}

/** Opens a file again that is another one now, as after a rotation of logs. */
async function renew(self: Self, input: Input): Promise<void> {
  const { name, source } = input;
  if (source !== undefined && !(source instanceof FileSource && !source.isNamed)) return;
  try {
    const { fs, random } = self.machine;
    input.source = openForReading(fs, resolvePath(self.cwd, name), random);
    await complain(
      self,
      `${name} has ${source === undefined ? "appeared" : "been replaced"}; following end of new file`,
    );
  } catch (error) {
    if (!(error instanceof FsError)) throw error;
    // What has lost its name may still grow.
    if (source !== undefined) await complain(self, `${name} has been renamed or deleted: ${errorText(error)}`);
  }
}

async function copyNew(self: Self, input: Input, heads: Heads): Promise<void> {
  const { source } = input;
  if (!(source instanceof FileSource)) return;
  source.rewindIfTruncated();
  const bytes = await source.read(self.signal);
  if (bytes === undefined) return;
  await heads.before(input);
  source.unread(bytes);
  await copy(self, source);
}

async function lastPart(self: Self, source: ByteSource, { count, isBytes }: Part): Promise<Buffer> {
  const parts: Buffer[] = [];
  let length = 0;
  for (;;) {
    const read = await source.read(self.signal);
    if (read === undefined) break;
    parts.push(read);
    length += read.length;
    for (let first = parts[0]; first !== undefined && length - first.length >= KEEP_BYTES; first = parts[0]) {
      length -= first.length;
      parts.shift();
    }
    await self.turn(unitsOf(read.length));
  }
  const kept = Buffer.concat(parts);
  return isBytes ? kept.subarray(Math.max(0, kept.length - count)) : lastLines(kept, count);
}

/** Everything from a byte or line on, counted from 1: `kubectl cp --retries` resumes this way. */
async function copyFrom(self: Self, source: ByteSource, { count, isBytes }: Part): Promise<void> {
  for (let left = count - 1; left > 0; ) {
    const bytes = await source.read(self.signal);
    if (bytes === undefined) return;
    let end = 0;
    if (isBytes) {
      end = Math.min(left, bytes.length);
      left -= end;
    }
    while (!isBytes && left > 0 && end < bytes.length) {
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
  if (count === 0) return Buffer.alloc(0);
  let at = bytes.length - 1;
  for (let left = count; left > 0 && at >= 0; left--) {
    at = bytes.lastIndexOf(0x0a, at - 1);
    if (at === 0 && left > 1) break;
  }
  return at < 0 ? bytes : bytes.subarray(at + 1);
}
