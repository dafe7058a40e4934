import type { MessageKey } from "../../../util/i18n/catalogue.js";
import type { LearnContext } from "../context.js";

/** Commands that open a window into a running kubelet, each with its own cluster; all but the last have keys to play with. */
export const WINDOWS: readonly { readonly command: string; readonly key: MessageKey }[] = [
  { command: "pleg", key: "playPleg" },
  { command: "pod-worker", key: "playPodWorker" },
  { command: "static-pod", key: "playStaticPod" },
  { command: "pod-manager", key: "playPodManager" },
  { command: "journey", key: "playJourney" },
];

/** Runs `kubelab COMMAND` of a window in this process until the learner leaves it. */
export async function openWindow({ context }: LearnContext, line: string): Promise<void> {
  await context.program.run(line.split(" ").slice(1), "learn", context);
  context.signal.throwIfAborted();
}
