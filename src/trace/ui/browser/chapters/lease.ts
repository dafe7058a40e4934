import { say } from "../language.js";
import { type Block, type Chapter, funcIn, lastWord, wayOf } from "./chapter.js";

/** A node, and what follows when it falls silent. */
interface Silence {
  readonly node: string;
  /** the nodes that have renewed their Lease */
  readonly known: ReadonlySet<string>;
  /** it renews no more */
  readonly isSilent: boolean;
  readonly isUnknown: boolean;
  /** `node.kubernetes.io/unreachable:NoExecute` */
  readonly taints: readonly string[];
  /** when pods are to be deleted, by pod: Unix ms */
  readonly leaving: ReadonlyMap<string, number>;
  /** the pods that are marked for deletion: nobody on a silent node ends them */
  readonly terminating: ReadonlySet<string>;
  /** the pod that the last fact was about */
  readonly latest: string;
}

const NONE: Silence = {
  node: "",
  known: new Set(),
  isSilent: false,
  isUnknown: false,
  taints: [],
  leaving: new Map(),
  terminating: new Set(),
  latest: "",
};

/** Lease: the time that runs out, then Unknown, the taint, and the pods that leave. */
export const lease: Chapter<Silence> = {
  id: "lease",
  title: "Lease",
  commands: ["lease"],
  read(model, event) {
    if (event.kind === "state") {
      const { what, to, subject } = event;
      const { node: shown, known, isSilent: wasSilent, isUnknown: wasUnknown } = model ?? NONE;
      const node = lastWord(subject);
      if (what === "renewTime") {
        // The node that joins last is the one that is watched, until one falls silent.
        const isShown = wasSilent ? node === shown : !known.has(node);
        return isShown ? { ...NONE, node, known: new Set(known).add(node) } : model;
      }
      const isUnknown = what === "Ready" && to.startsWith("Unknown") && model !== undefined && !wasUnknown;
      return isUnknown ? { ...NONE, node, known, isSilent: true, isUnknown } : model;
    }
    if (model !== undefined && event.actor === "kubelet" && event.instance === model.node)
      return funcIn(event, "node_lifecycle_controller.go") === "monitorNodeHealth"
        ? { ...model, isSilent: true }
        : model;
    if (model?.isUnknown !== true) return model;
    const { pod = "" } = event;
    if (event.kind === "event" && event.reason === "TaintManagerEviction" && model.leaving.has(pod))
      return { ...model, terminating: new Set(model.terminating).add(pod), latest: pod };
    if (event.kind !== "decision") return model;
    if (funcIn(event, "taint_manager.go") === "processPodOnNode" && pod !== "") {
      const dueMs = event.atMs + 1000 * Number(/(\d+) (?:s|秒)/.exec(event.what)?.[1] ?? 0);
      return { ...model, leaving: new Map(model.leaving).set(pod, dueMs), latest: pod };
    }
    const isOfNodes = funcIn(event, "node_lifecycle_controller.go") !== undefined;
    const taint = isOfNodes ? /node\.kubernetes\.io\/unreachable:No\w+/.exec(event.what)?.[0] : undefined;
    return taint === undefined || model.taints.includes(taint) ? model : { ...model, taints: [...model.taints, taint] };
  },
  draw(now = NONE, ever, { nowMs, cluster, ever: { graceMs } }) {
    const silentMs = Math.max(0, nowMs - Date.parse(cluster.nodes.get(ever.node)?.renewTime ?? ""));
    const isReached = !Number.isNaN(silentMs);
    const isOver = silentMs >= (graceMs ?? Number.POSITIVE_INFINITY);
    const isNoMore = isReached && (now.isSilent || isOver);
    const way = wayOf([
      {
        title: say(isNoMore ? "node {1} no longer renews its Lease" : "node {1} renews its Lease", ever.node),
        text: isReached ? say("Lease renewed {1} s ago", (silentMs / 1000).toFixed(0)) : "",
        isReached,
        ...(isOver ? { tone: "bad" } : {}),
      },
      ...(ever.isUnknown ? [{ title: say("Ready becomes Unknown"), isReached: now.isUnknown }] : []),
      ...ever.taints.map((taint) => ({ title: say("taint"), code: taint, isReached: now.taints.includes(taint) })),
      ...[...ever.leaving].map(([pod, dueMs]) => ({
        title: say("pod {1}", pod),
        text: now.terminating.has(pod) ? say("Terminating") : say("to be deleted in {1} s", secondsTo(dueMs, nowMs)),
        isReached: now.leaving.has(pod),
        ...(now.leaving.has(pod) ? { tone: pod === now.latest ? ("now" as const) : ("done" as const) } : {}),
      })),
    ]);
    if (graceMs === undefined || !isReached) return [way];
    const left = Math.max(0, graceMs - silentMs);
    const text = say("{1} s of {2} s are left", (left / 1000).toFixed(0), graceMs / 1000);
    return [{ kind: "meter", text, ms: left, maxMs: graceMs } satisfies Block, way];
  },
};

function secondsTo(dueMs: number, nowMs: number): string {
  return (Math.max(0, dueMs - nowMs) / 1000).toFixed(0);
}
