import type { Self } from "../process/process.js";
import { fail, parseArgs, print, usage } from "./console.js";

const PIECE_LENGTH = 4096;
const UNITS_PER_PIECE = 8;
/** What `toFixed` accepts. */
const MAX_DECIMALS = 100;

/**
 * `seq [FIRST [STEP]] LAST`. Integers of any size, as in GNU's.
 * Differs: busybox's counts with a C double, which repeats numbers above 2 ** 53.
 */
export async function seq(self: Self): Promise<number> {
  const isNumber = (arg: string) => /^-?[\d.]/.test(arg);
  const at = self.argv.slice(1).findIndex((arg, index, all) => isNumber(arg) && all[index - 1] !== "-s");
  const { options, unknown } = parseArgs(at < 0 ? self.argv.slice(1) : self.argv.slice(1, at + 1), "ws:");
  const texts = at < 0 ? [] : self.argv.slice(at + 1);
  if (unknown !== undefined) return usage(self, unknown);
  if (texts.length === 0 || texts.length > 3) return usage(self);
  const wrong = texts.find((text) => !Number.isFinite(Number(text === "" ? "x" : text)));
  if (wrong !== undefined) return fail(self, `invalid number '${wrong}'`);
  const [first, step, last] = [texts.length > 1 ? texts[0] : "1", texts.length === 3 ? texts[1] : "1", texts.at(-1)];
  if (Number(step) === 0) return fail(self, "the step must not be 0");
  const values = [first, step, last].map((text) => text ?? "");
  if (values.every((text) => Number.isSafeInteger(Number(text)))) return printAll(self, options, safeIntegers(values));
  if (values.every((text) => Number.isInteger(Number(text)) && !text.includes("."))) {
    return printAll(self, options, integers(values));
  }
  return printAll(self, options, decimals(values));
}

async function printAll(
  self: Self,
  options: ReadonlyMap<string, string>,
  values: Generator<number | bigint | string>,
): Promise<number> {
  const between = options.get("s") ?? "\n";
  const width = options.has("w") ? Math.max(...self.argv.slice(1).map(({ length }) => length)) : 0;
  let lines = "";
  let isFirst = true;
  for (const value of values) {
    lines += `${isFirst ? "" : between}${String(value).padStart(width, "0")}`;
    isFirst = false;
    if (lines.length < PIECE_LENGTH) continue;
    await print(self, lines);
    lines = "";
    await self.turn(UNITS_PER_PIECE);
  }
  if (!isFirst) await print(self, `${lines}\n`);
  return 0;
}

/** All sums but the last one are safe integers, and the last one ends the loop. */
function* safeIntegers(texts: readonly string[]): Generator<number> {
  const [first = 0, step = 1, last = 0] = texts.map(Number);
  for (let value = first; step > 0 ? value <= last : value >= last; value += step) yield value;
}

function* integers(texts: readonly string[]): Generator<bigint> {
  const [first = 0n, step = 1n, last = 0n] = texts.map(integerOf);
  for (let value = first; step > 0n ? value <= last : value >= last; value += step) yield value;
}

/** `5`, `+5`, `1e17` */
function integerOf(text: string): bigint {
  return BigInt(/^[-+]?\d+$/.test(text) ? text.replace("+", "") : Number(text));
}

/** Multiplies instead of adding: errors do not add up, and a step that is too small to change a number still ends. */
function* decimals(texts: readonly string[]): Generator<string> {
  const [first = 0, step = 1, last = 0] = texts.map(Number);
  const digits = Math.min(MAX_DECIMALS, Math.max(...texts.map((text) => text.split(".")[1]?.length ?? 0)));
  for (let count = 0; ; count++) {
    const text = (first + count * step).toFixed(digits);
    if (step > 0 ? Number(text) > last : Number(text) < last) return;
    yield text;
  }
}
