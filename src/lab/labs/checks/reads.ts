import type { TraceEvent } from "../../../trace/events.js";
import { objectOf, partsOf } from "../format/object-path.js";
import type { Check, LeafCheck } from "../format/schema.js";

/** What a check reads. */
export interface Reads {
  /** of objects and lists in the API */
  readonly paths: readonly string[];
  /** in the lab's folder */
  readonly files: readonly string[];
  /** the names of commands and nodes whose output or end it looks at */
  readonly outputs: readonly string[];
  /** command lines, which can read anything */
  readonly commands: readonly string[];
}

/** Pure. */
export function readsOf(check: Check): Reads {
  const leaves = leavesOf(check);
  return {
    paths: leaves.flatMap((leaf) => ("object" in leaf ? [leaf.object] : "list" in leaf ? [leaf.list] : [])),
    files: leaves.flatMap((leaf) => ("file" in leaf ? [leaf.file] : [])),
    outputs: leaves.flatMap((leaf) =>
      "output" in leaf ? [leaf.output] : "exit" in leaf && !("command" in leaf) ? [leaf.exit] : [],
    ),
    commands: leaves.flatMap((leaf) => ("command" in leaf ? [leaf.command] : [])),
  };
}

function leavesOf(check: Check): readonly LeafCheck[] {
  if ("all" in check) return check.all.flatMap(leavesOf);
  if ("any" in check) return check.any.flatMap(leavesOf);
  return "not" in check ? leavesOf(check.not) : [check];
}

/**
 * Whether a fact can change what a check reads. `sure`: an object was written, which no check does. `maybe`: the cluster did
 * something, possibly because the check's own command asked it to. Pure.
 */
export function touches(
  { kind, actor, level, instance, ...fact }: TraceEvent,
  { paths, outputs, commands }: Reads,
): "sure" | "maybe" | undefined {
  if (actor === "apiserver" && kind === "state" && "version" in fact) {
    const { subject } = fact as { readonly subject: string };
    if (paths.some((path) => isBehind(subject, path))) return "sure";
    // Each node renews its Lease all the time.
    const isNews = commands.some((line) => !subject.startsWith("leases ") || line.includes("lease"));
    return isNews ? "sure" : undefined;
  }
  if (outputs.includes(instance ?? "")) return "maybe";
  return commands.length > 0 && actor !== "user" && level <= 1 ? "maybe" : undefined;
}

/** @param subject `pods default/web` */
function isBehind(subject: string, path: string): boolean {
  // `/version`, `/healthz`
  if (!/^\/apis?\//.test(path)) return true;
  const parts = partsOf(path);
  const meant = objectOf(parts);
  return parts.name === undefined ? subject.startsWith(meant) : subject === meant;
}
