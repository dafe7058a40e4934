import { readFileSync } from "node:fs";
import { expect } from "vitest";
import type { Change } from "./fake-cluster.js";

export interface RecordedEntry {
  readonly t: number;
  readonly mark?: string;
  readonly watch?: string;
  readonly object?: string;
  readonly changed?: Record<string, readonly [unknown, unknown]>;
  readonly event?: {
    readonly type: string;
    readonly reason: string;
    readonly message: string;
    readonly source: { component: string };
    readonly count: number;
  };
}

export interface Entry {
  readonly t: number;
  /** the change, without times */
  readonly what: string;
}

export const RECORDING = "../shared/recordings/apiserver-v1.25/node-lifecycle.json";

export function recordedTimeline(name: string, fromMark: string, toMark: string | undefined): Entry[] {
  const { items } = JSON.parse(readFileSync(RECORDING, "utf8")) as {
    items: { name: string; timeline?: RecordedEntry[] }[];
  };
  const timeline = items.find((item) => item.name.startsWith(name))?.timeline ?? [];
  const begin = timeline.findIndex(({ mark }) => mark?.includes(fromMark));
  const end = toMark === undefined ? timeline.length : timeline.findIndex(({ mark }) => mark?.includes(toMark));
  return timeline.slice(begin, end).flatMap((entry): Entry[] => {
    if (entry.event !== undefined) return [{ t: entry.t, what: eventText(entry.event) }];
    if (entry.watch === "DELETED") return [{ t: entry.t, what: `${entry.object} gone` }];
    if (entry.changed === undefined) return [];
    return changesText(entry.t, entry.object ?? "", entry.changed);
  });
}

export function eventText({ type, reason, message, source, count }: NonNullable<RecordedEntry["event"]>): string {
  return `Event ${type} ${reason} "${message}" from ${source.component} x${count}`;
}

/** Only the controllers' writes: leaves out times, heartbeats and the kubelet's messages. */
export function changesText(t: number, object: string, changed: Record<string, readonly [unknown, unknown]>): Entry[] {
  const parts = Object.entries(changed)
    .filter(([path]) => !/Time$|timeAdded|deletionTimestamp|^\/spec$|metadata\/annotations$/.test(path))
    .map(([path, [before, after]]) =>
      `${path} ${before ?? "-"}>${after ?? "-"}`.replace(/10\.244\.\d+\.0/g, "10.244.N.0"),
    )
    .sort();
  const byController = parts.filter((part) =>
    /taints|podCIDR|ttl|Unknown$|posting node status|Ready\/status True>False|deletionGrace|NodeStatus/.test(part),
  );
  return byController.length === 0 ? [] : [{ t, what: `${object} ${byController.join(", ")}` }];
}

export function flatten(value: unknown, path = "", out: Record<string, unknown> = {}): Record<string, unknown> {
  if (Array.isArray(value)) {
    value.forEach((item: unknown, index) => {
      const { type, key, effect } = (typeof item === "object" && item !== null ? item : {}) as Record<
        string,
        string | undefined
      >;
      flatten(item, `${path}/${type ?? (key === undefined ? index : `${key}:${effect ?? ""}`)}`, out);
    });
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value))
      if (key !== "resourceVersion") flatten(item, `${path}/${key}`, out);
  } else out[path] = value;
  return out;
}

export function ourTimeline(changes: readonly Change[], zeroMs: number, node: string): Entry[] {
  return changes.flatMap((change): Entry[] => {
    const t = (change.atMs - zeroMs) / 1000;
    const { name = "" } = change.object.metadata;
    const { kind } = change.object;
    if (kind === "Event") {
      const about = change.object["involvedObject"] as { readonly kind: string; readonly name: string };
      if (change.type !== "ADDED" || (about.kind === "Node" && about.name !== node)) return [];
      return [{ t, what: eventText(change.object as unknown as NonNullable<RecordedEntry["event"]>) }];
    }
    if (kind !== "Pod" && !(kind === "Node" && name === node)) return [];
    if (change.type === "DELETED") return [{ t, what: `${kind}/${name} gone` }];
    if (change.type === "ADDED") return [];
    const [before, after] = [flatten(change.previous), flatten(change.object)];
    const changed: Record<string, readonly [unknown, unknown]> = {};
    for (const path of new Set([...Object.keys(before), ...Object.keys(after)])) {
      if (before[path] !== after[path]) changed[path] = [before[path] ?? null, after[path] ?? null];
    }
    return changesText(t, `${kind}/${name}`, changed);
  });
}

/**
 * Asserts that every recorded entry has an equal entry of ours within `toleranceSeconds`, and that we have no others.
 */
export function expectSameTimetable(ours: readonly Entry[], recorded: readonly Entry[], toleranceSeconds = 0.5): void {
  expect(recorded.length).toBeGreaterThan(0);
  const left = [...ours];
  const missing: string[] = [];
  for (const entry of recorded) {
    const index = left.findIndex(({ t, what }) => what === entry.what && Math.abs(t - entry.t) <= toleranceSeconds);
    if (index < 0) missing.push(`${entry.t} ${entry.what}`);
    else left.splice(index, 1);
  }
  expect({ missing, extra: left.map(({ t, what }) => `${t} ${what}`) }).toEqual({ missing: [], extra: [] });
}
