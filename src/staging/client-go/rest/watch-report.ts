import type { WatchFact } from "../../../trace/events.js";
import { versionOf } from "../../../trace/scope.js";
import type { Cause, EmitOptions, Trace } from "../../../trace/trace.js";
import { defined } from "../../../util/defined.js";
import type { KubeObject } from "../../apimachinery/api/meta.js";
import { keyOf } from "../../apimachinery/api/object-key.js";
import type { ReceivedEvent } from "./client.js";

/**
 * Reports that a watch event reached a client. Its cause is the version of the object: the change that made this version, or the
 * deletion, whose version the event of a deleted object has.
 * @returns the cause for consequences of the event
 */
export function reportWatchEvent(
  trace: Trace,
  { type, resource, object }: Pick<WatchFact, "type" | "resource"> & { readonly object: KubeObject },
  receiver: Pick<EmitOptions, "actor" | "instance">,
): Cause {
  const key = keyOf(object);
  const pod = resource === "pods" ? key : undefined;
  const emit = () => trace.emit({ kind: "watch", type, resource, object: key }, receiver);
  return { causedBy: trace.because({ causedBy: versionOf(object), pod }, emit).id, pod };
}

/** The event with the id of its fact. Bookmarks and errors concern no object. */
export function withCause<T extends KubeObject>(
  { trace, actor, instance }: Pick<EmitOptions, "actor" | "instance"> & { readonly trace: Trace },
  path: string,
  event: ReceivedEvent<T>,
): ReceivedEvent<T> {
  const { type, object } = event;
  if (type === "BOOKMARK" || type === "ERROR") return event;
  const resource = path.slice(path.lastIndexOf("/") + 1);
  const receiver = { actor, ...defined({ instance }) };
  return { ...event, ...defined(reportWatchEvent(trace, { type, resource, object }, receiver)) };
}
