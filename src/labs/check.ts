import { readFile, stat } from "node:fs/promises";
import { isAbsolute, join, relative } from "node:path";
import type { KubeClient } from "../client/client.js";
import type { Clock } from "../util/clock.js";
import { fieldOf } from "./field.js";
import { findIn } from "./match.js";
import type { CommandResult } from "./runner.js";
import type { Check, LeafCheck } from "./schema.js";

/** What a check found. `seen` and `want` are facts, not sentences: they read the same in every language. */
export type Verdict =
  | { readonly ok: true; readonly seen: string }
  | { readonly ok: false; readonly seen: string; readonly want: string };

/** What checks may look at. Nothing here changes anything. */
export interface CheckView {
  readonly client: KubeClient;
  readonly folder: string;
  /** what commands have printed so far, by the step's id or the kept command's name */
  output(name: string): CommandResult | undefined;
  /** runs a command that only reads */
  run(line: string, signal: AbortSignal): Promise<CommandResult>;
}

/** Asks once. @throws LabError when the cluster cannot be reached */
export async function evaluate(check: Check, view: CheckView, signal: AbortSignal): Promise<Verdict> {
  if ("all" in check) return evaluateAll(check.all, view, signal);
  if ("any" in check) return evaluateAny(check.any, view, signal);
  if ("not" in check) return negated(await evaluate(check.not, view, signal));
  return evaluateLeaf(check, view, signal);
}

/** How often a check with `within` is asked again, in ms of the wall's clock. */
const ASK_AGAIN_MS = 50;

/** Told while a check waits. */
export type Waiting = (verdict: Verdict & { ok: false }, leftMs: number) => void;

/**
 * Asks until the check holds, or its `within` is over on the lab's clock.
 * @param times.wall so that a fast clock does not make it ask without a pause
 * @param times.patienceMs ms of the wall's clock that it goes on in any case, where a fast clock runs away from a busy machine
 */
export async function evaluateWithin(
  check: Check,
  view: CheckView,
  times: { readonly clock: Clock; readonly wall: Clock; readonly patienceMs: number },
  signal: AbortSignal,
  onWaiting?: Waiting,
): Promise<Verdict> {
  const limitMs = withinMs(check);
  const untilMs = times.clock.now() + limitMs;
  const patientUntilMs = times.wall.now() + (limitMs === 0 ? 0 : times.patienceMs);
  for (;;) {
    const verdict = await evaluate(check, view, signal);
    const leftMs = untilMs - times.clock.now();
    if (verdict.ok || (leftMs <= 0 && times.wall.now() >= patientUntilMs)) return verdict;
    onWaiting?.(verdict, Math.max(0, leftMs));
    await times.wall.sleep(ASK_AGAIN_MS, signal);
  }
}

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** 0: asked once. */
export function withinMs({ within }: Check): number {
  const match = /^(\d+)(ms|s|m|h)$/.exec(within ?? "");
  return match === null ? 0 : Number(match[1]) * (UNITS_MS[match[2] ?? ""] ?? 0);
}

async function evaluateAll(checks: readonly Check[], view: CheckView, signal: AbortSignal): Promise<Verdict> {
  const seen: string[] = [];
  for (const one of checks) {
    const verdict = await evaluate(one, view, signal);
    if (!verdict.ok) return verdict;
    seen.push(verdict.seen);
  }
  return { ok: true, seen: seen.join("; ") };
}

async function evaluateAny(checks: readonly Check[], view: CheckView, signal: AbortSignal): Promise<Verdict> {
  const failed: (Verdict & { ok: false })[] = [];
  for (const one of checks) {
    const verdict = await evaluate(one, view, signal);
    if (verdict.ok) return verdict;
    failed.push(verdict);
  }
  return {
    ok: false,
    seen: failed.map(({ seen }) => seen).join("; "),
    want: failed.map(({ want }) => want).join(" | "),
  };
}

function negated(verdict: Verdict): Verdict {
  return verdict.ok ? { ok: false, seen: verdict.seen, want: `!(${verdict.seen})` } : { ok: true, seen: verdict.seen };
}

async function evaluateLeaf(check: LeafCheck, view: CheckView, signal: AbortSignal): Promise<Verdict> {
  if ("command" in check) {
    const result = await view.run(check.command, signal);
    const wantsText = check.matches === undefined || findIn(result.stdout + result.stderr, check.matches) !== undefined;
    const want = [`exit ${check.exit}`, ...(check.matches === undefined ? [] : [`/${check.matches}/`])].join(", ");
    const seen = `${check.command}: exit ${result.code}`;
    return result.code === check.exit && wantsText ? { ok: true, seen } : { ok: false, seen, want };
  }
  if ("object" in check) return compared(check, await objectValue(check, view, signal));
  if ("list" in check) return compared(check, await listValue(check, view, signal));
  if ("output" in check) {
    const result = view.output(check.output);
    const text = result === undefined ? undefined : streamOf(result, check.stream);
    const found = text === undefined ? undefined : findIn(text, check.matches);
    const want = `/${check.matches}/ in ${check.output}`;
    if (found !== undefined) return { ok: true, seen: found };
    return { ok: false, seen: text === undefined ? `${check.output}: -` : lastLine(text), want };
  }
  if ("exit" in check) {
    const code = view.output(check.exit)?.code;
    const seen = `${check.exit}: exit ${code ?? "-"}`;
    return code === check.is ? { ok: true, seen } : { ok: false, seen, want: `exit ${check.is}` };
  }
  return fileVerdict(check, view);
}

