import { ACTORS, type TraceEvent } from "../events.js";
import { startMs, type TraceGraph } from "../graph/graph.js";
import { stepEnds } from "../graph/step-ends.js";
import { nameOf } from "./name.js";

/** A slice of a thread, in microseconds. */
interface Slice {
  readonly event: TraceEvent;
  readonly ts: number;
  readonly dur: number;
}

interface Placed extends Slice {
  readonly pid: number;
  readonly tid: number;
}

/** Chrome draws an arrow only between slices of its own category. */
const CATEGORY = "kubelab";

/** Slices of one thread cannot overlap, so concurrent slices of an actor are put on several threads. */
const MAX_LANES = 100;

/**
 * Chrome's trace event format, which Perfetto shows: a process for each actor, threads for its instances, a slice for each fact, and
 * an arrow (a flow) from each cause to its effects. Bodies are left out.
 *
 * Facts have times in milliseconds. Facts of the same millisecond are placed one microsecond apart, in their order.
 */
export function* chromeTrace(graph: TraceGraph): Generator<string> {
  const placed = new Map(placeSlices(slicesOf(graph)).map((slice) => [slice.event, slice]));
  yield '{"displayTimeUnit":"ms","traceEvents":[';
  let separator = "\n";
  const line = (value: unknown) => {
    const text = `${separator}${JSON.stringify(value)}`;
    separator = ",\n";
    return text;
  };
  for (const value of names(placed.values())) yield line(value);
  for (const slice of placed.values()) {
    const { event, ts, dur, pid, tid } = slice;
    yield line({ ph: "X", name: nameOf(event), cat: CATEGORY, ts, dur, pid, tid, args: argumentsOf(event) });
    const cause = graph.causeOf(event);
    const from = cause === undefined ? undefined : placed.get(cause);
    if (from === undefined) continue;
    const flow = { name: "caused", cat: CATEGORY, id: event.id };
    yield line({ ph: "s", ...flow, ts: from.ts, pid: from.pid, tid: from.tid });
    yield line({ ph: "f", bp: "e", ...flow, ts, pid, tid });
  }
  yield "\n]}\n";
}

/** Every slice begins at a time of its own, so that an arrow belongs to one slice. */
function slicesOf(graph: TraceGraph): Slice[] {
  const ends = stepEnds(graph);
  const sameMs = new Map<number, number>();
  const slices = graph.inOrder().map((event) => {
    const ms = startMs(event);
    const nth = sameMs.get(ms) ?? 0;
    sameMs.set(ms, nth + 1);
    const ts = Math.round(ms * 1000) + nth;
    return { event, ts, dur: Math.max(1, Math.round((ends.get(event) ?? event.atMs) * 1000) - ts) };
  });
  return slices.sort((a, b) => a.ts - b.ts);
}

/** Puts each slice on the first thread of its actor and instance where it is inside or after the slices there. */
function placeSlices(slices: readonly Slice[]): Placed[] {
  const threads = new Map<string, Lanes>();
  return slices.map((slice) => {
    const { event, ts, dur } = slice;
    const key = `${event.actor} ${event.instance ?? ""}`;
    const lanes = threads.get(key) ?? new Lanes(1 + threads.size * MAX_LANES);
    threads.set(key, lanes);
    const { lane, end } = lanes.place(ts, ts + dur);
    return { event, ts, dur: end - ts, pid: 1 + ACTORS.indexOf(event.actor), tid: lanes.firstTid + lane };
  });
}

/** The ends of the slices that are open in each lane, the innermost last. */
class Lanes {
  readonly #lanes: number[][] = [];

  constructor(readonly firstTid: number) {}

  /** Expects slices sorted by their start. If too many slices overlap, the last lane shows only their beginnings. */
  place(start: number, end: number): { readonly lane: number; readonly end: number } {
    const found = this.#lanes.findIndex((open) => {
      while (open.length > 0 && (open.at(-1) ?? 0) <= start) open.pop();
      return open.length === 0 || end <= (open.at(-1) ?? 0);
    });
    if (found !== -1) this.#lanes[found]?.push(end);
    else if (this.#lanes.length < MAX_LANES) this.#lanes.push([end]);
    else return { lane: MAX_LANES - 1, end: start + 1 };
    return { lane: found === -1 ? this.#lanes.length - 1 : found, end };
  }
}

function* names(slices: Iterable<Placed>): Generator<unknown> {
  const seen = new Set<number>();
  for (const { event, pid, tid } of slices) {
    if (!seen.has(-pid)) {
      yield { ph: "M", name: "process_name", pid, args: { name: event.actor } };
      yield { ph: "M", name: "process_sort_index", pid, args: { sort_index: pid } };
    }
    if (!seen.has(tid)) {
      const lane = ((tid - 1) % MAX_LANES) + 1;
      const name = `${event.instance ?? event.actor}${lane === 1 ? "" : ` (${lane})`}`;
      yield { ph: "M", name: "thread_name", pid, tid, args: { name } };
      yield { ph: "M", name: "thread_sort_index", pid, tid, args: { sort_index: tid } };
    }
    seen.add(-pid).add(tid);
  }
}

function argumentsOf(event: TraceEvent): Record<string, unknown> {
  const { atMs: _atMs, actor: _actor, ...rest } = event;
  return { ...rest, ...(event.kind === "request" || event.kind === "rpc" ? WITHOUT_BODIES : {}) };
}

/** JSON.stringify leaves undefined out. */
const WITHOUT_BODIES = { requestBody: undefined, responseBody: undefined };
