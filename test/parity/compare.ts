import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { isRecord } from "../../src/util/records.js";
import { withoutChance } from "./chance.js";
import type { Item } from "./item.js";
import { isProse } from "./prose.js";
import { isMoment, isSameMoment } from "./timeline.js";

const run = promisify(execFile);

/** An item that differs: its name, and a line for every difference. */
export interface Difference {
  readonly item: string;
  readonly lines: readonly string[];
}

export interface TopicResult {
  readonly topic: string;
  readonly itemCount: number;
  readonly differences: readonly Difference[];
  /** items that differ only in prose: they count as equal */
  readonly proseOnly: number;
}

interface Place {
  readonly path: string;
  readonly line: string;
  readonly isProse?: true;
}

/** The maximum length of a value in a line. */
const SHOWN_CHARS = 160;

/**
 * Compares two recordings of one topic, after the recordings' own normaliser.
 * @param normaliser path of normalise.py
 */
export async function compareTopic(
  topic: string,
  normaliser: string,
  files: { readonly recorded: string; readonly ours: string },
): Promise<TopicResult> {
  const [recorded, ours] = await Promise.all([
    normalised(normaliser, files.recorded),
    normalised(normaliser, files.ours),
  ]);
  return compareItems(topic, recorded, ours);
}

async function normalised(normaliser: string, file: string): Promise<Item[]> {
  const { stdout } = await run("python3", [normaliser, file], { maxBuffer: 64 << 20 });
  return (JSON.parse(stdout) as { items: Item[] }).items;
}

/**
 * Compares item by item, by name and in order, after removing random values. Reports every difference: the normaliser's
 * own comparison stops after twelve.
 */
export function compareItems(topic: string, recorded: readonly Item[], ours: readonly Item[]): TopicResult {
  const left = new Map<string, Item[]>();
  for (const item of ours) left.set(item.name, [...(left.get(item.name) ?? []), item]);
  let proseOnly = 0;
  const differences = recorded.flatMap((item): Difference[] => {
    const counterpart = left.get(item.name)?.shift();
    if (counterpart === undefined) return [{ item: item.name, lines: ["missing"] }];
    const places = placesOf(withoutChance(topic, item), withoutChance(topic, counterpart), "");
    const facts = places.filter((place) => place.isProse !== true);
    if (places.length > 0 && facts.length === 0) proseOnly++;
    return facts.length === 0 ? [] : [{ item: item.name, lines: facts.map(({ path, line }) => `${path}: ${line}`) }];
  });
  return { topic, itemCount: recorded.length, differences, proseOnly };
}

/** Reports whether a difference is in a status code, a `reason` or a watch event: those are never acceptable. */
export function isSevere(difference: Difference): boolean {
  return difference.lines.some((line) =>
    /^(missing$|\/response\/status:|\/response\/events:|\/response\/events\/\d+\/type:|\S*\/reason:|\S*\/code:|\S*\/watch:)/.test(
      line,
    ),
  );
}

function placesOf(a: unknown, b: unknown, path: string): Place[] {
  if (a === b || (isMoment(a) && isMoment(b) && isSameMoment(a, b))) return [];
  if (Array.isArray(a) && Array.isArray(b)) return placesOfLists(a, b, path);
  if (isRecord(a) && isRecord(b)) {
    return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap((key) => {
      const below = `${path}/${key}`;
      if (!(key in a)) return [{ path: below, line: `only here: ${shown(b[key])}` }];
      if (!(key in b)) return [{ path: below, line: `only recorded: ${shown(a[key])}` }];
      return placesOf(a[key], b[key], below);
    });
  }
  const from = typeof a === "string" && typeof b === "string" ? commonLength(a, b) : 0;
  const place = { path, line: `recorded ${shown(a, from)}, here ${shown(b, from)}` };
  return [isProse(path, a, b) ? { ...place, isProse: true } : place];
}

function placesOfLists(a: readonly unknown[], b: readonly unknown[], path: string): Place[] {
  const places = a.flatMap((value, i) => (i < b.length ? placesOf(value, b[i], `${path}/${i}`) : []));
  if (a.length !== b.length) places.unshift({ path, line: `recorded ${a.length} entries, here ${b.length}` });
  return places;
}

/** The first difference of two long texts, with a few words of context. */
function commonLength(a: string, b: string): number {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return Math.max(a.length, b.length) <= SHOWN_CHARS ? 0 : Math.max(0, i - 20);
}

function shown(value: unknown, from = 0): string {
  const text = JSON.stringify(typeof value === "string" ? value.slice(from) : value) ?? "nothing";
  return `${from > 0 ? "…" : ""}${text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text}`;
}
