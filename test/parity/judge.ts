import { type Difference, isSevere, type TopicResult } from "./compare.js";
import { KNOWN_DIFFERENCES, type KnownDifference } from "./differences.js";

/** A topic's differences, held against the list of those that are known. */
export interface Verdict {
  readonly topic: string;
  readonly itemCount: number;
  readonly listed: readonly Difference[];
  readonly unlisted: readonly Difference[];
  /** in a status code, a reason, or what a watch tells of what is served: listed or not */
  readonly severe: readonly Difference[];
  /** listed, and no longer different */
  readonly stale: readonly KnownDifference[];
}

export function judge(
  { topic, itemCount, differences }: TopicResult,
  all: readonly KnownDifference[] = KNOWN_DIFFERENCES,
): Verdict {
  const known = all.filter((one) => one.topic === topic || one.topic === ANY);
  const isListed = ({ item, lines }: Difference) =>
    lines.every((line) => known.some((one) => isAbout(one, item) && (one.where?.test(pathOf(line)) ?? true)));
  const isNotServed = ({ item }: Difference) => known.some((one) => one.notServed === true && isAbout(one, item));
  const isGone = (one: KnownDifference) => one.item !== ANY && !differences.some(({ item }) => item === one.item);
  return {
    topic,
    itemCount,
    listed: differences.filter(isListed),
    unlisted: differences.filter((one) => !isListed(one)),
    severe: differences.filter((one) => isSevere(one) && !isNotServed(one)),
    stale: known.filter((one) => one.sometimes !== true && isGone(one)),
  };
}

const ANY = "*";

function isAbout({ item }: KnownDifference, name: string): boolean {
  return item === ANY || item === name;
}

function pathOf(line: string): string {
  return line.slice(0, line.indexOf(": "));
}

export function isGood({ unlisted, severe, stale }: Verdict): boolean {
  return unlisted.length + severe.length + stale.length === 0;
}

/** What is wrong, for a person to read; empty when all is well. */
export function complaints({ unlisted, severe, stale }: Verdict): string {
  const lines = [
    ...[...new Set([...unlisted, ...severe])].flatMap((one) => [one.item, ...one.lines.map((line) => `    ${line}`)]),
    ...stale.map(({ item }) => `${item}: is listed, and no longer differs`),
  ];
  return lines.join("\n");
}
