import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../../util/os/files.js";
import { podDir, podsDir, podVolumesDir } from "../volumes/paths.js";
import { removePodVolumes } from "../volumes/remove.js";

const PODS_FOLDER_MODE = 0o750;

/**
 * The folders of pods: `<root>/pods/<uid>` with `volumes`, `plugins` and `containers`.
 *
 * Mirrors makePodDataDirs in pkg/kubelet/kubelet_pods.go and listPodsFromDisk in pkg/kubelet/kubelet_getters.go.
 */
export class PodDirs {
  constructor(readonly rootDir: string) {}

  /**
   * Safe to call with each sync.
   * @returns the pod's folder; undefined if it existed
   * @throws LabError BAD_FILE for a uid that cannot be the name of a folder
   */
  async makePodDataDirs(podUid: string): Promise<string | undefined> {
    const dir = podDir(this.rootDir, podUid);
    const existed = existsSync(dir);
    const paths = [podVolumesDir(this.rootDir, podUid), join(dir, "plugins")];
    await makeFolder(dir, PODS_FOLDER_MODE);
    await Promise.all(paths.map((path) => makeFolder(path, PODS_FOLDER_MODE)));
    return existed ? undefined : dir;
  }

  /** The names of all pod folders: uids. */
  async listPods(): Promise<string[]> {
    try {
      const entries = await readdir(podsDir(this.rootDir), { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    } catch (error) {
      if ((error as { code?: unknown }).code === "ENOENT") return [];
      throw error;
    }
  }

  /** Removes all files of a pod. Links are removed, not followed. */
  async removePodDir(podUid: string): Promise<void> {
    await removePodVolumes(this.rootDir, podUid);
    await rm(podDir(this.rootDir, podUid), { recursive: true, force: true });
  }
}
