import { type Difference, isSevere, type TopicResult } from "./compare.js";
import { KNOWN_DIFFERENCES, type KnownDifference } from "./differences.js";

/** A topic's differences, compared with the list of known ones. */
export interface Verdict {
  readonly topic: string;
  readonly itemCount: number;
  readonly listed: readonly Difference[];
  readonly unlisted: readonly Difference[];
  /** in a status code, a reason, or a watch event of a served resource, whether listed or not */
  readonly severe: readonly Difference[];
  /** listed, but no longer different */
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

/** The problems, for a person to read; empty if there are none. */
export function complaints({ unlisted, severe, stale }: Verdict): string {
  const lines = [
    ...[...new Set([...unlisted, ...severe])].flatMap((one) => [one.item, ...one.lines.map((line) => `    ${line}`)]),
    ...stale.map(({ item }) => `${item}: is listed, and no longer differs`),
  ];
  return lines.join("\n");
}
