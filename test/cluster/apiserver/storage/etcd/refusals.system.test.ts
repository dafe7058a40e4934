import assert from "node:assert/strict";
import { expect, test } from "vitest";
import { createRegistry } from "../../../../../src/cluster/apiserver/registry/generic/create-registry.js";
import type { EtcdStorage } from "../../../../../src/cluster/apiserver/storage/etcd/store.js";
import type { KubeObject, WatchEvent } from "../../../../../src/staging/apimachinery/api/meta.js";
import { FakeClock, FakeRandom } from "../../../../support/fake-clock.js";
import { suiteNeeding } from "../../../../support/requirements.js";
import { TcpProxy } from "../../../../support/tcp-proxy.js";
import { recordingTrace } from "../../../../support/trace.js";
import { configMap, contextOf, ROWS, refusal } from "../../registry/rows.js";
import { openOwnEtcd, openStorage } from "./fixtures.js";

/** The stores of an API server over the storage. */
function configMapsOn(storage: EtcdStorage) {
  const clock = new FakeClock();
  const { trace } = recordingTrace(clock);
  const options = { random: new FakeRandom(), definitions: ROWS, admission: [], kubeVersion: "1.25" };
  return createRegistry({ storage, clock, trace, ...options }).store("configmaps");
}

async function nextOf(events: AsyncIterable<WatchEvent>): Promise<string> {
  for await (const { type, object } of events) {
    const { code, reason, message } = object as KubeObject & Record<string, unknown>;
    return type === "ERROR" ? `${type} ${String(code)} ${String(reason)} ${String(message)}` : type;
  }
  return "no event";
}

suiteNeeding(["etcd"], "refusals of etcd, as clients of the API server see them", () => {
  test("compacted: a list that continues, an exact list and a watch get 410, and the list has a token to go on with", async () => {
    const { storage, stop } = await openOwnEtcd();
    try {
      const store = configMapsOn(storage);
      for (const name of ["a", "b", "c"]) await store.create(contextOf(), "default", configMap(name));
      const first = await store.list("default", { limit: 1 });
      await store.create(contextOf(), "default", configMap("bb"));
      await storage.compact(await storage.currentRevision());
      const token = first.metadata.continue ?? "";
      const { code, reason, message, metadata } = await refusal(store.list("default", { limit: 1, continue: token }));
      assert.deepEqual([code, reason], [410, "Expired"]);
      assert.match(
        message ?? "",
        /^The provided continue parameter is too old to display a consistent list result\. You can/,
      );
      const rest = await store.list("default", { continue: String(metadata?.["continue"]) });
      assert.deepEqual(
        rest.items.map((one) => one.metadata.name),
        ["b", "bb", "c"],
      );
      const resourceVersion = first.metadata.resourceVersion ?? "";
      const exact = store.list("default", { resourceVersion, resourceVersionMatch: "Exact" });
      assert.equal((await refusal(exact)).message, "The resourceVersion for the provided list is too old.");
      const watch = store.watch("default", { resourceVersion: "1" }, AbortSignal.timeout(10_000));
      assert.match(await nextOf(watch), /^ERROR 410 Expired too old resource version: 1 \(\d+\)$/);
    } finally {
      await stop();
    }
  });

  test("compacted while the connection was cut: the shared watch ends its readers with 410, and starts anew", async () => {
    const { storage: direct, etcd, stop } = await openOwnEtcd();
    const proxy = await TcpProxy.open(Number(new URL(etcd.url).port));
    const { storage } = await openStorage({ servers: [`http://127.0.0.1:${proxy.port}`] });
    try {
      const store = configMapsOn(storage);
      const { metadata } = await store.list("default", { resourceVersion: "0" });
      const watching = nextOf(
        store.watch("default", { resourceVersion: metadata.resourceVersion ?? "" }, AbortSignal.timeout(30_000)),
      );
      proxy.cut();
      const elsewhere = configMapsOn(direct);
      for (const name of ["a", "b"]) await elsewhere.create(contextOf(), "default", configMap(name));
      await direct.compact(await direct.currentRevision());
      proxy.mend();
      assert.match(await watching, /^ERROR 410 Expired too old resource version/);
      const read = () => store.list("default", { resourceVersion: "0" }).then(({ items }) => items.length);
      await expect.poll(() => read().catch(() => 0)).toBe(2);
    } finally {
      await storage.close();
      await proxy.close();
      await stop();
    }
  });

  test("the space alarm: writes get 500 with etcd's words, reads and deletions go on, and so do writes once there is room", async () => {
    const { storage, etcd, stop } = await openOwnEtcd({}, ["--quota-backend-bytes=400000"]);
    try {
      const store = configMapsOn(storage);
      const filler = "x".repeat(50_000);
      const names: string[] = [];
      const fill = async () => {
        for (let i = 0; i < 50; i++) {
          await store.create(contextOf(), "default", configMap(`f${i}`, { filler }));
          names.push(`f${i}`);
        }
      };
      const { code, message } = await refusal(fill());
      assert.deepEqual([code, message], [500, "etcdserver: mvcc: database space exceeded"]);
      for (const { check } of storage.health.checks) await check?.();
      assert.equal((await store.list("default", {})).items.length, names.length);
      assert.equal((await store.get("default", "f0")).metadata.name, "f0");
      for (const name of names) await store.delete(contextOf(), "default", name);
      await storage.compact(await storage.currentRevision());
      await etcd.ctl("defrag");
      await etcd.ctl("alarm", "disarm");
      await store.create(contextOf(), "default", configMap("a"));
    } finally {
      await stop();
    }
  });
});
