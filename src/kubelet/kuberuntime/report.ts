import {
  containersOf,
  ephemeralContainersOf,
  initContainersOf,
  type V1Pod,
} from "../../staging/apimachinery/api/pod.js";
import { podText } from "../types/pod-update.js";
import type { PodActions } from "./pod-actions.js";

export const MANAGER_FILE = "pkg/kubelet/kuberuntime/kuberuntime_manager.go";

/** Reports that there is nothing to kill, create or start. */
export function wantsNothing(actions: PodActions): boolean {
  return (
    !actions.killPod &&
    !actions.createSandbox &&
    actions.containersToKill.length === 0 &&
    actions.ephemeralContainersToStart.length === 0 &&
    actions.initContainersToStart.length === 0 &&
    actions.containersToStart.length === 0
  );
}

/** Describes the actions in their order, and why. */
export function describeActions(pod: V1Pod, actions: PodActions): { readonly what: string; readonly why: string } {
  const named = (kind: string, indexes: readonly number[], names: readonly { readonly name: string }[]) =>
    indexes.length === 0 ? [] : [`start ${kind} ${indexes.map((i) => names[i]?.name ?? "").join(", ")}`];
  const hasOld = actions.sandboxId !== undefined;
  const parts = [
    ...(actions.killPod && (hasOld || !actions.createSandbox) ? ["stop all that runs"] : []),
    ...(actions.createSandbox ? [`create sandbox (attempt ${actions.attempt})`] : []),
    ...actions.containersToKill.map(({ name }) => `kill ${name}`),
    ...named("ephemeral", actions.ephemeralContainersToStart, ephemeralContainersOf(pod)),
    ...named("init", actions.initContainersToStart, initContainersOf(pod)),
    ...named("container", actions.containersToStart, containersOf(pod)),
  ];
  const isOver = actions.killPod && !actions.createSandbox;
  const reasons = actions.containersToKill.map(({ message }) => message);
  const why = isOver ? "none of its containers is to run on or to start" : [actions.why, ...reasons].join("; ");
  return { what: `${podText(pod)}: ${parts.join(", ")}`, why };
}
