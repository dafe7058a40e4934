import { chmodSync, lstatSync } from "node:fs";
import { chmod, chown, lchown, lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { V1Volume } from "@kubernetes/client-node";
import type { V1Pod } from "../../staging/apimachinery/api/pod.js";
import { resourcesOf } from "../../staging/apimachinery/corev1/container-resources.js";
import { unitValue } from "../../staging/apimachinery/quantity.js";
import type { Wire } from "../../staging/apimachinery/wire.js";
import { makeFolder } from "../../util/os/files.js";
import { type AtomicWriterDeps, type Payload, PayloadError, writeAtomically } from "./atomic-writer.js";
import type { VolumeSpec } from "./claims.js";
import { type HostPaths, resolveHostPath } from "./host-path.js";
import { setUpMemoryMedium } from "./memory-medium.js";
import { podVolumeDir } from "./paths.js";
import { downwardApiPayload, objectPayload, type PayloadDeps, projectedPayload, VolumeSetUpError } from "./payload.js";
import { pluginOf } from "./plugins.js";

const READ_WRITE_MASK = 0o660;
const READ_ONLY_MASK = 0o440;
const EXECUTE_MASK = 0o110;
/** New files in the folder get its group. */
const SET_GID = 0o2000;

export interface SetUpDeps extends PayloadDeps, AtomicWriterDeps {}

export interface SetUpOptions {
  /** the kubelet's folder: upstream `/var/lib/kubelet` */
  readonly rootDir: string;
  readonly hostPaths: HostPaths;
}

/** A volume of a pod that is set up. */
export interface MountedVolume {
  readonly name: string;
  readonly hostPath: string;
  /** read-only for everyone, whatever the container's mount specifies */
  readonly readOnly: boolean;
}

/** Content that may change after the pod has started, so each sync writes it again. Mirrors RequiresRemount. */
export function requiresRemount({ configMap, secret, projected, downwardAPI }: Wire<V1Volume>): boolean {
  return [configMap, secret, projected, downwardAPI].some((source) => source !== undefined && source !== null);
}

/**
 * Sets up a volume with its current content.
 *
 * Mirrors SetUp of the plugins in pkg/volume (emptydir, configmap, secret, projected, downwardapi, hostpath, local).
 * Differs: secrets and tokens are in plain folders, not on a tmpfs; a local volume is used where it is, without a mount.
 *
 * @returns the volume, and whether its content was written now
 * @throws VolumeSetUpError, PayloadError; the signal's reason; the file system's error
 */
export async function setUpVolume(
  deps: SetUpDeps,
  options: SetUpOptions,
  pod: V1Pod,
  { source: volume, readOnly }: VolumeSpec,
  signal: AbortSignal,
): Promise<{ readonly mounted: MountedVolume; readonly changed: boolean }> {
  const { name } = volume;
  const { namespace, uid } = pod.metadata;
  if (volume.local) {
    const { path } = volume.local;
    const absent = () =>
      new VolumeSetUpError(`path ${JSON.stringify(path)} does not exist`, "NewMounter initialization");
    const hostPath = await resolveHostPath(options.hostPaths, { path, type: "Directory" }).catch((error: unknown) => {
      throw error instanceof VolumeSetUpError && options.hostPaths.kind !== "refuse" ? absent() : error;
    });
    await setVolumeOwnership(pod, hostPath, readOnly);
    return { mounted: { name, hostPath, readOnly }, changed: false };
  }
  const { emptyDir, hostPath, configMap, secret, downwardAPI, projected } = volume;
  const place = podVolumeDir(options.rootDir, uid, pluginOf(volume), name);
  if (hostPath) {
    return {
      mounted: { name, hostPath: await resolveHostPath(options.hostPaths, hostPath), readOnly },
      changed: false,
    };
  }
  if (emptyDir) {
    const dir =
      emptyDir.medium === "Memory" ? await setUpMemoryMedium(place, memorySize(deps, pod, emptyDir.sizeLimit)) : place;
    await makeWritableFolder(dir, emptyDir.medium === "Memory");
    await setVolumeOwnership(pod, dir, false);
    return { mounted: { name, hostPath: dir, readOnly: false }, changed: false };
  }
  const write = async (payload: Payload) => {
    await makeWritableFolder(place, !configMap);
    const changed = await writeAtomically(deps, place, payload);
    if (changed) await setVolumeOwnership(pod, place, true);
    return { mounted: { name, hostPath: place, readOnly: true }, changed };
  };
  if (configMap) {
    return write(await objectPayload(deps, "configmap", namespace, configMap, configMap.defaultMode, signal));
  }
  if (secret) {
    const source = { ...secret, name: secret.secretName ?? "" };
    return write(await objectPayload(deps, "secret", namespace, source, secret.defaultMode, signal));
  }
  if (downwardAPI) {
    return write(downwardApiPayload(deps, pod, downwardAPI.items ?? [], downwardAPI.defaultMode));
  }
  if (projected) {
    const { sources, defaultMode } = projected;
    return write(await projectedPayload(deps, pod, sources ?? [], defaultMode, signal));
  }
  const kind = Object.keys(volume).find((key) => key !== "name") ?? "unknown";
  throw new VolumeSetUpError(`no volume plugin matched: this kubelet has none for ${kind} volumes`);
}

/**
 * The size of a memory-backed volume: the least of the node's allocatable memory, the pod's limit and the volume's own.
 * Mirrors calculateEmptyDirMemorySize in pkg/volume/emptydir/empty_dir.go. @returns bytes
 */
function memorySize({ allocatable }: SetUpDeps, { spec }: V1Pod, sizeLimit: string | null | undefined): number {
  const limits = (spec.containers ?? []).map((container) =>
    unitValue(resourcesOf(container).limits?.["memory"] ?? "0"),
  );
  // A container without a limit leaves the pod without one.
  const ofPod = limits.includes(0) ? 0 : limits.reduce((sum, bytes) => sum + bytes, 0);
  const sizes = [unitValue(allocatable()["memory"] ?? "0"), ofPod, unitValue(sizeLimit ?? "0")];
  return Math.min(...sizes.filter((bytes) => bytes > 0), Number.MAX_SAFE_INTEGER);
}

/** A volume's error for the event; undefined for any other error. */
export function setUpFailure(error: unknown): string | undefined {
  if (error instanceof VolumeSetUpError || error instanceof PayloadError) return error.message;
  // A full or read-only disk, or a file in the path: this pod waits, others go on.
  if (error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === "string") return error.message;
  return undefined;
}

/**
 * Any user of the container may write to it. Mirrors perm in pkg/volume/emptydir/empty_dir.go.
 * @param isTmpfs it has the mode of a new tmpfs, whose sticky bit upstream leaves
 */
async function makeWritableFolder(dir: string, isTmpfs: boolean): Promise<void> {
  await makeFolder(dir);
  const wanted = isTmpfs ? 0o1777 : 0o777;
  const { mode } = lstatSync(dir);
  // The mode given to mkdir is cut by the umask. A folder that is set up again keeps its setgid bit.
  if ((mode & wanted) !== wanted) chmodSync(dir, (mode & SET_GID) | wanted);
}

/**
 * Gives the pod's fsGroup all files of the volume: it can read them and, unless the volume is read-only, write to them.
 * Only root can do that. Another user only sets the mode, which tells the embedded runtime whose the volume is
 * (cluster/shell/fs/host-mount.ts).
 *
 * Mirrors SetVolumeOwnership and changeFilePermission in pkg/volume/volume_linux.go.
 */
async function setVolumeOwnership({ spec }: V1Pod, dir: string, isReadonly: boolean): Promise<void> {
  const { fsGroup } = (spec["securityContext"] ?? {}) as { readonly fsGroup?: number | null };
  if (typeof fsGroup !== "number") return;
  await giveToGroup(dir, fsGroup, isReadonly ? READ_ONLY_MASK : READ_WRITE_MASK);
}

async function giveToGroup(path: string, gid: number, mask: number): Promise<void> {
  const stat = await lstat(path);
  const isRoot = process.getuid?.() === 0;
  if (stat.isSymbolicLink()) return isRoot ? lchown(path, stat.uid, gid) : undefined;
  if (isRoot) await chown(path, stat.uid, gid);
  const isFolder = stat.isDirectory();
  await chmod(path, (stat.mode & 0o7777) | mask | (isFolder ? SET_GID | EXECUTE_MASK : 0));
  if (isFolder) for (const name of await readdir(path)) await giveToGroup(join(path, name), gid, mask);
}
