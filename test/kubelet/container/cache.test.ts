import { describe, expect, test } from "vitest";
import { PodCache } from "../../../src/kubelet/container/cache.js";

const status = (name: string) => ({
  podUid: "p1",
  name,
  namespace: "default",
  ips: [],
  containerStatuses: [],
  sandboxStatuses: [],
});

test("a waiter that gives up is gone, and the others are released", async () => {
  const cache = new PodCache();
  const stop = new AbortController();
  const first = cache.getNewerThan("p1", 10, stop.signal);
  const second = cache.getNewerThan("p1", 10);
  expect(cache.waiting("p1")).toBe(2);
  stop.abort();
  await expect(first).rejects.toMatchObject({ name: "AbortError" });
  expect(cache.waiting("p1")).toBe(1);
  cache.set("p1", status("v1"), undefined, 11);
  expect((await second).status?.name).toBe("v1");
  expect(cache.waiting()).toBe(0);
});

test("a signal that has aborted already: what is there is still given, waiting is refused", async () => {
  const cache = new PodCache();
  cache.set("p1", status("v1"), undefined, 11);
  expect((await cache.getNewerThan("p1", 10, AbortSignal.abort())).status?.name).toBe("v1");
  await expect(cache.getNewerThan("p1", 20, AbortSignal.abort())).rejects.toMatchObject({ name: "AbortError" });
  expect(cache.waiting()).toBe(0);
});

describe("an evented cache", () => {
  test("never puts an older status in the place of a newer one", () => {
    const cache = new PodCache({ isEvented: true });
    expect(cache.set("p1", status("new"), undefined, 20)).toBe(true);
    expect(cache.set("p1", status("old"), undefined, 19)).toBe(false);
    expect(cache.get("p1").status?.name).toBe("new");
    expect(cache.set("p1", status("same time"), undefined, 20)).toBe(true);
  });
  test("does not wait for a pod without an entry", async () => {
    expect((await new PodCache({ isEvented: true }).getNewerThan("p1", 10)).kind).toBe("default");
  });
});
