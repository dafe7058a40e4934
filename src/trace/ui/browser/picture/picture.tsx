import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { counted } from "../../../../util/text/counted.js";
import { watchSize } from "../sequence.js";
import type { PageState } from "../state.js";
import { secondsOf } from "../words.js";
import type { Cluster, Pod } from "./cluster.js";
import { Drawing, type Way } from "./drawing.js";
import { type Density, NodeBox, Part, Pods, Services } from "./parts.js";
import { keyOf, type Thing } from "./things.js";

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

/** The cluster as a picture, in which requests and events move. */
export function Picture({ state }: { readonly state: PageState }) {
  const { cluster, after } = state.picture.value;
  const title =
    after === undefined
      ? `The cluster, ${state.isLive ? "now" : "after all steps"}`
      : `The cluster, ${secondsOf(after.startMs - state.story.startMs)} s`;
  return (
    <section class="picture" aria-label={title}>
      <ClusterField state={state} cluster={cluster} />
    </section>
  );
}

function ClusterField({ state, cluster }: { readonly state: PageState; readonly cluster: Cluster }) {
  const field = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const drawing = useRef<Drawing | null>(null);
  const ways = waysOf(cluster);
  useEffect(() => {
    if (svg.current === null || field.current === null) return;
    const own = new Drawing(svg.current, field.current);
    drawing.current = own;
    return watchSize(field.current, () => own.place());
  }, []);
  // Each change of the picture may move its boxes.
  useEffect(() => drawing.current?.place(ways));
  useSignalEffect(() => drawing.current?.show(state.happened.value));

  const pods = podsByNode(cluster);
  const density = densityOf(cluster, pods);
  const nodes = [...cluster.nodes.values()].sort((a, b) => BY_NAME.compare(a.name, b.name));
  const waiting = pods.get(undefined) ?? [];
  return (
    <div class="cluster" ref={field}>
      <svg class="wires" ref={svg} aria-hidden="true" />
      <div class="clients">
        {(["user", "scheduler", "controller"] as const).map(
          (kind) =>
            cluster.actors.has(kind) && (
              <Part
                key={kind}
                state={state}
                thing={thing(kind)}
                words={kind === "controller" ? controllerWords(cluster) : ""}
              />
            ),
        )}
      </div>
      <div class="plane">
        {cluster.actors.has("apiserver") && <Part state={state} thing={thing("apiserver")} />}
        {hasStorage(cluster) && <Part state={state} thing={thing("storage")} words={writeWords(cluster)} />}
        <Services state={state} names={[...cluster.services].sort(BY_NAME.compare)} />
      </div>
      <div class="nodes">
        {nodes.slice(0, MAX_NODES).map((node) => (
          <NodeBox key={node.name} state={state} node={node} pods={pods.get(node.name) ?? []} density={density} />
        ))}
        {nodes.length > MAX_NODES && <p class="sub">and {nodes.length - MAX_NODES} more nodes</p>}
        {waiting.length > 0 && (
          <article class="node unbound" aria-label={`${counted(waiting.length, "pod")} without a node`}>
            <div class="node-head">
              <b>no node yet</b>
            </div>
            <Pods state={state} pods={waiting} density={density} />
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
  return `${created} created, ${changed} changed, ${deleted} deleted`;
}

function controllerWords({ controllers }: Cluster): string {
  const names = [...controllers].sort();
  const more = names.length - MAX_NAMES;
  return [...names.slice(0, MAX_NAMES), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}
