/**
 * Timelines of the recorder (node-lifecycle.json), as they can be compared: what several controllers and several watches
 * did in the same instant has no order that a second run would repeat.
 */
import { isFields } from "./compare.js";

interface Entry {
  /** seconds since the last mark that begins with `T0:` */
  readonly t: number;
  readonly mark?: string;
  readonly watch?: string;
  readonly object?: string;
  /** path: [before, after] */
  readonly changed?: Readonly<Record<string, readonly [unknown, unknown]>>;
  readonly event?: Readonly<Record<string, unknown>>;
  readonly full?: unknown;
}

/** A time that may come that much sooner or later. */
export interface Moment {
  readonly seconds: number;
  readonly within: number;
}

export function isMoment(value: unknown): value is Moment {
  return isFields(value) && "within" in value;
}

export function isSameMoment(a: Moment, b: Moment): boolean {
  return Math.abs(a.seconds - b.seconds) <= Math.max(a.within, b.within);
}

/** Controllers write one after the other, within milliseconds. */
const INSTANT_SECONDS = 0.5;
/** The node lifecycle controller looks every 5 s: when its turn comes is chance. */
const MONITOR_SECONDS = 5.5;
/** Pod GC looks every 20 s, and only at nodes that it saw missing 40 s before. */
const POD_GC_SECONDS = 20.5;

export function comparableTimeline(timeline: readonly unknown[]): unknown[] {
  const segments: Entry[][] = [[]];
  for (const entry of afterTheirMarks(timeline as readonly Entry[])) {
    if (entry.mark !== undefined) segments.push([]);
    segments.at(-1)?.push(entry);
  }
  return segments.flatMap((entries) => bySubject(oneChangePerInstant(entries)).map(comparable));
}

/** A write and the mark that tells of it race to the timeline: the mark goes first. */
function afterTheirMarks(entries: readonly Entry[]): Entry[] {
  const result = [...entries];
  for (let i = 1; i + 1 < result.length; i++) {
    const [before, mark, after] = result.slice(i - 1) as [Entry, Entry, Entry];
    const isSplit = before.watch === "MODIFIED" && after.watch === "MODIFIED" && before.object === after.object;
    if (mark.mark?.startsWith("T0:") === true && isSplit && after.t <= INSTANT_SECONDS) {
      result.splice(i - 1, 2, mark, { ...before, t: after.t });
    }
  }
  return result;
}

function oneChangePerInstant(entries: readonly Entry[]): Entry[] {
  const result: Entry[] = [];
  for (const entry of entries) {
    const earlier = result.findLastIndex(({ object }) => object === entry.object);
    const last = result[earlier];
    const isSame = last?.changed !== undefined && entry.changed !== undefined && entry.t - last.t <= INSTANT_SECONDS;
    if (isSame) result[earlier] = { ...last, changed: { ...last.changed, ...both(last.changed, entry.changed) } };
    else result.push(entry);
  }
  return result;
}

type Changes = NonNullable<Entry["changed"]>;

function both(first: Changes, second: Changes): Changes {
  const merged = Object.entries(second).map(([path, [before, after]]) => [
    path,
    [path in first ? first[path]?.[0] : before, after],
  ]);
  return Object.fromEntries(merged);
}

/** Each object's story in its order, one object after the other; events, which have no order, by what they say. */
function bySubject(entries: readonly Entry[]): Entry[] {
  const key = ({ mark, object, event }: Entry) => {
    if (mark !== undefined) return "";
    return event === undefined
      ? (object ?? "")
      : `Event ${JSON.stringify([event["reason"], event["message"], event["involvedObject"]])}`;
  };
  return entries.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

function comparable(entry: Entry): unknown {
  const { t, mark, changed, object, ...rest } = entry;
  const isPodGc = object?.startsWith("Pod/") === true && t > 40 && t < 70;
  return {
    ...rest,
    ...(object === undefined ? {} : { object }),
    t: { seconds: t, within: isPodGc ? POD_GC_SECONDS : MONITOR_SECONDS } satisfies Moment,
    ...(mark === undefined ? {} : { mark: mark.replace(/gone \d+\.\d s/, "gone <n> s") }),
    ...(changed === undefined ? {} : { changed: effective(changed) }),
  };
}

/** Without what an instant's writes did and undid. */
function effective(changed: Changes): Record<string, unknown> {
  const entries = Object.entries(changed).filter(
    ([, [before, after]]) => JSON.stringify(before) !== JSON.stringify(after),
  );
  return Object.fromEntries(entries);
}
