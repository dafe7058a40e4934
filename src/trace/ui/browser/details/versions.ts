import { type Bodies, parseBodies } from "../../facts.js";
import type { Step } from "../step.js";
import type { Story } from "../story.js";

interface KubernetesObject {
  readonly kind?: string;
  readonly metadata?: { readonly uid?: string; readonly resourceVersion?: string; readonly name?: string };
}

/** An object as a request left it, and as the trace last saw it before. */
export interface TwoVersions {
  readonly before: KubernetesObject;
  readonly after: KubernetesObject;
}

/**
 * The object that a request wrote, with its former version, if the trace has both. Only bodies that mention the object are parsed.
 */
export function versionsAround(story: Story, step: Step): TwoVersions | undefined {
  const { event } = step;
  if (event.kind !== "request" || event.method === "GET") return undefined;
  const after = objectIn(parseBodies(step.bodies));
  const uid = after?.metadata?.uid;
  if (after === undefined || uid === undefined) return undefined;
  for (let at = story.steps.indexOf(step) - 1; at >= 0; at--) {
    const other = story.steps[at];
    if (other?.bodies === undefined || other.event.atMs > event.atMs || !other.bodies.includes(uid)) continue;
    const before = findObject(parseBodies(other.bodies).responseBody, uid);
    if (before === undefined) continue;
    return before.metadata?.resourceVersion === after.metadata?.resourceVersion ? undefined : { before, after };
  }
  return undefined;
}

function objectIn({ responseBody }: Bodies): KubernetesObject | undefined {
  return typeof responseBody === "object" && responseBody !== null ? responseBody : undefined;
}

/** The object itself, or an item of a list. */
function findObject(body: unknown, uid: string): KubernetesObject | undefined {
  const object = objectIn({ responseBody: body }) as
    | (KubernetesObject & { items?: readonly KubernetesObject[] })
    | undefined;
  if (object?.metadata?.uid === uid && object.metadata.resourceVersion !== undefined) return object;
  return object?.items?.find?.((item) => item?.metadata?.uid === uid);
}
