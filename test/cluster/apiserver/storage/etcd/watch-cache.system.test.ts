import assert from "node:assert/strict";
import { expect, test } from "vitest";
import type { EtcdStorage } from "../../../../../src/cluster/apiserver/storage/etcd/store.js";
import type { ListRange } from "../../../../../src/cluster/apiserver/storage/storage.js";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import { SeededRandom } from "../../../../support/fake-clock.js";
import { suiteNeeding } from "../../../../support/requirements.js";
import { openOwnEtcd, openStorage } from "./fixtures.js";

const PREFIX = "/registry/things/";
const CACHED = { notOlderThan: 0 };
const key = (name: string) => `${PREFIX}${name}`;

function thing(name: string, value = 0): KubeObject {
  return { kind: "Thing", apiVersion: "v1", metadata: { name }, value };
}

async function shown(storage: EtcdStorage, range?: ListRange): Promise<string> {
  const { entries } = await storage.list(PREFIX, range);
  return entries.map(({ object, modRevision }) => `${object.metadata.name}@${modRevision}`).join(" ");
}

suiteNeeding(["etcd"], "the watch cache", () => {
  test("answers reads of any revision while etcd does not; the newest state needs etcd", async () => {
    const { storage, etcd, stop } = await openOwnEtcd({ requestTimeoutMs: 200 });
    try {
      const written = await storage.create(key("a"), thing("a"));
      const revision = written?.modRevision ?? 0;
      await storage.create(key("n/b"), thing("b"));
      await expect.poll(() => shown(storage, CACHED)).toBe(`a@${revision} b@${revision + 1}`);
      etcd.pause();
      await expect.poll(() => storage.get(key("a")).catch(({ code }) => code)).toBe(504);
      expect(await storage.get(key("a"), CACHED)).toMatchObject({ isCached: true, entry: { modRevision: revision } });
      expect((await storage.list(key("n/"), CACHED)).entries).toHaveLength(1);
      expect((await storage.list(PREFIX, { notOlderThan: revision + 1 })).revision).toBe(revision + 1);
      expect(await storage.hasReached(revision + 1)).toBe(true);
      for (const read of [storage.list(PREFIX), storage.list(PREFIX, { notOlderThan: revision + 2 })]) {
        await assert.rejects(read, { code: 504 });
      }
      await assert.rejects(storage.get(key("a"), { notOlderThan: revision + 2 }), { code: 504 });
    } finally {
      etcd.continue();
      await stop();
    }
  });

  test("a server reads its own writes at once", async () => {
    const { storage, stop } = await openOwnEtcd();
    try {
      await storage.list(PREFIX, CACHED);
      for (let i = 0; i < 50; i++) {
        const created = await storage.create(key("a"), thing("a", i));
        expect((await storage.get(key("a"), CACHED)).entry?.modRevision).toBe(created?.modRevision);
        expect(await shown(storage, CACHED)).toBe(`a@${created?.modRevision}`);
        await storage.delete(key("a"), created?.modRevision ?? 0);
        expect((await storage.get(key("a"), CACHED)).entry).toBe(undefined);
        expect(await shown(storage, CACHED)).toBe("");
      }
    } finally {
      await stop();
    }
  });

  test("the newest list has every write of another server, and is the one that etcd has at its revision", async () => {
    const { storage, etcd, stop } = await openOwnEtcd();
    const other = await openStorage({ servers: [etcd.url] });
    const random = new SeededRandom(7);
    try {
      await storage.list(PREFIX);
      for (let i = 0; i < 200; i++) {
        const name = `t${Math.floor(random.float() * 8)}`;
        const { entry } = await other.storage.get(key(name));
        if (entry === undefined) await other.storage.create(key(name), thing(name, i));
        else if (random.float() < 0.4) await other.storage.delete(key(name), entry.modRevision);
        else await other.storage.update(key(name), thing(name, i), entry.modRevision);
        const written = await other.storage.currentRevision();
        const { revision } = await storage.list(PREFIX);
        expect(revision).toBeGreaterThanOrEqual(written);
        const fromEtcd = await shown(storage, { atRevision: revision });
        expect(await shown(storage), `write ${i}`).toBe(fromEtcd);
      }
    } finally {
      await other.storage.close();
      await stop();
    }
  });

  test("a value that cannot be read is in no list, also beside changes", async () => {
    const { storage, etcd, stop } = await openOwnEtcd();
    try {
      await etcd.ctl("put", key("broken"), "{");
      await storage.create(key("a"), thing("a"));
      expect((await storage.list(PREFIX)).entries.map((one) => one.key)).toEqual([key("a")]);
      await etcd.ctl("put", key("worse"), "}");
      expect((await storage.list(PREFIX)).entries.map((one) => one.key)).toEqual([key("a")]);
      await assert.rejects(storage.get(key("broken"), CACHED), { code: 500 });
      await etcd.ctl("del", key("broken"));
      await etcd.ctl("del", key("worse"));
      expect((await storage.list(PREFIX)).entries.map((one) => one.key)).toEqual([key("a")]);
    } finally {
      await stop();
    }
  });

  test("watches learn how far etcd has come, also while their resource does not change", async () => {
    const { storage, stop } = await openOwnEtcd({}, ["--experimental-watch-progress-notify-interval=100ms"]);
    const any = new AbortController();
    try {
      const start = await storage.currentRevision();
      const seen: string[] = [];
      const read = async (prefix: string) => {
        for await (const { type, revision } of storage.watchWithProgress(prefix, start, any.signal)) {
          seen.push(`${type} ${revision - start}`);
        }
      };
      // The cache's watch, and one of etcd.
      const reading = Promise.all([read(PREFIX), read("/registry/")]);
      await storage.create("/registry/others/a", thing("a"));
      await storage.create("/registry/others/b", thing("b"));
      await expect.poll(() => seen.filter((one) => one === "progress 2").length).toBeGreaterThan(3);
      expect(seen.filter((one) => one.startsWith("put"))).toEqual(["put 1", "put 2"]);
      any.abort();
      await reading;
      const changes = storage.watch(PREFIX, start, AbortSignal.timeout(500));
      for await (const { type } of changes) assert.fail(`${type} is no change`);
    } finally {
      any.abort();
      await stop();
    }
  });

  test("a watch from before the cache's time joins it once it has caught up", async () => {
    const { storage, etcd, stop } = await openOwnEtcd();
    try {
      const start = await storage.currentRevision();
      await storage.create(key("a"), thing("a"));
      await storage.list(PREFIX, CACHED);
      const seen: string[] = [];
      const reading = (async () => {
        for await (const event of storage.watch(PREFIX, start, new AbortController().signal)) {
          if (seen.push(event.key) === 3) break;
        }
      })();
      await expect.poll(() => seen).toEqual([key("a")]);
      await storage.create(key("b"), thing("b"));
      await expect.poll(() => seen.length).toBe(2);
      // One watch is left: the cache's.
      await expect.poll(async () => (await watchers(etcd.url)).trim()).toBe("1");
      await storage.create(key("c"), thing("c"));
      await reading;
    } finally {
      await stop();
    }
  });
});

/** How many watches etcd has. */
async function watchers(url: string): Promise<string> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return /^etcd_debugging_mvcc_watcher_total (\d+)$/m.exec(text)?.[1] ?? "";
}
