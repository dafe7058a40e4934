import { LabError } from "../errors.js";
import type { ReleaseFact } from "./fact.js";
import { FACTS } from "./fact-table.js";

/** The releases that `--kube-version` accepts. */
export const OLDEST_RELEASE = "1.25";
export const NEWEST_RELEASE = "1.34";

export type FactName = keyof typeof FACTS;

/** The type of a fact's value: a number of ms for durations, a boolean for a feature gate, ... */
export type FactValue<N extends FactName> = (typeof FACTS)[N]["values"][number]["value"];

/** A fact as a trace quotes it: structurally a `Constant` of trace/events.ts, which this wing cannot import. */
export interface QuotedFact {
  readonly name: string;
  /** with its unit: `40 s` */
  readonly value: string;
  /** `v1.25`, or `v1.32 (40 s before)` */
  readonly release: string;
}

/** The oldest kubelet that joins a cluster of `OLDEST_RELEASE`. Its constants are those of that release. */
const OLDEST_KUBELET = "1.23";

/**
 * Parses `1.32`, `v1.32` and `v1.32.5` as `1.32`.
 *
 * @throws LabError USAGE for anything else, and for releases that the table does not cover
 */
export function parseKubeVersion(text: string): string {
  return parseRelease(text, OLDEST_RELEASE);
}

/** The release of a kubelet, which can be older than any cluster here. @throws LabError USAGE as `parseKubeVersion` */
export function parseKubeletVersion(text: string): string {
  return parseRelease(text, OLDEST_KUBELET);
}

function parseRelease(text: string, oldestRelease: string): string {
  const minor = /^v?1\.(\d+)(?:\.\d+)?$/.exec(text.trim())?.[1];
  const oldest = minorOf(oldestRelease);
  const newest = minorOf(NEWEST_RELEASE);
  if (minor === undefined || Number(minor) < oldest || Number(minor) > newest) {
    throw new LabError(
      "USAGE",
      `unknown Kubernetes release ${JSON.stringify(text)}`,
      `use --kube-version ${oldestRelease} to ${NEWEST_RELEASE}`,
    );
  }
  return `1.${Number(minor)}`;
}

/** The value in a release. @param kubeVersion `1.32`, as `parseKubeVersion` returns it */
export function factFor<N extends FactName>(name: N, kubeVersion: string): FactValue<N> {
  return entryFor(name, kubeVersion).now.value as FactValue<N>;
}

/** The fact as a trace quotes it: its value, the release that introduced it, and the previous value. */
export function constantFor(name: FactName, kubeVersion: string): QuotedFact {
  const { now, before } = entryFor(name, kubeVersion);
  const release = before === undefined ? `v${now.since}` : `v${now.since} (${before.text} before)`;
  return { name: FACTS[name].name, value: now.text, release };
}

/** When a fact got its value, the one before, and the next change. */
export interface FactHistory {
  /** `v1.25` */
  readonly since: string;
  /** `40 s` */
  readonly before?: string;
  readonly next?: { readonly value: string; readonly since: string };
}

/** The changes around a release. */
export function historyOf(name: FactName, kubeVersion: string): FactHistory {
  const { now, before, next } = entryFor(name, kubeVersion);
  return {
    since: `v${now.since}`,
    ...(before === undefined ? {} : { before: before.text }),
    ...(next === undefined ? {} : { next: { value: next.text, since: `v${next.since}` } }),
  };
}

/** Several facts, in the given order. */
export function constantsFor(kubeVersion: string, ...names: readonly FactName[]): QuotedFact[] {
  return names.map((name) => constantFor(name, kubeVersion));
}

/** Whether `release` is `minimum` or newer. Both look like `1.32`. */
export function isAtLeast(kubeVersion: string, since: string): boolean {
  return minorOf(kubeVersion) >= minorOf(since);
}

/** 25 of `1.25` */
export function minorOf(release: string): number {
  return Number(release.slice(release.indexOf(".") + 1));
}

type Entry = ReleaseFact<unknown>["values"][number];

/** The entry that holds in a release, and its neighbours. */
interface Entries {
  readonly now: Entry;
  readonly before: Entry | undefined;
  readonly next: Entry | undefined;
}

function entryFor(name: FactName, kubeVersion: string): Entries {
  const values: readonly Entry[] = FACTS[name].values;
  const index = values.findLastIndex(({ since }) => isAtLeast(kubeVersion, since));
  const now = values[Math.max(0, index)];
  if (now === undefined) throw new Error(`the fact ${name} has no value`);
  return { now, before: values[index - 1], next: values[index + 1] };
}
