import { describe, expect, test } from "vitest";
import { setDefaults } from "../../../src/kubelet/apis/config/defaults.js";
import { ImageGcManager } from "../../../src/kubelet/images/image-gc-manager.js";
import {
  amountToFree,
  checkImageGcPolicy,
  type ImageRecord,
  imageGcPolicy,
  inEvictionOrder,
  whyKept,
} from "../../../src/kubelet/images/image-gc-policy.js";
import { FakeClock } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";

const POLICY = imageGcPolicy(setDefaults({}, "1.25"));

const { signal } = new AbortController();

describe("policy", () => {
  const table = [
    // high  low   problem
    [85, 80, ""],
    [0, 0, ""],
    [100, 100, ""],
    [80, 80, ""],
    [101, 80, "invalid HighThresholdPercent 101, must be in range [0-100]"],
    [-1, -1, "invalid HighThresholdPercent -1, must be in range [0-100]"],
    [85, -5, "invalid LowThresholdPercent -5, must be in range [0-100]"],
    [85, 120, "invalid LowThresholdPercent 120, must be in range [0-100]"],
    [60, 70, "LowThresholdPercent 70 can not be higher than HighThresholdPercent 60"],
  ] as const;
  for (const [highThresholdPercent, lowThresholdPercent, problem] of table) {
    test(`${highThresholdPercent} and ${lowThresholdPercent}: ${problem || "valid"}`, () => {
      const check = () => checkImageGcPolicy({ highThresholdPercent, lowThresholdPercent, minAgeMs: 0 });
      if (problem === "") expect(check).not.toThrow();
      else expect(check).toThrow(problem);
    });
  }
});

describe("how much to free", () => {
  const table = [
    // capacity  available  usage  bytes to free
    [1_000, 1_000, undefined, undefined],
    [1_000, 400, undefined, undefined],
    [1_000, 151, 85, 49], // 15.1 % free is 15 %: integers, as upstream
    [1_000, 160, undefined, undefined],
    [1_000, 150, 85, 50],
    [1_000, 50, 95, 150],
    [1_000, 0, 100, 200],
    [1_001, 0, 100, 200],
  ] as const;
  for (const [capacity, available, usagePercent, bytes] of table) {
    test(`${available} of ${capacity} bytes available: ${bytes ?? "nothing"}`, () => {
      const want = usagePercent === undefined ? undefined : { usagePercent, bytes };
      expect(amountToFree(POLICY, capacity, available)).toEqual(want);
    });
  }
});

/** `id detected/used`, `!` when pinned */
function record(text: string): ImageRecord {
  const [, imageId = "", detected, used, pin] = /^(\w+)@(\d+)\/(\d+)(!?)$/.exec(text) ?? [];
  return {
    imageId,
    firstDetectedMs: Number(detected),
    lastUsedMs: Number(used),
    sizeBytes: 1,
    isPinned: pin === "!",
  };
}

describe("order", () => {
  const table = [
    ["a@1/5 b@1/3 c@1/4", "", "b c a"],
    ["a@3/5 b@1/5 c@2/5", "", "b c a"],
    ["a@9/0 b@1/1", "", "a b"],
    ["a@1/1 b@1/2 c@1/3", "b", "a c"],
    ["a@1/1", "a", ""],
  ] as const;
  for (const [records, used, want] of table) {
    test(`${records}, in use: ${used || "none"}: ${want || "nothing"}`, () => {
      const order = inEvictionOrder(records.split(" ").map(record), new Set([used]));
      expect(order.map(({ imageId }) => imageId).join(" ")).toBe(want);
    });
  }
  const kept = [
    ["a@0/0", undefined],
    ["a@0/999999", undefined],
    ["a@880000/0", undefined],
    ["a@880001/0", "it is younger than 120 s"],
    ["a@0/1000000", "it was used a moment ago"],
    ["a@0/0!", "the runtime has pinned it"],
  ] as const;
  for (const [text, want] of kept) {
    test(`${text} at 1000000: ${want ?? "may go"}`, () => {
      expect(whyKept(record(text), 1_000_000, 120_000)).toBe(want);
    });
  }
});

/** A runtime with images of 1,000 bytes each, on a file system of 10,000 bytes. */
class FakeImages {
  readonly clock = new FakeClock();
  readonly recorded: string[] = [];
  readonly removed: string[] = [];
  readonly refused = new Set<string>();
  readonly pinned = new Set<string>();
  images: string[];
  used: string[] = [];
  stats: { capacityBytes?: number; availableBytes?: number } | undefined;
  readonly trace;
  readonly events;
  readonly manager: ImageGcManager;

  constructor(images: string, policy = POLICY) {
    ({ trace: this.trace, events: this.events } = recordingTrace(this.clock));
    this.images = images.split(" ");
    const agent = { recordEvent: (...event: string[]) => void this.recorded.push(event.join(" ")) };
    const imageFsStats = async () =>
      this.stats ?? { capacityBytes: 10_000, availableBytes: 10_000 - this.images.length * 1_000 };
    const { clock, trace } = this;
    this.manager = new ImageGcManager({ runtime: this, imageFsStats, agent, clock, trace }, policy);
  }

  async listImages() {
    return this.images.map((id) => ({
      id,
      repoTags: [`registry.example.com/team/${id}:1.0`],
      repoDigests: [],
      sizeBytes: 1_000,
      pinned: this.pinned.has(id),
    }));
  }

  async listUsedImages() {
    return this.used;
  }

