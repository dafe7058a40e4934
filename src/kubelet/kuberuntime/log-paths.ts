import { join } from "node:path";

/**
 * Where logs of pods are.
 * Mirrors pkg/kubelet/kuberuntime/helpers.go and legacy.go.
 */

interface NamedPod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

/** `<root>/NAMESPACE_NAME_UID`. Mirrors BuildPodLogsDirectory. */
export function buildPodLogsDirectory(root: string, { namespace, name, uid }: NamedPod): string {
  return join(root, `${namespace}_${name}_${uid}`);
}

/** Mirrors BuildContainerLogsDirectory. */
export function buildContainerLogsDirectory(root: string, pod: NamedPod, containerName: string): string {
  return join(buildPodLogsDirectory(root, pod), containerName);
}

/** A runtime says where its logs are: what is elsewhere is not ours to touch. @param root of all pods' logs */
export function isOwnLog(path: string, root: string): boolean {
  return path !== "" && join(path).startsWith(join(root, "/"));
}

/** Below the pod's folder: `app/0.log`. Mirrors buildContainerLogsPath. */
export function buildContainerLogsPath(containerName: string, restartCount: number): string {
  return join(containerName, `${restartCount}.log`);
}

/** Mirrors parsePodUIDFromLogsDirectory. */
export function parsePodUidFromLogsDirectory(folderName: string): string {
  return folderName.slice(folderName.lastIndexOf("_") + 1);
}

/** A file name has at most 255 bytes; the ID and the ending need theirs. */
const MAX_LINK_NAME = 251;

/** The link that log collectors look at: `NAME_NAMESPACE_CONTAINER-ID.log`. Mirrors legacyLogSymlink and logSymlink. */
export function legacyLogSymlink(root: string, containerId: string, containerName: string, pod: NamedPod): string {
  const prefix = `${pod.name}_${pod.namespace}_${containerName}`;
  const suffix = `-${containerId}`;
  return join(root, `${prefix.slice(0, Math.max(0, MAX_LINK_NAME - suffix.length))}${suffix}.log`);
}

/** @returns undefined when the link is none of ours. Mirrors getContainerIDFromLegacyLogSymlink. */
export function containerIdFromLegacyLogSymlink(fileName: string): string | undefined {
  return /-([^-]{65,}|[^-]{64})\.log$/.exec(fileName)?.[1];
}

const LOG_FILE = /^(\d{1,9})\.log(\..*)?$/;

/**
 * How often a container was started before, going by its logs: a runtime that forgot everything would begin at 0 again,
 * and write into old logs. Mirrors calcRestartCountByLogDir.
 */
export function restartCountByLogFiles(fileNames: readonly string[]): number {
  const counts = fileNames.flatMap((name) => {
    const count = LOG_FILE.exec(name)?.[1];
    return count === undefined ? [] : [Number(count) + 1];
  });
  return Math.max(0, ...counts);
}
