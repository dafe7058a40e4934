import type { TraceEvent } from "../../../trace/events.js";
import type { TraceGraph } from "../../../trace/graph/graph.js";
import { versionOf } from "../../../trace/scope.js";
import { isRecord } from "../../../util/records.js";
import { decidingWriteOf } from "./deciding-write.js";

type Request = TraceEvent & { kind: "request" };

/** More would hide the deciding ones. */
const MAX_READ = 3;

/**
 * The facts behind the API server's answers to kubectl: its decision about the last request; or the last changes of the
 * objects that kubectl read and `line` is about; or else the request.
 * @param happened the cluster's facts while kubectl ran
 * @param line the printed line; "": only the exit code counts
 */
export function factsOfAnswer(graph: TraceGraph, happened: readonly TraceEvent[], line: string): readonly TraceEvent[] {
  const requests = happened.flatMap((one) => (one.kind === "request" && isOfKubectl(one) ? [one] : []));
  const request = requests.at(-1);
  if (request === undefined) return [];
  const decided = graph
    .effectsOf(request)
    .findLast((one) => one.kind === "decision" && (one.upstream === undefined || DECIDING.has(one.upstream.func)));
  if (decided !== undefined && !isAllowed(decided)) return [decided];
  if ((request.status ?? 0) >= 400 || request.method !== "GET") return [request];
  const reads = requests.filter(({ method }) => method === "GET");
  const writes =
    line === "" ? reads.flatMap((one) => lastWrite(graph, readIn(one)) ?? []) : written(graph, reads, line);
  return writes.length === 0 ? [request] : [...new Set(writes)].slice(-MAX_READ);
}

/**
 * The facts that gave the best matching objects the words of the line. If the last answer is not an object, such as a
 * log, it is the line itself.
 */
function written(graph: TraceGraph, reads: readonly Request[], line: string): readonly TraceEvent[] {
  const words = new Set(line.split(/[^\w.-]+/).filter((word) => word.length >= 3));
  const scored = reads.flatMap(readIn).map((read) => ({ read, score: wordsIn(read, words) }));
  const most = Math.max(0, ...scored.map(({ score }) => score));
  if (most === 0 && readIn(reads.at(-1)).length === 0) return [];
  const meant = scored.filter(({ score }) => score === most).map(({ read }) => read);
  const hasWords = (object: unknown) => wordsIn({ object }, words) >= most;
  return lastWrite(graph, meant, (version) => decidingWriteOf(graph, version, hasWords)) ?? [];
}

function wordsIn(read: Read, words: ReadonlySet<string>): number {
  const text = JSON.stringify(read);
  let count = 0;
  for (const word of words) if (text.includes(word)) count++;
  return count;
}

function lastWrite(
  graph: TraceGraph,
  reads: readonly Read[],
  writeOf = (version: string) => graph.causeOf({ causedBy: version }),
): readonly [TraceEvent] | undefined {
  const writes = reads.flatMap(({ object }) => writeOf(versionOf(object) ?? "") ?? []);
  const [last] = writes.toSorted((a, b) => b.atMs - a.atMs);
  return last === undefined ? undefined : [last];
}

/** An object that was read, with the answer's other text about it. */
interface Read {
  readonly object: unknown;
  readonly cells?: unknown;
}

/** An object, the items of a list, or the objects of a table's rows. */
function readIn(request: Request | undefined): readonly Read[] {
  const body = request?.responseBody;
  if (!isRecord(body)) return [];
  const { items, rows } = body;
  if (Array.isArray(items)) return items.map((object) => ({ object }));
  if (!Array.isArray(rows)) return "metadata" in body ? [{ object: body }] : [];
  return rows.flatMap((row) => (isRecord(row) ? [{ object: row["object"], cells: row["cells"] }] : []));
}

/** Every answered request was allowed, so that fact explains nothing. */
export function isAllowed(one: TraceEvent): boolean {
  return one.kind === "decision" && one.upstream?.func === "WithAuthorization" && one.what.startsWith("allow ");
}

export function isOfKubectl(one: TraceEvent): boolean {
  return one.kind === "request" && /\(kubectl\b/.test(one.identity ?? "");
}

/** The stages of a request that can refuse it. */
const DECIDING = new Set([
  "WithAuthentication",
  "WithImpersonation",
  "WithAuthorization",
  "chainAdmissionHandler.Admit",
  "chainAdmissionHandler.Validate",
]);