  async removeImage(id: string) {
    if (this.refused.has(id)) throw new Error(`${id} is busy`);
    this.removed.push(id);
    this.images = this.images.filter((one) => one !== id);
  }
}

const NINE = "a b c d e f g h pause";

test("images go until usage is at the low threshold, the least recently used first; each removal is a fact", async () => {
  const lab = new FakeImages(NINE);
  const stop = new AbortController();
  const done = lab.manager.run(stop.signal);
  for (const used of [["a"], ["c", "b"], []]) {
    lab.used = used;
    await lab.clock.advance(300_000);
  }
  lab.used = ["d", "e"];
  await lab.manager.garbageCollect(signal);
  // f, g and h were never used; one is enough for 80 %.
  expect(lab.removed).toEqual(["f"]);
  const whats = only(lab.events, "decision").map(({ what, why }) => `${what}: ${why}`);
  expect(whats).toEqual([
    "free 1000 bytes of images: disk usage on image filesystem is at 90 %, which is over the high threshold",
    "remove image f to free 1000 bytes: no container uses it; this kubelet has not seen one; 0 bytes are free so far",
  ]);
  lab.stats = { capacityBytes: 10_000, availableBytes: 0 };
  await expect(lab.manager.garbageCollect(signal)).resolves.toBeUndefined();
  expect(lab.removed).toEqual(["f", "g", "h"]);
  lab.stats = { capacityBytes: 10_000, availableBytes: 500 };
  await lab.manager.garbageCollect(signal);
  expect(lab.removed).toEqual(["f", "g", "h", "a", "b"]);
  stop.abort();
  await expect(done).rejects.toThrow();
  expect(lab.clock.sleeping).toBe(0);
});

test("below the high threshold nothing is removed", async () => {
  const lab = new FakeImages("a b c");
  await lab.manager.garbageCollect(signal);
  expect(lab.removed).toEqual([]);
  expect(lab.events).toEqual([]);
});

test("images in use, young and pinned ones and the sandbox image stay; the disk that stays full is an event", async () => {
  const lab = new FakeImages(NINE);
  lab.used = ["a", "b", "c"];
  lab.pinned.add("d");
  await lab.manager.garbageCollect(signal).catch(() => undefined);
  expect(lab.removed).toEqual([]); // the images were just detected: younger than 2 min
  await lab.clock.advance(120_000);
  lab.stats = { capacityBytes: 10_000, availableBytes: 0 };
  lab.images = ["a", "b", "c", "d", "e", "pause"];
  const message =
    "failed to garbage collect required amount of images. Wanted to free 2000 bytes, but freed 1000 bytes";
  await expect(lab.manager.garbageCollect(signal)).rejects.toThrow(message);
  expect(lab.removed).toEqual(["e"]);
  expect(lab.recorded.at(-1)).toBe(`Warning FreeDiskSpaceFailed ${message}`);
});

const noStats = [[{}], [{ capacityBytes: 0, availableBytes: 5 }], [{ availableBytes: 5 }]] as const;
for (const [stats] of noStats) {
  test(`the file system has no capacity (${JSON.stringify(stats)}): upstream's error and event`, async () => {
    const lab = new FakeImages(NINE);
    lab.stats = stats;
    await expect(lab.manager.garbageCollect(signal)).rejects.toThrow("invalid capacity 0 on image filesystem");
    expect(lab.recorded).toEqual(["Warning InvalidDiskCapacity invalid capacity 0 on image filesystem"]);
  });
}

test("more available than there is counts as empty", async () => {
  const lab = new FakeImages(NINE);
  lab.stats = { capacityBytes: 10_000, availableBytes: 20_000 };
  await lab.manager.garbageCollect(signal);
  expect(lab.removed).toEqual([]);
});

test("an image that cannot be removed does not end the collection; the error lists it", async () => {
  const lab = new FakeImages("a b c d e f g h i");
  const stop = new AbortController();
  const done = lab.manager.run(stop.signal);
  await lab.clock.advance(0);
  lab.refused.add("a").add("b");
  await expect(lab.manager.garbageCollect(signal)).rejects.toThrow(
    "wanted to free 1000 bytes, but freed 1000 bytes space with errors in image deletion: [a is busy, b is busy]",
  );
  expect(lab.removed).toEqual(["c"]);
  stop.abort();
  await done.catch(() => undefined);
});

test("under disk pressure every unused image goes, whatever the usage", async () => {
  const lab = new FakeImages("a b c pause");
  const stop = new AbortController();
  const done = lab.manager.run(stop.signal);
  await lab.clock.advance(0);
  lab.used = ["b"];
  await lab.manager.deleteUnusedImages(signal);
  expect(lab.images).toEqual(["b", "pause"]);
  stop.abort();
  await done.catch(() => undefined);
});

test("a runtime that does not answer is asked again in five minutes", async () => {
  const lab = new FakeImages("a b c");
  const { listImages } = lab;
  lab.listImages = async () => {
    throw new Error("runtime is down");
  };
  const stop = new AbortController();
  const done = lab.manager.run(stop.signal);
  await lab.clock.advance(0);
  expect(only(lab.events, "error").map(({ message }) => message)).toEqual([
    "Failed to monitor images: runtime is down",
  ]);
  lab.listImages = listImages;
  await lab.clock.advance(300_000);
  // The first successful detection counts as the beginning: these images may be older than the kubelet.
  await lab.manager.deleteUnusedImages(signal);
  expect(lab.images).toEqual([]);
  stop.abort();
  await done.catch(() => undefined);
});
