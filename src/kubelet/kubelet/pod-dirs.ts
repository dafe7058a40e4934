import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeFolder } from "../../util/files.js";

const PODS_FOLDER_MODE = 0o750;

/**
 * Where pods keep their files on this node: `<root>/pods/<uid>` with `volumes`, `plugins` and `containers`.
 *
 * Mirrors pkg/kubelet/kubelet_getters.go (getPodDir and its like) and makePodDataDirs in pkg/kubelet/kubelet_pods.go.
 */
export class PodDirs {
  constructor(readonly rootDir: string) {}

  get podsDir(): string {
    return join(this.rootDir, "pods");
  }

  /** @param podUid as the API server or the runtime says it: one that is no name of a folder is refused. @throws Error */
  getPodDir(podUid: string): string {
    if (podUid === "" || podUid === "." || podUid === ".." || podUid.includes("/") || podUid.includes("\0")) {
      throw new Error(`${JSON.stringify(podUid)} cannot be the uid of a pod`);
    }
    return join(this.podsDir, podUid);
  }

  async makePodDataDirs(podUid: string): Promise<void> {
    const dir = this.getPodDir(podUid);
    for (const path of [dir, join(dir, "volumes"), join(dir, "plugins")]) await makeFolder(path, PODS_FOLDER_MODE);
  }

  /** Names of all folders of pods: uids. */
  async listPods(): Promise<string[]> {
    try {
      const entries = await readdir(this.podsDir, { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    } catch (error) {
      if ((error as { code?: unknown }).code === "ENOENT") return [];
      throw error;
    }
  }

  /** Removes all files of a pod. What a link in there names is not followed. */
  async removePodDir(podUid: string): Promise<void> {
    await rm(this.getPodDir(podUid), { recursive: true, force: true });
  }
}