interface Found {
  readonly what: string;
  /** undefined: not there */
  readonly value: unknown;
}

async function objectValue(
  { object, field }: Extract<LeafCheck, { object: string }>,
  { client }: CheckView,
  signal: AbortSignal,
): Promise<Found> {
  const answer = await client.request({ method: "GET", path: object, signal });
  const what = field === undefined ? object : `${field} (${object})`;
  if (answer.status >= 300)
    return { what: answer.status === 404 ? object : `${object}: ${answer.status}`, value: undefined };
  return { what, value: field === undefined ? true : fieldOf(answer.body, field) };
}

async function listValue(
  { list, where }: Extract<LeafCheck, { list: string }>,
  { client }: CheckView,
  signal: AbortSignal,
): Promise<Found> {
  const answer = await client.request<{ items?: readonly unknown[] }>({ method: "GET", path: list, signal });
  const [path = "", wanted] = (where ?? "").split("==").map((part) => part.trim());
  const items = (answer.body.items ?? []).filter((item) => {
    if (where === undefined) return true;
    const value = fieldOf(item, path);
    return wanted === undefined ? value !== undefined : String(value) === wanted;
  });
  return { what: `${list}${where === undefined ? "" : ` [${where}]`}: count`, value: items.length };
}

type Comparison = Pick<
  Extract<LeafCheck, { object: string }>,
  "is" | "isNot" | "matches" | "exists" | "atLeast" | "atMost"
>;

/** Without a comparison, the value must be there. */
function compared(comparison: Comparison, { what, value }: Found): Verdict {
  const text = value === undefined ? "-" : typeof value === "string" ? value : JSON.stringify(value);
  const seen = `${what} = ${text}`;
  const { is, isNot, matches, atLeast, atMost } = comparison;
  const isBare = [is, isNot, matches, atLeast, atMost].every((one) => one === undefined);
  const exists = comparison.exists ?? (isBare ? true : undefined);
  const rules: [boolean, string][] = [
    [is === undefined || text === String(is), `= ${is}`],
    [isNot === undefined || text !== String(isNot), `!= ${isNot}`],
    [matches === undefined || (value !== undefined && new RegExp(matches, "m").test(text)), `=~ /${matches}/`],
    [exists === undefined || (value !== undefined) === exists, exists === false ? "= -" : "!= -"],
    [atLeast === undefined || Number(value) >= atLeast, `>= ${atLeast}`],
    [atMost === undefined || Number(value) <= atMost, `<= ${atMost}`],
  ];
  const broken = rules.find(([holds]) => !holds);
  return broken === undefined ? { ok: true, seen } : { ok: false, seen, want: `${what} ${broken[1]}` };
}

async function fileVerdict(check: Extract<LeafCheck, { file: string }>, view: CheckView): Promise<Verdict> {
  const path = join(view.folder, check.file);
  if (isAbsolute(check.file) || relative(view.folder, path).startsWith("..")) {
    return { ok: false, seen: check.file, want: "a file below the lab's folder" };
  }
  const found = await stat(path).catch(() => undefined);
  const { file, matches, mode, exists = true } = check;
  if (found === undefined || !exists) {
    const seen = `${file}: ${found === undefined ? "-" : "exists"}`;
    return (found !== undefined) === exists ? { ok: true, seen } : { ok: false, seen, want: exists ? "exists" : "-" };
  }
  const bits = (found.mode & 0o777).toString(8).padStart(3, "0");
  if (mode !== undefined && bits !== mode) return { ok: false, seen: `${file}: ${bits}`, want: mode };
  if (matches === undefined) return { ok: true, seen: `${file}: ${bits}` };
  const content = found.isFile() ? await readFile(path, "utf8") : "";
  const match = new RegExp(matches, "m").exec(content);
  if (match !== null) return { ok: true, seen: `${file}: ${match[0]}` };
  return { ok: false, seen: `${file}: ${lastLine(content)}`, want: `/${matches}/` };
}

function streamOf({ stdout, stderr }: CommandResult, stream: "stdout" | "stderr" | "both"): string {
  if (stream === "both") return `${stdout}\n${stderr}`;
  return stream === "stdout" ? stdout : stderr;
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1)?.slice(0, 200) ?? "";
}
