import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { counted } from "../../../../util/text/counted.js";
import { say } from "../language.js";
import type { PageState } from "../state.js";
import { watchSize } from "../watch-size.js";
import { secondsOf } from "../words.js";
import type { Cluster, Pod } from "./cluster.js";
import { Drawing, type Way } from "./drawing.js";
import { type Density, NodeBox, Part, Pods, Services } from "./parts.js";
import { keyOf, type Thing } from "./things.js";
import { Workloads } from "./workloads.js";

/** The number of nodes that fit. */
const MAX_NODES = 12;
/** The number of pods in a cluster that fit with their containers. */
const MAX_CARDS = 8;
/** The number of pods on a node that fit with their names. */
const MAX_NAMED = 20;
/** `node-2` before `node-10` */
const BY_NAME = new Intl.Collator(undefined, { numeric: true });
/** Controllers are named up to this number. */
const MAX_NAMES = 3;

interface PictureProps {
  readonly state: PageState;
  /** the picture has no room for lines */
  readonly isNarrow: boolean;
}

/**
 * The cluster as a picture, in which requests and events move. Everything that the trace names has one place in it, also before
 * it exists and after it is gone.
 */
export function Picture({ state, isNarrow }: PictureProps) {
  const { after } = state.picture.value;
  const seconds = secondsOf((after?.startMs ?? 0) - state.span.value.startMs);
  const title = after === undefined ? (state.isLive ? say("now") : say("after all steps")) : `${seconds} s`;
  return (
    <section class={state.isLive ? "picture live" : "picture"} aria-label={say("The cluster, {1}", title)}>
      <ClusterField state={state} isNarrow={isNarrow} />
    </section>
  );
}

function ClusterField({ state, isNarrow }: PictureProps) {
  const { cluster, ever } = state.picture.value;
  const field = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const drawing = useRef<Drawing | null>(null);
  const ways = isNarrow ? [] : waysOf(ever);
  useEffect(() => {
    if (svg.current === null || field.current === null) return;
    const own = new Drawing(svg.current, field.current, (pod) => state.picture.peek().ever.pods.get(pod)?.node);
    drawing.current = own;
    return watchSize(field.current, () => own.place());
  }, []);
  // Each change of the picture may move its boxes.
  useEffect(() => drawing.current?.place(ways));
  useSignalEffect(() => drawing.current?.show(state.happened.value));
  const marked = state.isFollowing.value ? undefined : state.selected.value;
  const { sent, part } = state.exchange.value;
  useEffect(() => drawing.current?.mark(marked, sent, part), [marked, sent, part]);

  const pods = podsByNode(ever);
  const density = densityOf(ever, pods);
  const nodes = [...ever.nodes.values()].sort((a, b) => BY_NAME.compare(a.name, b.name));
  const waiting = pods.get(undefined) ?? [];
  const nowMs = state.picture.value.after?.event.atMs ?? state.story.endMs;
  return (
    <div class="cluster" ref={field}>
      <svg class="wires" ref={svg} aria-hidden="true" />
      <div class="clients">
        {(["user", "scheduler", "controller"] as const).map(
          (kind) =>
            ever.actors.has(kind) && (
              <Part
                key={kind}
                state={state}
                thing={thing(kind)}
                words={kind === "controller" ? controllerWords(ever) : ""}
                isGhost={!cluster.actors.has(kind)}
              />
            ),
        )}
      </div>
      <div class="plane">
        {ever.actors.has("apiserver") && (
          <Part state={state} thing={thing("apiserver")} isGhost={!cluster.actors.has("apiserver")} />
        )}
        {hasStorage(ever) && (
          <Part state={state} thing={thing("storage")} words={writeWords(cluster)} isGhost={!hasStorage(cluster)} />
        )}
        <Workloads cluster={cluster} ever={ever} />
        <Services state={state} names={[...ever.services].sort(BY_NAME.compare)} cluster={cluster} />
      </div>
      <div class="nodes">
        {nodes.slice(0, MAX_NODES).map((node) => (
          <NodeBox
            key={node.name}
            state={state}
            node={node}
            cluster={cluster}
            nowMs={nowMs}
            pods={pods.get(node.name) ?? []}
            density={density}
          />
        ))}
        {nodes.length > MAX_NODES && <p class="sub">{say("and {1} more nodes", nodes.length - MAX_NODES)}</p>}
        {waiting.length > 0 && (
          <article class="node unbound" aria-label={`${counted(waiting.length, "pod")} without a node`}>
            <div class="node-head">
              <b>{say("no node")}</b>
            </div>
            <Pods state={state} pods={waiting} cluster={cluster} density={density} />
          </article>
        )}
      </div>
    </div>
  );
}

function thing(kind: Thing["kind"]): Thing {
  return { kind, name: "" };
}

function podsByNode({ pods, nodes }: Cluster): Map<string | undefined, Pod[]> {
  const found = new Map<string | undefined, Pod[]>();
  for (const pod of pods.values()) {
    const node = pod.node !== undefined && nodes.has(pod.node) ? pod.node : undefined;
    const list = found.get(node);
    if (list === undefined) found.set(node, [pod]);
    else list.push(pod);
  }
  return found;
}

function densityOf({ pods }: Cluster, byNode: ReadonlyMap<string | undefined, readonly Pod[]>): Density {
  if (pods.size <= MAX_CARDS) return "cards";
  return [...byNode.values()].every(({ length }) => length <= MAX_NAMED) ? "names" : "signs";
}

/** All parts talk to the API server, and each kubelet to its runtime. */
function waysOf(cluster: Cluster): Way[] {
  const hub = keyOf(thing("apiserver"));
  const ways: Way[] = (["user", "scheduler", "controller", "storage"] as const).map((kind) => [
    keyOf(thing(kind)),
    hub,
  ]);
  for (const { name } of cluster.nodes.values()) {
    const kubelet = keyOf({ kind: "kubelet", name });
    ways.push([kubelet, hub], [kubelet, keyOf({ kind: "runtime", name })], [keyOf({ kind: "proxy", name }), hub]);
  }
  return ways;
}

function hasStorage({ writes }: Cluster): boolean {
  return writes.created + writes.changed + writes.deleted > 0;
}

function writeWords({ writes: { created, changed, deleted } }: Cluster): string {
  return say("{1} created, {2} changed, {3} deleted", created, changed, deleted);
}

function controllerWords({ controllers }: Cluster): string {
  const names = [...controllers].sort();
  const more = names.length - MAX_NAMES;
  return [...names.slice(0, MAX_NAMES), ...(more > 0 ? [say("{1} more", more)] : [])].join(", ");
}
