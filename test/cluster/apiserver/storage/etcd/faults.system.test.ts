import assert from "node:assert/strict";
import { expect, test } from "vitest";
import { EtcdClient } from "../../../../../src/cluster/apiserver/storage/etcd/client.js";
import { Compactor } from "../../../../../src/cluster/apiserver/storage/etcd/compactor.js";
import { openEndpoints } from "../../../../../src/cluster/apiserver/storage/etcd/endpoints.js";
import { TXN } from "../../../../../src/cluster/apiserver/storage/etcd/rpcs.js";
import type { EtcdStorage } from "../../../../../src/cluster/apiserver/storage/etcd/store.js";
import { CompactedError, type StorageEvent } from "../../../../../src/cluster/apiserver/storage/storage.js";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import { StatusError } from "../../../../../src/staging/apimachinery/errors.js";
import { encodeProtobuf } from "../../../../../src/staging/apimachinery/scheme/protobuf/envelope.js";
import { suiteNeeding } from "../../../../support/requirements.js";
import { openOwnEtcd, openStorage, TYPED_PREFIX } from "./fixtures.js";

const PREFIX = "/registry/things/";
const key = (name: string) => `${PREFIX}${name}`;
const anySignal = () => new AbortController().signal;

function thing(name: string, value = 0): KubeObject {
  return { kind: "Thing", apiVersion: "v1", metadata: { name }, value };
}

async function read(events: AsyncIterable<StorageEvent>, count: number): Promise<string[]> {
  const seen: string[] = [];
  for await (const { type, key: one, object } of events) {
    if (seen.push(`${type} ${one.slice(one.lastIndexOf("/") + 1)} ${String(object["value"])}`) === count) break;
  }
  return seen;
}

async function checksOf({ health }: EtcdStorage): Promise<string[]> {
  const results = [...health.checks, ...health.components].map(async ({ name, check }) =>
    (async () => check?.())().then(
      () => `${name} ok`,
      () => `${name} failed`,
    ),
  );
  return Promise.all(results);
}

