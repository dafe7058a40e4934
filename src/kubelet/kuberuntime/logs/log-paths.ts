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

/** Reports whether a log path from the runtime is in our folder. @param root of all pods' logs */
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

/** A file name has at most 255 bytes, which include the ID and the extension. */
const MAX_LINK_NAME = 251;

/** The link that log collectors read: `NAME_NAMESPACE_CONTAINER-ID.log`. Mirrors legacyLogSymlink and logSymlink. */
export function legacyLogSymlink(root: string, containerId: string, containerName: string, pod: NamedPod): string {
  const prefix = `${pod.name}_${pod.namespace}_${containerName}`;
  const suffix = `-${containerId}`;
  return join(root, `${prefix.slice(0, Math.max(0, MAX_LINK_NAME - suffix.length))}${suffix}.log`);
}

/** @returns undefined when the link is not ours. Mirrors getContainerIDFromLegacyLogSymlink. */
export function containerIdFromLegacyLogSymlink(fileName: string): string | undefined {
  return /-([^-]{65,}|[^-]{64})\.log$/.exec(fileName)?.[1];
}

const LOG_FILE = /^(\d{1,9})\.log(\..*)?$/;

/**
 * A container's restart count according to its logs: a runtime that lost its state would restart at 0, and append to
 * old logs. Mirrors calcRestartCountByLogDir.
 */
export function restartCountByLogFiles(fileNames: readonly string[]): number {
  const counts = fileNames.flatMap((name) => {
    const count = LOG_FILE.exec(name)?.[1];
    return count === undefined ? [] : [Number(count) + 1];
  });
  return Math.max(0, ...counts);
}
