import { isDeepStrictEqual } from "node:util";
import type { TraceEvent } from "../../../trace/events.js";
import type { TraceGraph } from "../../../trace/graph/graph.js";
import { versionOf } from "../../../trace/scope.js";
import type { CommandResult } from "../environment/runner.js";
import { fieldOf } from "../format/field.js";
import { objectOf, partsOf } from "../format/object-path.js";
import { factsOfAnswer } from "./answers.js";
import { decidingWriteOf } from "./deciding-write.js";
import { factWith, lastFactWith } from "./output.js";

/** The object or output that a check read, from which the fact behind it is found. */
export type Observation =
  /** a version of an object, see `versionOf` */
  | { readonly version: string }
  | FieldSight
  /** an object that is gone: `pods default/web` */
  | { readonly gone: string }
  /** objects that may have gone: `pods default/` */
  | { readonly goneFrom: string }
  /** a pattern in a command's output */
  | { readonly pattern: string; readonly facts: () => readonly TraceEvent[] }
  | Meanwhile
  /** the lab's author names the fact */
  | { readonly because: string };

/** A field that the check read in a version of an object. */
interface FieldSight {
  readonly version: string;
  readonly field: string;
  readonly value: unknown;
  /** `status.phase = Running` */
  readonly shows: string;
}

/** The cluster's facts while a user's program ran, and the line that the program printed. */
interface Meanwhile {
  readonly meanwhile: () => readonly TraceEvent[];
  readonly prints: string;
}

/** A longer value would hide the fact. */
const MAX_VALUE = 160;

/** @param field the path that the check read, and its value */
export function observationOf(object: unknown, field?: string, value?: unknown): readonly Observation[] {
  const version = versionOf(object);
  if (version === undefined) return [];
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (field === undefined || text === undefined) return [{ version }];
  return [{ version, field, value, shows: `${field} = ${inShort(text.trim())}` }];
}

function inShort(text: string): string {
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}...` : text;
}

/** @param path of an object: `/api/v1/namespaces/default/pods/web` */
export function observationOfNothing(path: string): readonly Observation[] {
  const parts = partsOf(path);
  return parts.name === undefined ? [] : [{ gone: objectOf(parts) }];
}

/**
 * @param path of a list
 * @param field by which its items were chosen; "": all of them
 * @param counted the items that a check counts. If there are none, the other and the deleted items decided.
 */
export function observationOfList(
  path: string,
  field: string,
  counted: readonly unknown[],
  items: readonly unknown[],
): readonly Observation[] {
  const seen = (item: unknown) =>
    field === "" ? observationOf(item) : observationOf(item, field, fieldOf(item, field));
  if (counted.length > 0) return counted.flatMap(seen);
  return [...items.flatMap(seen), { goneFrom: objectOf(partsOf(path)) }];
}

/**
 * The output of a command, or the objects that it read.
 * @param pattern the match; undefined: its exit code counts
 * @param prints a line that the learner has not seen yet
 */
export function observationOfCommand(
  { facts, meanwhile }: CommandResult,
  pattern?: string,
  prints = "",
): readonly Observation[] {
  if (facts !== undefined) return pattern === undefined ? [] : [{ pattern, facts }];
  return meanwhile === undefined ? [] : [{ meanwhile, prints }];
}

/**
 * The facts behind an observation: the write of the version that the check saw or of its field's value, the deletion, the first fact whose
 * line has the text, the last one that the author means, or the API server's facts about a program.
 * @returns an empty list if they are unknown
 */
export function factsOf(observation: Observation, graph: TraceGraph): readonly TraceEvent[] {
  if ("meanwhile" in observation) return factsOfAnswer(graph, observation.meanwhile(), observation.prints);
  const fact = factOf(observation, graph);
  return fact === undefined ? [] : [fact];
}

function factOf(observation: Exclude<Observation, Meanwhile>, graph: TraceGraph): TraceEvent | undefined {
  if ("field" in observation) {
    const { version, field, value } = observation;
    return decidingWriteOf(graph, version, (object) => isDeepStrictEqual(fieldOf(object, field), value));
  }
  if ("version" in observation) return graph.causeOf({ causedBy: observation.version });
  if ("gone" in observation) return lastDeletion(graph, (subject) => subject === observation.gone);
  if ("goneFrom" in observation) return lastDeletion(graph, (subject) => subject.startsWith(observation.goneFrom));
  if ("because" in observation) return lastFactWith(observation.because, graph.events);
  return factWith(observation.pattern, observation.facts());
}

function lastDeletion(graph: TraceGraph, isMeant: (subject: string) => boolean): TraceEvent | undefined {
  return graph.events.findLast((one) => one.kind === "state" && one.what === "deleted" && isMeant(one.subject));
}