suiteNeeding(["etcd"], "faults of etcd", () => {
  test("etcd ends and comes back: requests get 5xx with its address, and watches go on without a gap", async () => {
    const { storage, etcd, stop } = await openOwnEtcd();
    try {
      const start = await storage.currentRevision();
      const shared = read(storage.watch(PREFIX, start, anySignal()), 4);
      const own = read(storage.watch("/registry/", start, anySignal()), 4);
      const first = await storage.create(key("a"), thing("a"));
      await etcd.goDown();
      const requests = [
        () => storage.get(key("a")),
        () => storage.create(key("b"), thing("b")),
        () => storage.list(PREFIX),
      ];
      for (const request of requests) {
        const error = await request().then(
          () => undefined,
          (reason: unknown) => reason,
        );
        assert(error instanceof StatusError);
        expect(error.code).toBe(500);
        expect(error.message).toContain(etcd.url);
      }
      expect(await checksOf(storage)).toEqual(["etcd failed", "etcd-readiness failed", "etcd-0 failed"]);
      await etcd.comeBack();
      await expect
        .poll(() => checksOf(storage), { timeout: 10_000 })
        .toEqual(["etcd ok", "etcd-readiness ok", "etcd-0 ok"]);
      await storage.update(key("a"), thing("a", 1), first?.modRevision ?? 0);
      await storage.create(key("b"), thing("b", 2));
      const { entry } = await storage.get(key("b"));
      await storage.delete(key("b"), entry?.modRevision ?? 0);
      const changes = ["put a 0", "put a 1", "put b 2", "delete b 2"];
      expect(await shared).toEqual(changes);
      expect(await own).toEqual(changes);
    } finally {
      await stop();
    }
  });

  test("a stopped etcd: 504 after the time of a request, health checks fail, and it goes on afterwards", async () => {
    const { storage, etcd, stop } = await openOwnEtcd({ requestTimeoutMs: 200, healthTimeoutMs: 100 });
    try {
      const written = await storage.create(key("a"), thing("a"));
      const reading = read(storage.watch(PREFIX, written?.modRevision ?? 0, anySignal()), 1);
      etcd.pause();
      const codeOf = () =>
        storage.get(key("a")).then(
          () => 200,
          (error: StatusError) => `${error.code} ${error.reason}`,
        );
      // A signal is not obeyed at once.
      await expect.poll(codeOf).toBe("504 Timeout");
      // With retryAfterSeconds, even 0, clients of Go would send the request ten times.
      await assert.rejects(storage.list(PREFIX), ({ status }: StatusError) => {
        return status.code === 504 && status.details?.retryAfterSeconds === undefined;
      });
      expect(await checksOf(storage)).toEqual(["etcd failed", "etcd-readiness failed", "etcd-0 failed"]);
      etcd.continue();
      await expect
        .poll(() => storage.update(key("a"), thing("a", 1), written?.modRevision ?? 0).catch(() => undefined))
        .toBeDefined();
      expect(await reading).toEqual(["put a 1"]);
    } finally {
      etcd.continue();
      await stop();
    }
  });

  test("of two servers one is enough", async () => {
    const { etcd, stop } = await openOwnEtcd();
    const { storage } = await openStorage({ servers: ["http://127.0.0.1:1", etcd.url] });
    try {
      expect(await storage.create(key("a"), thing("a"))).toBeDefined();
      expect((await storage.list(PREFIX)).entries).toHaveLength(1);
      expect(await checksOf(storage)).toEqual(["etcd ok", "etcd-readiness ok", "etcd-0 failed", "etcd-1 ok"]);
    } finally {
      await storage.close();
      await stop();
    }
  });

  test("a value that cannot be read fails alone, named by its key; watchers see it vanish", async () => {
    const { storage, etcd, problems, stop } = await openOwnEtcd();
    try {
      const start = await storage.currentRevision();
      const reading = read(storage.watch(PREFIX, start, anySignal()), 5);
      for (const name of ["a", "b", "c"]) await storage.create(key(name), thing(name));
      await etcd.ctl("put", key("b"), "{broken");
      await etcd.ctl("put", key("foreign"), "not ours");
      await etcd.ctl("put", key("half"), '{"kind":"Thing"}');
      const { entries, remainingCount } = await storage.list(PREFIX);
      expect(entries.map(({ object }) => object.metadata.name)).toEqual(["a", "c"]);
      expect(remainingCount).toBe(0);
      // A page of nothing but such values is not the end of the list.
      const page = await storage.list(PREFIX, { limit: 1, afterKey: key("a") });
      expect(page.entries.map((one) => one.key)).toEqual([key("c")]);
      await assert.rejects(storage.get(key("foreign")), {
        code: 500,
        message: /"\/registry\/things\/foreign": it is neither JSON/,
      });
      await storage.create(key("d"), thing("d"));
      expect(await reading).toEqual(["put a 0", "put b 0", "put c 0", "delete b 0", "put d 0"]);
      // Each once, though two lists have met them.
      expect(problems.map((one) => /things\/(\w+)/.exec(one)?.[1]).sort()).toEqual(["b", "foreign", "half"]);
    } finally {
      await stop();
    }
  });

  test("values as kube-apiserver writes them: JSON with a line feed, without resourceVersion; it also reads protobuf", async () => {
    const { storage, etcd, stop } = await openOwnEtcd();
    try {
      const object = {
        kind: "ConfigMap",
        apiVersion: "v1",
        metadata: { name: "a", namespace: "n", resourceVersion: "9" },
        data: { x: "1" },
      };
      await storage.create(`${TYPED_PREFIX}n/a`, object);
      const text = await etcd.ctl("get", "--print-value-only", `${TYPED_PREFIX}n/a`);
      expect(text).toBe(
        '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"n"},"data":{"x":"1"}}\n\n',
      );

      const { metadata: _, ...rest } = object;
      const bytes = encodeProtobuf({ ...rest, metadata: { name: "b", namespace: "n" } });
      assert(bytes !== undefined);
      const client = new EtcdClient(await openEndpoints({ servers: [etcd.url] }));
      const put = { requestPut: { key: Buffer.from(`${TYPED_PREFIX}n/b`), value: bytes } };
      await client.call(TXN, { success: [put] }, { timeoutMs: 10_000 });
      client.close();
      const { entry } = await storage.get(`${TYPED_PREFIX}n/b`);
      expect(entry?.object).toMatchObject({
        kind: "ConfigMap",
        apiVersion: "v1",
        metadata: { name: "b" },
        data: { x: "1" },
      });

      await etcd.ctl("put", `${TYPED_PREFIX}n/pod`, '{"kind":"Pod","apiVersion":"v1","metadata":{"name":"pod"}}');
      await assert.rejects(storage.get(`${TYPED_PREFIX}n/pod`), /it is a Pod, not a ConfigMap/);
    } finally {
      await stop();
    }
  });

  test("keys with a time to live share a lease, and etcd deletes them", async () => {
    const { storage, etcd, stop } = await openOwnEtcd();
    try {
      const start = await storage.currentRevision();
      await storage.create(key("a"), thing("a"), { ttlSeconds: 3600 });
      await storage.create(key("b"), thing("b"), { ttlSeconds: 3600 });
      expect(await etcd.ctl("lease", "list")).toMatch(/found 1 leases/);
      await storage.create(key("soon"), thing("soon"), { ttlSeconds: 1 });
      const changes = ["put a 0", "put b 0", "put soon 0", "delete soon 0"];
      expect(await read(storage.watch(PREFIX, start, anySignal()), 4)).toEqual(changes);
      expect((await storage.list(PREFIX)).entries).toHaveLength(2);
    } finally {
      await stop();
    }
  });

  test("of the compactors of one etcd one compacts, to the revision of its turn before", async () => {
    const { storage, etcd, stop } = await openOwnEtcd();
    const client = new EtcdClient(await openEndpoints({ servers: [etcd.url] }));
    const [one, other] = [new Compactor(client, 10_000), new Compactor(client, 10_000)];
    try {
      const first = await storage.create(key("a"), thing("a"));
      expect(await one.compact()).toBe(undefined);
      expect(await other.compact()).toBe(undefined);
      const second = await storage.update(key("a"), thing("a", 1), first?.modRevision ?? 0);
      const compacted = await one.compact();
      expect(compacted).toBeGreaterThan(first?.modRevision ?? 0);
      expect(compacted).toBeLessThan(second?.modRevision ?? 0);
      expect(await other.compact()).toBe(undefined);
      const past = storage.list(PREFIX, { atRevision: first?.modRevision ?? 0 });
      await assert.rejects(past, CompactedError);
    } finally {
      client.close();
      await stop();
    }
  });
});
