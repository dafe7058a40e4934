import { lstatSync, realpathSync } from "node:fs";
import { defined } from "../../../util/defined.js";
import { makeFolderSync } from "../../../util/os/files.js";
import { fromHost } from "./fs-error.js";
import type { HostMount } from "./nodes.js";
import { resolvePath } from "./paths.js";
import { SET_GID } from "./permission.js";

const PROJECTED = /\/kubernetes\.io~projected\//;

/**
 * Makes a mount from the kubelet's request. A symbolic link is resolved now, on the machine; a missing path becomes a
 * folder.
 *
 * Mirrors containerd's pkg/cri/opts (WithMounts).
 * @param fsGroup the pod's group for its volumes. A kubelet marks its folders with the setgid bit, but only root can
 * also give them to the group
 * @param user the container's user, who owns the token in a projected volume
 * @throws FsError
 */
export function hostMount(
  mount: { readonly containerPath: string; readonly hostPath: string; readonly readonly: boolean },
  fsGroup?: number,
  user?: number,
): HostMount {
  const containerPath = resolvePath("/", mount.containerPath);
  const hostPath = resolvePath("/", mount.hostPath);
  try {
    const path = realPath(hostPath);
    const hasGroup = fsGroup !== undefined && (lstatSync(path).mode & SET_GID) !== 0;
    const owners = { ...(hasGroup ? { group: fsGroup } : {}), ...(PROJECTED.test(path) ? defined({ user }) : {}) };
    return { containerPath, hostPath: path, isReadonly: mount.readonly, ...owners };
  } catch (error) {
    throw fromHost(error, containerPath);
  }
}

function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    makeFolderSync(path);
    return realpathSync.native(path);
  }
}
