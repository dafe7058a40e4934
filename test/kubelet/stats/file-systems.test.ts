import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FileSystems } from "../../../src/kubelet/stats/file-systems.js";
import { getDirFsInfo } from "../../../src/kubelet/stats/fs-info.js";
import { ImageFsInfoResponse } from "../../../src/staging/cri/messages/image.js";
import { simulatedDisk } from "../../../src/testbed/node/simulated-disk.js";
import { FakeClock, START_MS } from "../../support/fake-clock.js";
import { missingPath } from "../../support/missing-path.js";

const { signal } = new AbortController();
const usage = (mountpoint: string, used: number) => ({
  timestamp: 5_000_000n,
  fsId: { mountpoint },
  usedBytes: { value: used },
  inodesUsed: { value: 2 },
});
const disk = { device: "d", capacityBytes: 1_000, availableBytes: 400, inodes: 10, inodesFree: 8 };

const { device: _, ...sizes } = disk;

function systems(response: Parameters<typeof ImageFsInfoResponse.create>[0], info = async (_: string) => disk) {
  const imageService = {
    imageFsInfo: async () => ({ outcome: "ok", value: ImageFsInfoResponse.create(response) }) as const,
  };
  return new FileSystems({ imageService, getDirFsInfo: info, clock: new FakeClock() }, "/var/lib/kubelet");
}

test("the runtime says what it uses, the machine how large the first file system is", async () => {
  const asked: string[] = [];
  const response = { imageFilesystems: [usage("/var/a", 300), usage("/var/b", 1)] };
  const found = await systems(response, async (path) => {
    asked.push(path);
    return disk;
  }).imageFsStats(signal);
  expect(asked).toEqual(["/var/a"]);
  expect(found).toEqual({ timeMs: 5, usedBytes: 300, inodesUsed: 2, ...sizes });
});

test("a file system without a time was measured now", async () => {
  const found = await systems({ imageFilesystems: [{ fsId: { mountpoint: "/" } }] }).imageFsStats(signal);
  expect(found.timeMs).toBe(START_MS);
});

test("a file system that this machine does not have: only what the runtime says", async () => {
  const elsewhere = systems({ imageFilesystems: [usage("/elsewhere", 300)] }, async () => {
    throw new Error("ENOENT");
  });
  expect(await elsewhere.imageFsStats(signal)).toEqual({ timeMs: 5, usedBytes: 300, inodesUsed: 2 });
  await expect(elsewhere.hasDedicatedImageFs(signal)).rejects.toThrow("imagefs device is not found");
});

test("a runtime without file systems: upstream's error", async () => {
  await expect(systems({}).imageFsStats(signal)).rejects.toThrow("imageFs information is unavailable");
  await expect(systems({}).hasDedicatedImageFs(signal)).rejects.toThrow("imageFs information is unavailable");
});

test("nodefs is measured at the kubelet's folder", async () => {
  const found = await systems({}).rootFsStats(signal);
  expect(found).toEqual({ timeMs: START_MS, usedBytes: 600, inodesUsed: 2, ...sizes });
});

const devices = [
  ["one", "one", false],
  ["one", "two", true],
] as const;
for (const [nodeFs, imageFs, isDedicated] of devices) {
  test(`nodefs on ${nodeFs}, imagefs on ${imageFs}: ${isDedicated ? "two disks" : "one disk"}`, async () => {
    const info = async (path: string) => ({ ...disk, device: path === "/images" ? imageFs : nodeFs });
    const found = systems({ imageFilesystems: [usage("/images", 1)] }, info);
    expect(await found.hasDedicatedImageFs(signal)).toBe(isDedicated);
  });
}

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
    const options = { capacityBytes: capacity, rootDir: missingPath() };
    const info = await simulatedDisk({ imageService, clock: new FakeClock() }, options)("/any", signal);
    expect(info).toMatchObject({ capacityBytes: capacity, availableBytes, inodes: 10, inodesFree });
  });
}

test("volumes and logs of pods are on the simulated disk, measured again after nine seconds", async () => {
  const rootDir = await mkdtemp(join(tmpdir(), "disk-"));
  const clock = new FakeClock();
  const imageService = {
    imageFsInfo: async () => ({ outcome: "ok", value: ImageFsInfoResponse.create({}) }) as const,
  };
  const disk = simulatedDisk({ imageService, clock }, { capacityBytes: 2 ** 30, rootDir });
  const used = async () => 2 ** 30 - (await disk("/any", signal)).availableBytes;
  expect(await used()).toBe(0);
  await mkdir(join(rootDir, "pods"));
  await writeFile(join(rootDir, "pods", "file"), Buffer.alloc(100_000));
  await mkdir(join(rootDir, "log", "pods"), { recursive: true });
  await writeFile(join(rootDir, "log", "pods", "0.log"), Buffer.alloc(50_000));
  expect(await used()).toBe(0);
  await clock.advance(9_000);
  expect(await used()).toBeGreaterThanOrEqual(150_000);
  await rm(rootDir, { recursive: true });
});
