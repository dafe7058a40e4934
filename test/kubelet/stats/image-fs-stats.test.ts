import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ImageFsInfoResponse } from "../../../src/cri/messages/image.js";
import { getDirFsInfo } from "../../../src/kubelet/cadvisor/fs-info.js";
import { imageFsStats } from "../../../src/kubelet/stats/image-fs-stats.js";
import { simulatedDisk } from "../../../src/testbed/simulated-disk.js";

const { signal } = new AbortController();
const usage = (mountpoint: string, used: number) => ({
  timestamp: 5_000_000n,
  fsId: { mountpoint },
  usedBytes: { value: used },
  inodesUsed: { value: 2 },
});
const disk = { device: "d", capacityBytes: 1_000, availableBytes: 400, inodes: 10, inodesFree: 8 };

function stats(response: Parameters<typeof ImageFsInfoResponse.create>[0], info = async (_: string) => disk) {
  const runtime = { imageFsInfo: async () => ImageFsInfoResponse.create(response) };
  return imageFsStats({ runtime, getDirFsInfo: info }, signal);
}

test("the runtime says what it uses, the machine how large the first file system is", async () => {
  const asked: string[] = [];
  const found = await stats({ imageFilesystems: [usage("/var/a", 300), usage("/var/b", 1)] }, async (path) => {
    asked.push(path);
    return disk;
  });
  expect(asked).toEqual(["/var/a"]);
  expect(found).toEqual({ timeMs: 5, usedBytes: 300, inodesUsed: 2, ...disk });
});

test("a file system that this machine does not have: only what the runtime says", async () => {
  const found = await stats({ imageFilesystems: [usage("/elsewhere", 300)] }, async () => {
    throw new Error("ENOENT");
  });
  expect(found).toEqual({ timeMs: 5, usedBytes: 300, inodesUsed: 2 });
});

test("a runtime without file systems: upstream's error", async () => {
  await expect(stats({})).rejects.toThrow("imageFs information is unavailable");
});

test("a real file system is measured; its folders are on one device", async () => {
  const folder = await mkdtemp(join(tmpdir(), "kubelab-fs-"));
  const [outer, inner] = await Promise.all([getDirFsInfo(tmpdir(), signal), getDirFsInfo(folder, signal)]);
  expect(inner.device).toBe(outer.device);
  expect(inner.capacityBytes).toBeGreaterThan(inner.availableBytes);
  await rm(folder, { recursive: true });
  await expect(getDirFsInfo(folder, signal)).rejects.toThrow("ENOENT");
});

const disks = [
  // capacity  images  containers  available  inodes free
  [163_840, 100_000, 3_840, 60_000, 6],
  [163_840, 0, 0, 163_840, 6],
  [163_840, 200_000, 0, 0, 6],
] as const;
for (const [capacity, images, containers, availableBytes, inodesFree] of disks) {
  test(`a simulated disk of ${capacity} with ${images} + ${containers} used: ${availableBytes} available`, async () => {
    const response = { imageFilesystems: [usage("/", images)], containerFilesystems: [usage("/", containers)] };
    const imageService = {
      imageFsInfo: async () => ({ outcome: "ok", value: ImageFsInfoResponse.create(response) }) as const,
    };
    const info = await simulatedDisk(imageService, capacity)("/any", signal);
    expect(info).toMatchObject({ capacityBytes: capacity, availableBytes, inodes: 10, inodesFree });
  });
}
