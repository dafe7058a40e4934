import { join } from "node:path";
import { LabError } from "../../util/errors.js";

/**
 * The folders of a pod. Names from specs are validated here again: a static pod's manifest has not passed an API
 * server, and its names must not lead out of the pod's folder.
 *
 * Mirrors pkg/kubelet/kubelet_getters.go and pkg/volume/plugins.go.
 */

const FILE_NAME = /^[A-Za-z0-9_][-A-Za-z0-9._~]{0,252}$/;

/** `<root>/log/pods`: upstream /var/log/pods, podLogsRootDirectory */
export function podLogsDir(rootDir: string): string {
  return join(rootDir, "log", "pods");
}

/** `<root>/log/containers`: upstream /var/log/containers, legacyContainerLogsDir */
export function containerLogsDir(rootDir: string): string {
  return join(rootDir, "log", "containers");
}

/** `<root>/pods` */
export function podsDir(rootDir: string): string {
  return join(rootDir, "pods");
}

/** `<root>/pods/<uid>`. @throws LabError BAD_FILE for a uid that cannot be the name of a folder */
export function podDir(rootDir: string, podUid: string): string {
  return join(podsDir(rootDir), fileName(podUid, "uid of a pod"));
}

/** `<root>/pods/<uid>/volumes` */
export function podVolumesDir(rootDir: string, podUid: string): string {
  return join(podDir(rootDir, podUid), "volumes");
}

/** `<root>/pods/<uid>/volumes/kubernetes.io~configmap/<name>`. @param plugin `kubernetes.io/configmap` */
export function podVolumeDir(rootDir: string, podUid: string, plugin: string, volumeName: string): string {
  const escaped = plugin.replaceAll("/", "~");
  return join(podVolumesDir(rootDir, podUid), escaped, fileName(volumeName, "name of a volume"));
}

/** `<root>/pods/<uid>/containers/<name>` */
export function podContainerDir(rootDir: string, podUid: string, containerName: string): string {
  return join(podDir(rootDir, podUid), "containers", fileName(containerName, "name of a container"));
}

/** `<podDir>/volume-subpaths/<volume>/<container>/<index>`: a single file for a container. @param index of its mount */
export function subpathPlace(podDir: string, volumeName: string, containerName: string, index: number): string {
  const names = [fileName(volumeName, "name of a volume"), fileName(containerName, "name of a container")];
  return join(podDir, "volume-subpaths", ...names, String(index));
}

function fileName(text: string, what: string): string {
  if (FILE_NAME.test(text)) return text;
  throw new LabError(
    "BAD_FILE",
    `${JSON.stringify(text)} is not a valid ${what}: it would lead out of the pod's folder`,
    "Use lower case letters, digits and dashes.",
  );
}
