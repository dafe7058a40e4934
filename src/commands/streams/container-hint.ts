import type { V1ContainerStatus, V1Pod } from "../../staging/apimachinery/api/pod.js";
import { LabError } from "../../util/errors.js";

/**
 * Sends a request about a container. If the server refuses it and the pod's status explains why, the error has a hint.
 * @param ask also gets the hint, for failures that it reports itself
 * @param container empty: the API server finds the only one
 * @param isKnownToRun the container has started, but the pod's status may be older
 */
export async function explainContainer<T>(
  pod: V1Pod,
  container: string,
  ask: (hint: string | undefined) => Promise<T>,
  isKnownToRun = false,
): Promise<T> {
  const hint = containerHint(pod, container, isKnownToRun);
  try {
    return await ask(hint);
  } catch (error) {
    if (hint === undefined || !(error instanceof LabError) || error.code !== "REFUSED") throw error;
    throw new LabError(error.code, error.message, hint, { cause: error });
  }
}

/** @returns undefined if the container runs, or its state is unknown */
export function containerHint(
  { metadata, spec, status }: V1Pod,
  name: string,
  isKnownToRun = false,
): string | undefined {
  const names = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map((one) => one.name);
  if (name !== "" && !names.includes(name)) return `The pod ${metadata.name} has the containers ${names.join(", ")}.`;
  if (isKnownToRun) return undefined;
  if (status.phase === "Pending" && spec.nodeName === undefined) {
    return `The pod has no node yet; see the reason: kubectl describe pod ${metadata.name}`;
  }
  const all = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  const found = name === "" ? all[0] : all.find((one) => one.name === name);
  return found === undefined ? undefined : notRunning(metadata.name, found);
}

function notRunning(podName: string, { name, state, restartCount = 0 }: V1ContainerStatus): string | undefined {
  const waiting = state?.waiting ?? undefined;
  const terminated = state?.terminated ?? undefined;
  const logs = (flag: string) => `see its output: kubelab logs ${podName} -c ${name}${flag}`;
  if (terminated !== undefined) {
    return `The container ${name} has ended with exit code ${terminated.exitCode}; ${logs("")}`;
  }
  if (waiting === undefined) return undefined;
  const why = waiting.reason === undefined ? "" : ` (${waiting.reason})`;
  const before = restartCount > 0 ? `; ${logs(" --previous")}` : `; see the reason: kubectl describe pod ${podName}`;
  return `The container ${name} does not run${why}${before}`;
}
