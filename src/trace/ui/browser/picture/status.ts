import { type Container, type Node, type Pod, stateOf } from "./cluster.js";

/** How a part of the picture is drawn; each has a colour and a sign of its own. */
export type Tone = "good" | "waiting" | "bad" | "done" | "gone" | "unknown";

/** Shows the tone without colour. */
export const SIGNS: Readonly<Record<Tone, string>> = {
  good: "●",
  waiting: "◐",
  bad: "✕",
  done: "✓",
  gone: "◌",
  unknown: "○",
};

/** A state in words, and its tone. */
export interface Status {
  readonly tone: Tone;
  readonly words: string;
}

/** A container's state by the facts. */
export function containerStatus(container: Container): Status {
  const state = stateOf(container.states) ?? "";
  const failing = [...container.probes].filter(([, result]) => result !== "success" && result !== "unknown");
  const probes = failing.map(([probe, result]) => `${probe} probe: ${result}`);
  const starts = container.starts > 1 ? [`started ${container.starts} times`] : [];
  return { tone: failing.length > 0 ? "bad" : containerTone(state), words: [state, ...probes, ...starts].join(", ") };
}

/** `exited (1, Error)`; PLEG only knows `exited`. */
function containerTone(state: string): Tone {
  if (state === "running") return "good";
  if (state === "created") return "waiting";
  if (!state.startsWith("exited (")) return "unknown";
  return state.startsWith("exited (0") ? "done" : "bad";
}

/** A pod's states by the facts: the API, the pod worker and the runtime may disagree for a while. */
export function podStatus(pod: Pod): Status {
  const containers = [...pod.containers.values()].map(containerStatus);
  const isRunning = containers.length > 0 && containers.every(({ tone }) => tone === "good");
  // The kubelet reports a phase later than its runtime starts the containers.
  const isLate = isRunning && pod.phase === "Pending" && pod.warning === undefined && !isEnding(pod);
  if (isLate && pod.isInApi !== false) return { tone: "good", words: "running, not reported yet" };
  const words = podWords(pod);
  const tone = podTone(pod, containers);
  return { tone, words: words.filter(Boolean).join(", ") || (tone === "good" ? "running" : "") };
}

function isEnding({ worker, isMarked }: Pod): boolean {
  return isMarked || (worker !== undefined && worker !== "syncing");
}

function podWords(pod: Pod): (string | undefined)[] {
  const { phase, worker, warning, isInApi, node, sandbox, containers, isMarked } = pod;
  const ending = worker === "syncing" || worker === "finished" ? undefined : worker;
  // As kubectl shows it, also on a node that no longer ends it.
  const marked = isMarked && ending === undefined ? "Terminating" : undefined;
  if (isInApi !== false) return [phase, ending, marked, warning, node === undefined ? "no node yet" : undefined];
  const left = containers.size === 0 && stateOf(sandbox) !== undefined ? "its sandbox is left" : undefined;
  return ["deleted from the API", ending, left];
}

function podTone(pod: Pod, containers: readonly Status[]): Tone {
  if (pod.isInApi === false) return "gone";
  if (pod.phase === "Failed" || pod.warning !== undefined || containers.some(({ tone }) => tone === "bad"))
    return "bad";
  if (isEnding(pod)) return "waiting";
  if (pod.phase === "Succeeded") return "done";
  if (pod.phase === "Pending") return "waiting";
  if (containers.length > 0 && containers.every(({ tone }) => tone === "good")) return "good";
  return pod.phase === "Running" ? "good" : "waiting";
}

/** A node's state by the facts. */
export function nodeStatus({ isInApi, ready }: Node): Status {
  if (isInApi === false) return { tone: "gone", words: "deleted from the API" };
  if (ready === undefined) return { tone: "unknown", words: isInApi === true ? "in the API" : "" };
  const isReady = ready.startsWith("True");
  return { tone: isReady ? "good" : "bad", words: isReady ? "Ready" : `Ready: ${ready.split(" (", 1)[0]}` };
}
