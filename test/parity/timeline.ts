/**
 * Timelines of the recorder (node-lifecycle.json) in a form that two runs can compare: simultaneous actions of several
 * controllers and watches have no reproducible order.
 */
import { isRecord } from "../../src/util/records.js";

interface Entry {
  /** seconds since the last mark that starts with `T0:` */
  readonly t: number;
  /** an action of the recorder */
  readonly mark?: string;
  /** a watch event: its type, `Node/lc-a`, and what changed (path: [before, after]), all of it, or the event */
  readonly watch?: string;
  readonly object?: string;
  readonly changed?: Readonly<Record<string, unknown>>;
  readonly event?: Readonly<Record<string, unknown>>;
  readonly full?: unknown;
}

/** A time that can be this much earlier or later. */
export interface Moment {
  readonly seconds: number;
  readonly within: number;
}

export function isMoment(value: unknown): value is Moment {
  return isRecord(value) && "within" in value;
}

export function isSameMoment(a: Moment, b: Moment): boolean {
  return Math.abs(a.seconds - b.seconds) <= Math.max(a.within, b.within);
}

/** Controllers write one after another, within milliseconds. */
const INSTANT_SECONDS = 0.5;
/** The node lifecycle controller runs every 5 s, at a random phase. */
const MONITOR_SECONDS = 5.5;
/** Pod GC runs every 20 s, and only handles nodes that were missing 40 s before. */
const POD_GC_SECONDS = 20.5;

export function comparableTimeline(timeline: readonly unknown[]): unknown[] {
  const segments: Entry[][] = [[]];
  for (const entry of behindTheirMarks(timeline as readonly Entry[])) {
    if (entry.mark !== undefined) segments.push([]);
    segments.at(-1)?.push(entry);
  }
  let isNodeGone = false;
  return segments.flatMap((entries) => {
    const { mark = "" } = entries[0] ?? {};
    if (mark.startsWith("T0:")) isNodeGone = mark.includes("admin deletes node");
    return bySubject(entries.flatMap(oneThingEach)).map((entry) => comparable(entry, isNodeGone));
  });
}

/** An action of the recorder and its mark race for the timeline; here the mark comes first. */
function behindTheirMarks(entries: readonly Entry[]): Entry[] {
  const result = [...entries];
  for (let i = 1; i < result.length; i++) {
    const mark = result[i] as Entry;
    const start = mark.mark === undefined ? -1 : beginOfInstant(result, i - 1);
    if (start < 0) continue;
    const late = result.slice(start, i).map((entry) => ({ ...entry, t: mark.t }));
    result.splice(start, late.length + 1, mark, ...late);
  }
  return result;
}

/** The start of the recorder's action that ends at `end`; -1 if it already has its mark, or is not the recorder's. */
function beginOfInstant(entries: readonly Entry[], end: number): number {
  const last = entries[end] as Entry;
  for (let i = end; i >= 1; i--) {
    const entry = entries[i] as Entry;
    if (entry.object !== last.object || last.t - entry.t > INSTANT_SECONDS) return -1;
    const before = entries[i - 1] as Entry;
    if (isRecorders(entry)) return before.mark !== undefined && entry.t - before.t <= INSTANT_SECONDS ? -1 : i;
  }
  return -1;
}

/** Only node clients and cordon commands write this field; controllers do not. */
function isRecorders({ object, watch, changed = {} }: Entry): boolean {
  if (object?.startsWith("Node/") !== true) return false;
  return watch === "ADDED" || Object.keys(changed).some((path) => /lastHeartbeatTime$|unschedulable$/.test(path));
}

/** A write with several changes becomes one entry for each: another run can need several writes. */
function oneThingEach(entry: Entry): Entry[] {
  if (entry.changed === undefined) return [entry];
  const things = new Map<string, Record<string, unknown>>();
  for (const [path, change] of Object.entries(entry.changed)) {
    // An empty spec appears and disappears with its contents.
    if (path === "/spec") continue;
    things.set(thingOf(path), { ...things.get(thingOf(path)), [path]: change });
  }
  return [...things.values()].map((changed) => ({ ...entry, changed }));
}

/** `/spec/taints/node.kubernetes.io/not-ready:NoSchedule`, `/status/conditions`, `/metadata/annotations` */
function thingOf(path: string): string {
  const taint = /^\/spec\/taints\/.*:[A-Za-z]+(?=\/)/.exec(path)?.[0];
  return taint ?? path.replace(/s\/0$/, "").split("/").slice(0, 3).join("/");
}

/** The changes of each subject in order, one subject after another; events, which have no order, sorted by their text. */
function bySubject(entries: readonly Entry[]): Entry[] {
  const key = ({ mark, object, event, changed = {} }: Entry) => {
    if (mark !== undefined) return "";
    if (event !== undefined)
      return `Event ${JSON.stringify([event["reason"], event["message"], event["involvedObject"]])}`;
    return `${object} ${thingOf(Object.keys(changed)[0] ?? "")}`;
  };
  return [...entries].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

function comparable({ t, mark, ...rest }: Entry, isNodeGone: boolean): unknown {
  return {
    ...rest,
    t: { seconds: t, within: isNodeGone ? POD_GC_SECONDS : MONITOR_SECONDS } satisfies Moment,
    ...(mark === undefined ? {} : { mark: mark.replace(/gone \d+\.\d s/, "gone <n> s") }),
  };
}
