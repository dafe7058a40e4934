import { errorText, FsError } from "../../fs/fs-error.js";
import { resolvePath } from "../../fs/paths.js";
import { openSink, openSource } from "../../process/descriptors.js";
import type { Self } from "../../process/process.js";
import { type ByteSink, type ByteSource, unitsOf } from "../../streams.js";
import { complain, fail, usage } from "../console.js";

const OPERANDS = new Set(["if", "of", "bs", "count", "skip", "seek", "conv", "status"]);
const DEFAULT_BLOCK_BYTES = 512;
const FACTORS: Readonly<Record<string, number>> = {
  c: 1,
  w: 2,
  b: 512,
  kB: 1000,
  k: 1024,
  K: 1024,
  MB: 1e6,
  M: 1024 ** 2,
  GB: 1e9,
  G: 1024 ** 3,
};

/** Full and partial blocks. */
interface Records {
  full: number;
  partial: number;
}

/** A file that cannot be opened, or an operand that is wrong: reported without records. */
class OperandError extends Error {}

/**
 * `dd [if=FILE] [of=FILE] [bs=N] [count=N] [skip=N] [seek=N] [conv=notrunc] [status=none|noxfer]`
 *
 * Messages as in busybox. Differs: the shortest time is a millisecond, as the clock's.
 */
export async function dd(self: Self): Promise<number> {
  const copy = new Copy(self);
  const startMs = self.machine.clock.now();
  let code = 0;
  try {
    await copy.run();
  } catch (error) {
    if (error instanceof OperandError) return error.message === "" ? usage(self) : fail(self, error.message);
    if (!(error instanceof FsError)) throw error;
    await complain(self, `error writing '${copy.operands.get("of") ?? "standard output"}': ${errorText(error)}`);
    code = 1;
  }
  const status = copy.operands.get("status");
  if (status === "none") return code;
  const { input, output, bytes } = copy;
  const seconds = Math.max(1, self.machine.clock.now() - startMs) / 1000;
  const speed = `${bytes} bytes (${readable(bytes)}B) copied, ${seconds.toFixed(6)} seconds, ${readable(bytes / seconds)}B/s\n`;
  const records = `${input.full}+${input.partial} records in\n${output.full}+${output.partial} records out\n`;
  await self.stderr.write(Buffer.from(records + (status === "noxfer" ? "" : speed)), self.signal);
  return code;
}

/** One run of dd. */
class Copy {
  readonly operands = new Map<string, string>();
  readonly input: Records = { full: 0, partial: 0 };
  readonly output: Records = { full: 0, partial: 0 };
  bytes = 0;

  constructor(readonly self: Self) {}

  /** @throws OperandError; FsError of a write */
  async run(): Promise<void> {
    for (const word of this.self.argv.slice(1)) {
      const [, name = "", value = ""] = /^(\w+)=(.*)$/s.exec(word) ?? [];
      if (!OPERANDS.has(name)) throw new OperandError("");
      this.operands.set(name, value);
    }
    const blockBytes = this.#number("bs", 1) ?? DEFAULT_BLOCK_BYTES;
    const count = this.#number("count") ?? Number.POSITIVE_INFINITY;
    const skip = this.#number("skip") ?? 0;
    const source = this.#source();
    const sink = this.#sink((this.#number("seek") ?? 0) * blockBytes);
    for (let block = 0; block < skip; block++) {
      if ((await this.#block(source, undefined, blockBytes)) === 0) break;
    }
    for (let block = 0; block < count; block++) {
      const length = await this.#counted(() => this.#block(source, sink, blockBytes), blockBytes);
      if (length === 0) return;
      this.output[length === blockBytes ? "full" : "partial"]++;
    }
  }

  async #counted(block: () => Promise<number>, blockBytes: number): Promise<number> {
    try {
      const length = await block();
      if (length > 0) this.input[length === blockBytes ? "full" : "partial"]++;
      return length;
    } catch (error) {
      this.input.full++; // It was read, but could not be written.
      throw error;
    }
  }

  /** Copies a block in pieces. A pipe returns its available bytes, as a single read does. @returns its length; 0 at the end */
  async #block(source: ByteSource, sink: ByteSink | undefined, blockBytes: number): Promise<number> {
    const { self } = this;
    let length = 0;
    while (length < blockBytes) {
      const bytes = await source.read(self.signal, blockBytes - length);
      if (bytes === undefined) break;
      await self.turn(unitsOf(bytes.length));
      length += bytes.length;
      if (sink !== undefined) {
        await sink.write(bytes, self.signal);
        this.bytes += bytes.length;
      }
      if (!this.operands.has("if")) break;
    }
    return length;
  }

  #source(): ByteSource {
    const { cwd, stdin } = this.self;
    const path = this.operands.get("if");
    if (path === undefined) return stdin;
    return opened(path, () => openSource(this.self, resolvePath(cwd, path)));
  }

  #sink(offset: number): ByteSink {
    const { cwd, stdout } = this.self;
    const path = this.operands.get("of");
    if (path === undefined) return stdout;
    const keepsRest = this.operands.get("conv")?.split(",").includes("notrunc") === true;
    return opened(path, () => openSink(this.self, resolvePath(cwd, path), { append: false, offset, keepsRest }));
  }

  #number(name: string, least = 0): number | undefined {
    const text = this.operands.get(name);
    if (text === undefined) return undefined;
    const [, digits, suffix = ""] = /^(\d+)([a-zA-Z]*)$/.exec(text) ?? [];
    const factor = suffix === "" ? 1 : FACTORS[suffix];
    if (digits === undefined || factor === undefined) throw new OperandError(`invalid number '${text}'`);
    const number = Number(digits) * factor;
    if (number >= least && number < 2 ** 63) return number;
    throw new OperandError(`number ${text} is not in ${least}..9223372036854775807 range`);
  }
}

/** @throws OperandError */
function opened<T>(path: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw new OperandError(`can't open '${path}': ${errorText(error)}`);
  }
}

/** Mirrors make_human_readable_str in busybox: `3.0K`, `512`. */
function readable(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < 5; unit++) value /= 1024;
  return unit === 0 ? String(Math.floor(value)) : `${value.toFixed(1)}${"KMGTP".charAt(unit - 1)}`;
}
