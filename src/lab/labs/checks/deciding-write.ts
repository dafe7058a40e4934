import type { TraceEvent } from "../../../trace/events.js";
import type { TraceGraph } from "../../../trace/graph/graph.js";
import { versionOf } from "../../../trace/scope.js";
import { isRecord } from "../../../util/records.js";

/**
 * Finds the write of an object since which a condition holds up to a version, by the answers to the writes.
 * @param version see `versionOf`
 * @param holds whether an object meets the condition
 * @returns the write of the version itself if earlier writes are unknown; undefined if that is unknown, too
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
  let later: unknown;
  for (const write of writes.slice(0, writes.findIndex(({ id }) => id === last?.id) + 1).reverse()) {
    const request = graph.causeOf(write);
    const body = request?.kind === "request" ? request.responseBody : undefined;
    if (versionOf(body) !== write.version) {
      // A binding is answered without the pod.
      const isBinding = request?.kind === "request" && request.path.endsWith("/binding");
      if (!isBinding || later === undefined || holds(unbound(later))) continue;
      return write;
    }
    if (!holds(body)) break;
    setter = write;
    later = body;
  }
  return setter;
}

/** A pod without what a binding sets. */
function unbound(pod: unknown): unknown {
  return isRecord(pod) && isRecord(pod["spec"]) ? { ...pod, spec: { ...pod["spec"], nodeName: undefined } } : pod;
}
