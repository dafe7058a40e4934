import { realpathSync } from "node:fs";
import { makeFolderSync } from "../../../util/os/files.js";
import { fromHost } from "./fs-error.js";
import type { HostMount } from "./nodes.js";
import { resolvePath } from "./paths.js";

/**
 * Makes a mount from the kubelet's request. A symbolic link is resolved now, on the machine; a missing path becomes a
 * folder.
 *
 * Mirrors containerd's pkg/cri/opts (WithMounts).
 * @throws FsError
 */
export function hostMount(mount: {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readonly: boolean;
}): HostMount {
  const containerPath = resolvePath("/", mount.containerPath);
  const hostPath = resolvePath("/", mount.hostPath);
  try {
    return { containerPath, hostPath: realPath(hostPath), isReadonly: mount.readonly };
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
