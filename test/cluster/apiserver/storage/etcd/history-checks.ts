import { expect } from "vitest";
import type { Change, RawHistory, RawState } from "./raw-history.js";

/** A write that a client has tried. */
export interface Write {
  readonly id: string;
  readonly key: string;
  readonly type: Change["type"];
  /** the revision of the version that it replaces */
  readonly before: number;
  /** its revision, or "done" if the answer has none; undefined: without an answer, so it may have been done */
  readonly acknowledged: number | "done" | "refused" | undefined;
}

/** What one watcher saw: the list it began with, and the changes after that. */
export interface Segment {
  readonly start: number;
  readonly listed: RawState | undefined;
  readonly events: Change[];
}

/** A list of the newest state. */
export interface SeenList {
  readonly revision: number;
  readonly state: RawState;
  /** the newest revision that a client knew when the list began */
  readonly after: number;
}

/** The revision up to which a watcher has come. */
export function endOf({ start, events }: Segment): number {
  return events.at(-1)?.revision ?? start;
}

/** No acknowledged write is lost, none is done twice, and none that was refused is done. */
export function checkWrites(writes: readonly Write[], history: RawHistory): void {
  const byRevision = new Map(history.changes.map((change) => [change.revision, change]));
  const ids = history.changes.flatMap(({ type, id }) => (type === "put" ? [id] : []));
  const put = new Set(ids);
  expect(put.size, "no write is done twice").toBe(ids.length);
  for (const { id, key, type, before, acknowledged } of writes) {
    if (acknowledged === undefined) continue;
    if (acknowledged === "refused") {
      if (type === "put") expect(put.has(id), `${id} was refused`).toBe(false);
      continue;
    }
    const next = () => history.changes.find((change) => change.key === key && change.revision > before);
    const change = acknowledged === "done" ? next() : byRevision.get(acknowledged);
    expect(change, `${type} ${id} of ${key} was acknowledged`).toMatchObject({ type, key });
    if (type === "put") expect(change?.id).toBe(id);
  }
  const revisions = writes.flatMap(({ acknowledged }) => (typeof acknowledged === "number" ? [acknowledged] : []));
  expect(new Set(revisions).size, "each write has a revision of its own").toBe(revisions.length);
}

/** The watcher saw each change of the keys once, in the order of their revisions. */
export function checkSegment(segment: Segment, history: RawHistory): void {
  const { start, listed, events } = segment;
  const end = endOf(segment);
  if (listed !== undefined) expect(listed, `list at ${start}`).toEqual(history.stateAt(start));
  const between = ({ revision }: Change) => revision > start && revision <= end;
  expect(events, `changes from ${start} to ${end}`).toEqual(history.changes.filter(between));
}

/** The list is the state of a revision, and not older than what was known. */
export function checkList({ revision, state, after }: SeenList, history: RawHistory, what: string): void {
  expect(revision, what).toBeGreaterThanOrEqual(after);
  expect(state, `${what}: list at ${revision}`).toEqual(history.stateAt(revision));
}
