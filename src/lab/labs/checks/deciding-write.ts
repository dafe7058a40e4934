import type { TraceEvent } from "../../../trace/events.js";
import type { TraceGraph } from "../../../trace/graph/graph.js";
import { versionOf } from "../../../trace/scope.js";

/**
 * Of the writes of an object up to a version, the first since which something holds, as far as the answers to the writes tell.
 * @param version see `versionOf`
 * @param holds whether an object has what was seen in this version
 * @returns what wrote the version itself if nothing is known of the writes before it; undefined if that is not known either
 */
export function decidingWriteOf(
  graph: TraceGraph,
  version: string,
  holds: (object: unknown) => boolean,
): TraceEvent | undefined {
  const last = graph.causeOf({ causedBy: version });
  const object = version.slice(0, version.lastIndexOf("@") + 1);
  const writes = graph.events.flatMap((one) =>
    one.kind === "state" && one.version?.startsWith(object) === true ? [one] : [],
  );
  let setter = last;
  for (const write of writes.slice(0, writes.findIndex(({ id }) => id === last?.id) + 1).reverse()) {
    const request = graph.causeOf(write);
    const body = request?.kind === "request" ? request.responseBody : undefined;
    // A binding is answered without the pod.
    if (versionOf(body) !== write.version) continue;
    if (!holds(body)) break;
    setter = write;
  }
  return setter;
}
