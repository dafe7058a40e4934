import assert from "node:assert/strict";
import { test } from "vitest";
import type { KubeClient, RestConfig } from "../../../../src/staging/client-go/rest/client.js";
import { SwitchingClient } from "../../../../src/staging/client-go/rest/switching-client.js";
import { settle } from "../../../support/fake-clock.js";
import { MemoryClient } from "../../../support/memory-client.js";

test("current requests end on the old connections, later ones use the new identity", async () => {
  const closed: string[] = [];
  const release: (() => void)[] = [];
  class SlowClient extends MemoryClient {
    override async request<T>(...args: Parameters<KubeClient["request"]>) {
      await new Promise<void>((resolve) => release.push(resolve));
      return super.request<T>(...args);
    }
    override async close(): Promise<void> {
      closed.push(this.config.server);
    }
  }
  const create = (config: RestConfig) => new SlowClient(() => ({ status: 200, body: { by: config.server } }), config);
  const client = new SwitchingClient({ server: "old" }, create);
  const first = client.request<{ by: string }>({ method: "GET", path: "/a" });
  await client.switchTo({ server: "new" });
  const second = client.request<{ by: string }>({ method: "GET", path: "/b" });
  assert.deepEqual(closed, []);
  for (const one of release) one();
  assert.equal((await first).body.by, "old");
  assert.equal((await second).body.by, "new");
  assert.deepEqual(closed, ["old"]);
  assert.equal(client.config.server, "new");
});

test("a watch keeps its connection until it ends", async () => {
  const closed: string[] = [];
  class Client extends MemoryClient {
    override async close(): Promise<void> {
      closed.push(this.config.server);
    }
  }
  const made: Client[] = [];
  const client = new SwitchingClient({ server: "old" }, (config) => {
    const one = new Client(() => ({ status: 200 }), config);
    made.push(one);
    return one;
  });
  const stop = new AbortController();
  const watching = (async () => {
    for await (const _ of client.watch("/w", {}, stop.signal));
  })();
  await settle();
  await client.switchTo({ server: "new" });
  assert.deepEqual(closed, []);
  stop.abort();
  await watching;
  assert.deepEqual(closed, ["old"]);
  assert.equal(made[0]?.watches.length, 1);
});
