import { decodeText } from "../../byte-text.js";
import { exitCodeOf, type Self } from "../../process/process.js";
import { BytesSource, readAll } from "../../streams.js";
import { fail, parseArgs, usage, warn } from "../console.js";
import { startChild } from "../system.js";

/** The most bytes of a command's arguments. */
const MAX_BYTES = 32_768;
const WORD = /(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+/gs;

/** `xargs [-0rt] [-n MAX] [-I STRING] [-P MAX] [PROGRAM [ARG...]]`. Mirrors busybox's findutils/xargs.c. */
export async function xargs(self: Self): Promise<number> {
  const { options, rest, unknown } = parseArgs(self.argv.slice(1), "+0rtn:I:P:s:");
  if (unknown !== undefined) return usage(self, unknown);
  for (const letter of ["n", "s", "P"]) {
    const problem = countProblem(options.get(letter), letter === "P" ? 0 : 1);
    if (problem !== undefined) return fail(self, problem);
  }
  const command = rest.length === 0 ? ["echo"] : rest;
  const text = decodeText(await readAll(self.stdin, self.signal, self));
  const place = options.get("I");
  const most = place === undefined ? Number(options.get("n") ?? Infinity) : 1;
  const bytes = Math.min(MAX_BYTES, Number(options.get("s") ?? MAX_BYTES)) - `${command.join(" ")} `.length;
  const batches = batchesOf(itemsOf(text, options), most, bytes);
  if (batches.length === 0 && !options.has("r") && place === undefined) batches.push([]);
  const running = new Set<Promise<void>>();
  let code = 0;
  for (const batch of batches) {
    const argv =
      place === undefined ? [...command, ...batch] : command.map((word) => word.replaceAll(place, batch[0] ?? ""));
    if (options.has("t")) await warn(self, `${argv.join(" ")}\n`);
    const child = await startChild(self, argv, { stdin: new BytesSource() });
    if (typeof child === "number") {
      code = child;
      break;
    }
    const ended = child.exited.then((status) => {
      running.delete(ended);
      if (exitCodeOf(status) !== 0) code = status.kind === "signaled" ? 125 : status.code === 255 ? 124 : 123;
    });
    running.add(ended);
    if (running.size >= (Number(options.get("P") ?? 1) || Infinity)) await Promise.race(running);
    await self.turn();
    if (code === 124 || code === 125) break;
  }
  await Promise.all(running);
  return code;
}

/** Lines for -I, else words, in which quotes and backslashes protect spaces. */
function itemsOf(text: string, options: ReadonlyMap<string, string>): readonly string[] {
  if (options.has("0"))
    return text
      .replace(/\0$/, "")
      .split("\0")
      .slice(text === "" ? 1 : 0);
  if (options.has("I")) return text.split("\n").flatMap((line) => line.trimStart() || []);
  const words = text.match(WORD) ?? [];
  return words.map((word) => word.replace(/'([^']*)'|"([^"]*)"|\\(.)/gs, (_, ...parts) => parts.slice(0, 3).join("")));
}

const MAX_COUNT = 2_147_483_647;

/** What is wrong with a number; undefined: nothing. */
function countProblem(text: string | undefined, least: number): string | undefined {
  if (text === undefined) return undefined;
  if (!/^\d+$/.test(text)) return `invalid number '${text}'`;
  const isIn = Number(text) >= least && Number(text) <= MAX_COUNT;
  return isIn ? undefined : `number ${text} is not in ${least}..${MAX_COUNT} range`;
}

function batchesOf(items: readonly string[], most: number, mostBytes: number): string[][] {
  const batches: string[][] = [];
  let bytes = 0;
  for (const item of items) {
    const last = batches.at(-1);
    bytes += item.length + 1;
    if (last !== undefined && last.length < most && bytes <= mostBytes) last.push(item);
    else {
      batches.push([item]);
      bytes = item.length + 1;
    }
  }
  return batches;
}
