import type { TraceEvent } from "../trace/events.js";
import type { TraceGraph } from "../trace/graph.js";
import { versionOf } from "../trace/scope.js";
import { isRecord } from "../util/records.js";
import { objectOf, partsOf } from "./object-path.js";
import { factWith, lastFactWith } from "./printed.js";
import type { CommandResult } from "./runner.js";

/** What a check looked at, so that the fact behind it can be found. */
export type Sight =
  /** a version of an object, see `versionOf`, and what the check read in it: `status.phase = Running` */
  | { readonly version: string; readonly shows?: string }
  /** an object that is gone: `pods default/web` */
  | { readonly gone: string }
  /** objects that may have gone: `pods default/` */
  | { readonly goneFrom: string }
  /** a pattern in what a command printed */
  | { readonly pattern: string; readonly facts: () => readonly TraceEvent[] }
  | Meanwhile
  /** the lab's author names the fact */
  | { readonly because: string };

/** What the cluster reported while a user's program ran, and the line that the program printed of it. */
interface Meanwhile {
  readonly meanwhile: () => readonly TraceEvent[];
  readonly shows: string;
}

/** A longer value would hide the fact. */
const MAX_VALUE = 160;

/** @param field what the check read in the object, and found */
export function sightOf(object: unknown, field?: string, value?: unknown): readonly Sight[] {
  const version = versionOf(object);
  if (version === undefined) return [];
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return [field === undefined || text === undefined ? { version } : { version, shows: `${field} = ${inShort(text)}` }];
}

function inShort(text: string): string {
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}...` : text;
}

/** @param path of an object: `/api/v1/namespaces/default/pods/web` */
export function sightOfNothing(path: string): readonly Sight[] {
  const parts = partsOf(path);
  return parts.name === undefined ? [] : [{ gone: objectOf(parts) }];
}

/**
 * @param path of a list
 * @param counted the items that a check counts. If there are none, the others and those that are gone made it so.
 */
export function sightOfList(path: string, counted: readonly unknown[], items: readonly unknown[]): readonly Sight[] {
  if (counted.length > 0) return counted.flatMap((item) => sightOf(item));
  return [...items.flatMap((item) => sightOf(item)), { goneFrom: objectOf(partsOf(path)) }];
}

/**
 * What a command has printed, or looked at.
 * @param pattern what was found in it; undefined: its exit code counts
 * @param prints the line that the learner has not seen yet
 */
export function sightOfCommand({ facts, meanwhile }: CommandResult, pattern?: string, prints = ""): readonly Sight[] {
  if (facts !== undefined) return pattern === undefined ? [] : [{ pattern, facts }];
  return meanwhile === undefined ? [] : [{ meanwhile, shows: inShort(prints) }];
}

/**
 * The fact behind a sight: what stored the version that the check saw, the deletion, the first fact whose line has the text, the
 * last one that the author means, or what the API server did for a program.
 * @returns undefined if it is not known
 */
export function factOf(sight: Sight, graph: TraceGraph): TraceEvent | undefined {
  if ("version" in sight) return graph.causeOf({ causedBy: sight.version });
  if ("gone" in sight) return lastDeletion(graph, (subject) => subject === sight.gone);
  if ("goneFrom" in sight) return lastDeletion(graph, (subject) => subject.startsWith(sight.goneFrom));
  if ("meanwhile" in sight) return answered(graph, sight);
  if ("because" in sight) return lastFactWith(sight.because, graph.events);
  return factWith(sight.pattern, sight.facts());
}

/**
 * What the API server's answers to kubectl rest on: what it decided about the last request, the last change of what it let
 * kubectl read (of the objects that the shown line names, if it names any), or else the request.
 */
function answered(graph: TraceGraph, { meanwhile, shows }: Meanwhile): TraceEvent | undefined {
  const requests = meanwhile().flatMap((one) => (one.kind === "request" && isOfKubectl(one) ? [one] : []));
  const request = requests.at(-1);
  if (request === undefined) return undefined;
  const decided = graph
    .effectsOf(request)
    .findLast((one) => one.kind === "decision" && (one.upstream === undefined || DECIDING.has(one.upstream.func)));
  if (decided !== undefined && !isAllowed(decided)) return decided;
  if ((request.status ?? 0) >= 400 || request.method !== "GET") return request;
  const read = requests.flatMap(({ method, responseBody }) => (method === "GET" ? objectsIn(responseBody) : []));
  const named = read.filter(
    ({ metadata }) => metadata?.name !== undefined && shows.split(/[\s/]+/).includes(metadata.name),
  );
  const writes = (named.length > 0 ? named : read).flatMap(
    (object) => graph.causeOf({ causedBy: versionOf(object) ?? "" }) ?? [],
  );
  return writes.toSorted((a, b) => b.atMs - a.atMs)[0] ?? request;
}

interface Read {
  readonly metadata?: { readonly name?: string };
}

/** An object, the items of a list, or the objects of a table's rows. */
function objectsIn(body: unknown): readonly Read[] {
  if (!isRecord(body)) return [];
  const { items, rows } = body;
  if (Array.isArray(items)) return items;
  return Array.isArray(rows) ? rows.flatMap((row) => (isRecord(row) ? ((row["object"] as Read) ?? []) : [])) : [body];
}

/** Every request that is answered was allowed: that explains nothing. */
export function isAllowed(one: TraceEvent): boolean {
  return one.kind === "decision" && one.upstream?.func === "WithAuthorization" && one.what.startsWith("allow ");
}

export function isOfKubectl(one: TraceEvent): boolean {
  return one.kind === "request" && /\(kubectl\b/.test(one.identity ?? "");
}

/** Stages of a request that can refuse it. */
const DECIDING = new Set([
  "WithAuthentication",
  "WithImpersonation",
  "WithAuthorization",
  "chainAdmissionHandler.Admit",
  "chainAdmissionHandler.Validate",
]);

function lastDeletion(graph: TraceGraph, isMeant: (subject: string) => boolean): TraceEvent | undefined {
  return graph.events.findLast((one) => one.kind === "state" && one.what === "deleted" && isMeant(one.subject));
}
