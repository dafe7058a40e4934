import assert from "node:assert/strict";
import { expect, test } from "vitest";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import { suiteNeeding } from "../../../../support/requirements.js";
import { openOwnEtcd } from "./fixtures.js";

const key = (name: string) => `/registry/things/${name}`;

function thing(name: string): KubeObject {
  return { kind: "Thing", apiVersion: "v1", metadata: { name } };
}

/** How many calls of a method etcd has answered. */
async function calls(url: string, method: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const count = new RegExp(`^grpc_server_handled_total\\{grpc_code="OK",grpc_method="${method}".* (\\d+)$`, "m");
  return Number(count.exec(text)?.[1] ?? 0);
}

suiteNeeding(["etcd"], "gets of one turn", () => {
  test("300 gets are three transactions, and each has its own answer", async () => {
    const { storage, etcd, stop } = await openOwnEtcd();
    try {
      const written = await storage.create(key("a"), thing("a"));
      await etcd.ctl("put", key("broken"), "{");
      const before = [await calls(etcd.url, "Range"), await calls(etcd.url, "Txn")];
      const names = Array.from({ length: 300 }, (_, i) => ["a", "none", "broken"][i % 3] as string);
      const results = await Promise.allSettled(names.map((name) => storage.get(key(name))));
      for (const [index, result] of results.entries()) {
        if (names[index] === "broken") {
          assert(result.status === "rejected");
          expect(result.reason).toMatchObject({ code: 500, key: key("broken") });
          continue;
        }
        assert(result.status === "fulfilled");
        const { entry, revision } = result.value;
        expect(revision).toBe((written?.modRevision ?? 0) + 1);
        expect(entry?.modRevision).toBe(names[index] === "a" ? written?.modRevision : undefined);
      }
      expect([await calls(etcd.url, "Range"), await calls(etcd.url, "Txn")]).toEqual([before[0], (before[1] ?? 0) + 3]);
      await storage.get(key("a"));
      expect(await calls(etcd.url, "Range")).toBe((before[0] ?? 0) + 1);
    } finally {
      await stop();
    }
  });

  test("all fail when etcd does not answer", async () => {
    const { storage, etcd, stop } = await openOwnEtcd({ requestTimeoutMs: 100 });
    try {
      etcd.pause();
      await expect.poll(() => storage.get(key("a")).catch(({ code }) => code)).toBe(504);
      const results = await Promise.allSettled(["a", "b"].map((name) => storage.get(key(name))));
      expect(results.map((one) => one.status === "rejected" && one.reason.code)).toEqual([504, 504]);
    } finally {
      etcd.continue();
      await stop();
    }
  });
});
