import { type NodeObject, nodeCondition } from "../../staging/apimachinery/api/node.js";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { collectionPath, EVENTS, NODES, objectPath, PODS, withQuery } from "../../staging/client-go/rest/paths.js";
import type { Trace, TraceSink } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";

/** What time is moved for. `test` is asked after each timer. */
export interface Condition {
  test(signal: AbortSignal): Promise<boolean>;
  [Symbol.dispose](): void;
}

/** Where a condition sees facts. */
type Sinks = Pick<Trace, "addSink" | "removeSink">;

type ObjectState =
  | { readonly kind: "pod"; readonly namespace: string; readonly name: string; readonly state: string }
  | { readonly kind: "node"; readonly name: string; readonly state: string };
type Parsed =
  | ObjectState
  | { readonly kind: "event"; readonly text: string }
  | { readonly kind: "fact"; readonly text: string };

/** The state of a pod or node that is not there. */
export const DELETED = "Deleted";
const NODE_STATES = ["Ready", "NotReady", "Unknown", DELETED];
const FORMS = "pod/NAME=STATE, pod/NAMESPACE/NAME=STATE, node/NAME=STATE, event=REASON or fact=TEXT";

/** @throws LabError USAGE */
export function parseCondition(text: string): Parsed {
  const [, kind, path = "", state = ""] = /^(pod|node|event|fact)((?:\/[^/=]+)*)=(.+)$/.exec(text) ?? [];
  const names = path.split("/").slice(1);
  const [first = "", second] = names;
  if (kind === "pod" && names.length === 1) return { kind, namespace: "default", name: first, state };
  if (kind === "pod" && second !== undefined && names.length === 2)
    return { kind, namespace: first, name: second, state };
  if (kind === "node" && names.length === 1) {
    if (NODE_STATES.includes(state)) return { kind, name: first, state };
    throw new LabError("USAGE", `${state} is no state of a node`, `It is one of ${NODE_STATES.join(", ")}.`);
  }
  if ((kind === "event" || kind === "fact") && names.length === 0) return { kind, text: state };
  throw new LabError("USAGE", `${JSON.stringify(text)} is not a condition`, `Write ${FORMS}.`);
}

/** @param startMs events from then on count, Unix ms */
export function openCondition(
  text: string,
  { client, trace }: { readonly client: KubeClient; readonly trace: Sinks },
  startMs: number,
): Condition {
  const parsed = parseCondition(text);
  if (parsed.kind === "fact") return factCondition(trace, parsed.text);
  const isMet =
    parsed.kind === "event"
      ? (signal: AbortSignal) => hasEvent(client, parsed.text, startMs, signal)
      : (signal: AbortSignal) => isIn(client, parsed, signal);
  return { test: isMet, [Symbol.dispose]() {} };
}

function factCondition(trace: Sinks, text: string): Condition {
  let isSeen = false;
  const sink: TraceSink = {
    level: 4,
    write: (event) => {
      isSeen ||= JSON.stringify(event).includes(text);
    },
  };
  trace.addSink(sink);
  return { test: async () => isSeen, [Symbol.dispose]: () => trace.removeSink(sink) };
}

/** The API server's path of the object whose state a condition names. */
export function pathOfObject(parsed: ObjectState): string {
  return parsed.kind === "pod"
    ? objectPath({ ...PODS, namespace: parsed.namespace }, parsed.name)
    : objectPath(NODES, parsed.name);
}

async function isIn(client: KubeClient, parsed: ObjectState, signal: AbortSignal): Promise<boolean> {
  const { status, body } = await client.request({ method: "GET", path: pathOfObject(parsed), signal });
  if (status === 404) return parsed.state === DELETED;
  return status === 200 && isState(parsed, body);
}

/** Whether an object, as the API server answers it, has the state of a condition. */
export function isState(parsed: ObjectState, object: unknown): boolean {
  return parsed.kind === "pod"
    ? podStates(object as V1Pod).includes(parsed.state)
    : nodeState(object as NodeObject) === parsed.state;
}

/** Its phase, the reasons of its containers, and Ready. */
function podStates({ status }: V1Pod): readonly (string | undefined)[] {
  const reasons = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].flatMap(
    ({ state }) => [state?.waiting?.reason, state?.terminated?.reason],
  );
  const isReady = status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true;
  return [status.phase, status.reason, ...reasons, isReady ? "Ready" : undefined];
}

function nodeState(node: NodeObject): string {
  const { status } = nodeCondition(node, "Ready") ?? {};
  return status === "True" ? "Ready" : status === "Unknown" ? "Unknown" : "NotReady";
}

interface EventObject {
  readonly reason?: string;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
}

async function hasEvent(client: KubeClient, reason: string, startMs: number, signal: AbortSignal): Promise<boolean> {
  const path = withQuery(collectionPath(EVENTS), { fieldSelector: `reason=${reason}` });
  const { body } = await client.request<{ readonly items?: readonly EventObject[] }>({ method: "GET", path, signal });
  // Events have whole seconds.
  const fromMs = Math.floor(startMs / 1000) * 1000;
  return (body.items ?? []).some(
    ({ lastTimestamp, eventTime }) => Date.parse(lastTimestamp ?? eventTime ?? "") >= fromMs,
  );
}
