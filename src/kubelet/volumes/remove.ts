import { rm } from "node:fs/promises";
import { join } from "node:path";
import { tearDownMemoryMedia } from "./memory-medium.js";
import { podVolumesDir } from "./paths.js";

/** Removes the volumes of a pod with their files. Other links are removed, not followed. */
export async function removePodVolumes(rootDir: string, podUid: string): Promise<void> {
  const dir = podVolumesDir(rootDir, podUid);
  await tearDownMemoryMedia(join(dir, "kubernetes.io~empty-dir"));
  await rm(dir, { recursive: true, force: true });
}
