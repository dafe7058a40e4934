import assert from "node:assert/strict";
import { expect, test } from "vitest";
import { CompactedError, type StorageEvent } from "../../../../../src/cluster/apiserver/storage/storage.js";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import { suiteNeeding } from "../../../../support/requirements.js";
import { openOwnEtcd } from "./fixtures.js";

const PREFIX = "/registry/things/";
const KEY = `${PREFIX}a`;
const CACHED = { notOlderThan: 0 };

function thing(value: number): KubeObject {
  return { kind: "Thing", apiVersion: "v1", metadata: { name: "a" }, value };
}

async function toEnd(events: AsyncIterable<StorageEvent>): Promise<void> {
  for await (const _ of events);
}

suiteNeeding(["etcd"], "etcd without its data", () => {
  test("a watch finds out by itself: all watchers must list again, and the next ones see what there is", async () => {
    const { storage, etcd, problems, stop } = await openOwnEtcd();
    try {
      const start = await storage.currentRevision();
      const any = new AbortController().signal;
      const watches = [PREFIX, "/registry/"].map((prefix) => toEnd(storage.watch(prefix, start, any)));
      const ends = Promise.allSettled(watches);
      await storage.list(PREFIX, CACHED);
      for (let i = 0, revision = 0; i < 5; i++) {
        const written = i === 0 ? storage.create(KEY, thing(i)) : storage.update(KEY, thing(i), revision);
        revision = (await written)?.modRevision ?? 0;
      }
      await etcd.loseData();
      for (const end of await ends) {
        assert(end.status === "rejected");
        expect(end.reason).toBeInstanceOf(CompactedError);
      }
      expect(problems).toEqual([
        `etcd has lost its data after revision 1: it had come to ${start + 5}. All watchers list again.`,
      ]);
      const { entries, revision } = await storage.list(PREFIX, CACHED);
      expect(entries).toEqual([]);
      const next = storage.watch(PREFIX, revision, any)[Symbol.asyncIterator]().next();
      await storage.create(KEY, thing(9));
      expect((await next).value.object.value).toBe(9);
    } finally {
      await stop();
    }
  });

  test("a revision that comes again has its new object", async () => {
    const { storage, etcd, stop } = await openOwnEtcd();
    try {
      const first = await storage.create(KEY, thing(1), { ttlSeconds: 3600 });
      await storage.update(KEY, thing(2), first?.modRevision ?? 0, { ttlSeconds: 3600 });
      await etcd.loseData();
      await etcd.ctl("put", KEY, JSON.stringify(thing(7)));
      const read = () => storage.get(KEY).then(({ entry }) => entry);
      const entry = await expect
        .poll(() => read().catch(() => undefined))
        .toBeDefined()
        .then(read);
      expect(entry?.modRevision).toBe(first?.modRevision);
      expect(entry?.object["value"]).toBe(7);
      expect((await storage.get(KEY, CACHED)).entry?.object["value"]).toBe(7);
      // The lease of before is gone as well.
      expect(await storage.create(`${PREFIX}b`, thing(1), { ttlSeconds: 3600 })).toBeDefined();
    } finally {
      await stop();
    }
  });
});
