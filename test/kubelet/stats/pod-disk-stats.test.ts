import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { localStorageProblem } from "../../../src/kubelet/eviction/local-storage.js";
import { diskUsage } from "../../../src/kubelet/stats/disk-usage.js";
import { PodDiskStats } from "../../../src/kubelet/stats/pod-disk-stats.js";
import { FakeClock } from "../../support/fake-clock.js";
import { podOf, statsOf } from "../eviction/pods.js";

const { signal } = new AbortController();
const Ki = 1024;
const SIZES = { availableBytes: 50 * Ki, capacityBytes: 100 * Ki, inodes: 10, inodesFree: 5 };
const NODE_FS = { timeMs: 0, ...SIZES };
let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kubelab-disk-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function fill(path: string, kibibytes: number): Promise<void> {
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, Buffer.alloc(kibibytes * Ki, "x"));
}

test("a folder's usage is that of its files and folders; links are not followed", async () => {
  await fill(join(folder, "a/b/large"), 64);
  await fill(join(folder, "elsewhere/huge"), 512);
  await symlink(join(folder, "elsewhere"), join(folder, "a/link"));
  const { usedBytes, inodesUsed } = await diskUsage(join(folder, "a"), signal);
  expect(usedBytes).toBeGreaterThanOrEqual(64 * Ki);
  expect(usedBytes).toBeLessThan(256 * Ki);
  expect(inodesUsed).toBe(4);
});

test("a folder that is gone uses nothing; an abort ends the walk", async () => {
  expect(await diskUsage(join(folder, "gone"), signal)).toEqual({ usedBytes: 0, inodesUsed: 0 });
  await expect(diskUsage(folder, AbortSignal.abort())).rejects.toThrow();
});

/** A pod with a volume of each kind, an emptyDir of them in memory; its container's log is in `log/`. */
function lab() {
  const clock = new FakeClock();
  const pod = podOf({
    name: "web",
    volumes: [
      { name: "cache", emptyDir: { sizeLimit: "100Ki" } },
      { name: "shm", emptyDir: { medium: "Memory" } },
      { name: "token", secret: { secretName: "s" } },
      { name: "access", projected: { sources: [] } },
      { name: "labels", downwardAPI: {} },
      { name: "settings", configMap: { name: "c" } },
      { name: "host", hostPath: { path: "/" } },
      { name: "unmounted", emptyDir: {} },
    ],
  });
  const names = ["cache", "shm", "token", "access", "labels", "settings", "host"];
  const mounted = new Map(names.map((name) => [name, { hostPath: join(folder, name) }]));
  const deps = { clock, getPodByUid: () => pod, getMountedVolumes: () => mounted };
  const stats = new PodDiskStats(deps, { podLogsDirectory: join(folder, "log"), periodMs: 60_000 });
  const measure = async () => {
    const [measured] = await stats.withDisk([statsOf(pod, { rootfs: "8Ki" })], NODE_FS, signal);
    if (measured === undefined) throw new Error("one pod");
    return measured;
  };
  return { clock, pod, stats, measure };
}

test("volumes and logs of a pod, and its local storage: layers, logs, emptyDirs on disk and config maps", async () => {
  const { pod, measure } = lab();
  await fill(join(folder, "cache/file"), 64);
  await fill(join(folder, "shm/file"), 32);
  await fill(join(folder, "settings/file"), 4);
  for (const name of ["token", "access", "labels"]) await fill(join(folder, name, "file"), 16);
  await fill(join(folder, `log/default_web_${pod.metadata.uid}/app/0.log`), 128);
  const { volume = [], containers, ephemeralStorage } = await measure();
  expect(volume.map(({ name }) => name)).toEqual(["cache", "shm", "token", "access", "labels", "settings"]);
  const [cache, shm, token, access, labels, settings] = volume;
  const logs = containers[0]?.logs?.usedBytes ?? 0;
  expect(cache?.usedBytes).toBeGreaterThanOrEqual(64 * Ki);
  expect(shm?.usedBytes).toBeGreaterThanOrEqual(32 * Ki);
  expect(logs).toBeGreaterThanOrEqual(128 * Ki);
  for (const tmpfs of [token, access, labels]) expect(tmpfs?.usedBytes).toBeGreaterThanOrEqual(16 * Ki);
  expect(ephemeralStorage?.usedBytes).toBe(8 * Ki + logs + (cache?.usedBytes ?? 0) + (settings?.usedBytes ?? 0));
  for (const part of [cache, token, containers[0]?.logs, ephemeralStorage]) expect(part).toMatchObject(SIZES);
  // It is not on the node's disk.
  expect(shm?.capacityBytes).toBeUndefined();
});

test("folders are read once a minute; a volume above its limit is found then", async () => {
  const { clock, pod, measure } = lab();
  await fill(join(folder, "cache/file"), 64);
  expect(localStorageProblem(pod, await measure(), false)?.message).toBeUndefined();
  await fill(join(folder, "cache/more"), 64);
  await clock.advance(59_999);
  expect(localStorageProblem(pod, await measure(), false)?.message).toBeUndefined();
  await clock.advance(1);
  expect(localStorageProblem(pod, await measure(), false)?.message).toContain(
    'EmptyDir volume "cache" exceeds the limit "100Ki"',
  );
});

test("a pod that is gone is forgotten, and measured again if it comes back", async () => {
  const { stats, measure } = lab();
  await measure();
  await fill(join(folder, "cache/file"), 64);
  expect(await stats.withDisk([], undefined, signal)).toEqual([]);
  expect((await measure()).volume?.[0]?.usedBytes).toBeGreaterThanOrEqual(64 * Ki);
});
