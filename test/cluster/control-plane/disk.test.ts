import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startControlPlane } from "../../../src/cluster/control-plane/start.js";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import type { RestConfig } from "../../../src/staging/client-go/rest/client.js";
import { createClient } from "../../../src/staging/client-go/rest/create-client.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";

const clock = new SystemClock();
const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default";

test("a control plane on disk ends and starts again: the same objects, CA and tokens, and a watch that resumes", async () => {
  const folder = mkdtempSync(join(tmpdir(), "kubelab-data-"));
  const start = () => startControlPlane({ ...deps, kubeVersion: "1.25", disk: { folder, fsync: "never" } });
  const clientOf = (admin: RestConfig) => createClient(admin, { ...deps, actor: "user" });
  try {
    const first = await start();
    await using before = clientOf(first.admin);
    const body = (name: string) => ({ kind: "ConfigMap", apiVersion: "v1", metadata: { name } });
    const made = await before.expect<KubeObject>({ method: "POST", path: CONFIG_MAPS, body: body("a") });
    await before.expect({ method: "POST", path: CONFIG_MAPS, body: body("b") });
    await expect.poll(async () => (await before.request({ method: "GET", path: ACCOUNT })).status).toBe(200);
    const request = {
      kind: "TokenRequest",
      apiVersion: "authentication.k8s.io/v1",
      metadata: {},
      spec: { audiences: [] },
    };
    const path = `${ACCOUNT}/token`;
    const issued = await before.expect<{ status: { token: string } }>({ method: "POST", path, body: request });
    await first.close();

    await using second = await start();
    expect(second.caPem).toBe(first.caPem);
    // The old administrator's certificate is still good, and so is the token.
    await using after = clientOf({ ...first.admin, server: second.url });
    expect((await after.expect<KubeObject>({ method: "GET", path: `${CONFIG_MAPS}/a` })).metadata).toEqual(
      made.metadata,
    );
    await using account = clientOf({ server: second.url, caPem: second.caPem, token: issued.status.token });
    expect((await account.request({ method: "GET", path: CONFIG_MAPS })).status, "known, without rights").toBe(403);
    const { resourceVersion } = made.metadata;
    const stop = new AbortController();
    for await (const { type, object } of after.watch(CONFIG_MAPS, { resourceVersion }, stop.signal)) {
      expect([type, object.metadata.name]).toEqual(["ADDED", "b"]);
      break;
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
