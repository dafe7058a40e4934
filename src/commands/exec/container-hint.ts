import type { V1ContainerStatus, V1Pod } from "../../apimachinery/api/pod.js";
import { LabError } from "../../util/errors.js";

/**
 * Asks for something of a container; when that is refused and the pod says why, with what to do about it.
 * @param ask is given what to do, for failures that are told in another way
 * @param container empty: the API server finds the only one
 * @param isKnownToRun somebody has seen it start, which the pod's status may not say yet
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

/** @returns undefined: it runs, or nothing is known of it */
export function containerHint(
  { metadata, spec, status }: V1Pod,
  name: string,
  isKnownToRun = false,
): string | undefined {
  const names = [...(spec.containers ?? []), ...(spec.initContainers ?? [])].map((one) => one.name);
  if (name !== "" && !names.includes(name)) return `The pod ${metadata.name} has the containers ${names.join(", ")}.`;
  if (isKnownToRun) return undefined;
  if (status.phase === "Pending" && spec.nodeName === undefined) {
    return `No node has been found for the pod yet; why: kubectl describe pod ${metadata.name}`;
  }
  const all = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  const found = name === "" ? all[0] : all.find((one) => one.name === name);
  return found === undefined ? undefined : notRunning(metadata.name, found);
}

function notRunning(podName: string, { name, state, restartCount = 0 }: V1ContainerStatus): string | undefined {
  const waiting = state?.waiting ?? undefined;
  const terminated = state?.terminated ?? undefined;
  const logs = (flag: string) => `what it said: kubelab logs ${podName} -c ${name}${flag}`;
  if (terminated !== undefined) {
    return `The container ${name} has ended with exit code ${terminated.exitCode}; ${logs("")}`;
  }
  if (waiting === undefined) return undefined;
  const why = waiting.reason === undefined ? "" : ` (${waiting.reason})`;
  const before = restartCount > 0 ? `; ${logs(" --previous")}` : `; what it waits for: kubectl describe pod ${podName}`;
  return `The container ${name} does not run${why}${before}`;
}
