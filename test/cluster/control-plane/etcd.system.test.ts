import { expect, test } from "vitest";
import type { ControlPlane } from "../../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../../src/cluster/control-plane/start.js";
import type { KubeList, KubeObject, Status } from "../../../src/staging/apimachinery/api/meta.js";
import type { KubeRequest } from "../../../src/staging/client-go/rest/client.js";
import { createClient } from "../../../src/staging/client-go/rest/create-client.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { LabError } from "../../../src/util/errors.js";
import { SystemRandom } from "../../../src/util/random.js";
import { SMALL, TestEtcd } from "../../support/etcd.js";
import { suiteNeeding } from "../../support/requirements.js";

const clock = new SystemClock();
const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };

function start(etcd: TestEtcd, port = 0): Promise<ControlPlane> {
  return startControlPlane({ ...deps, kubeVersion: "1.25", port, etcd: { servers: [etcd.url] } });
}

async function ask<T>(
  { admin }: Pick<ControlPlane, "admin">,
  request: KubeRequest,
): Promise<{ status: number; body: T }> {
  await using client = createClient(admin, { ...deps, actor: "user" });
  return await client.request<T>(request);
}

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const configMap = (name: string) => ({ kind: "ConfigMap", apiVersion: "v1", metadata: { name } });

suiteNeeding(["etcd"], "a control plane on etcd", () => {
  test("it ends and starts again: the same objects, CA and tokens, and a watch that resumes where it was", async () => {
    const etcd = await TestEtcd.start();
    try {
      const first = await start(etcd);
      // The controllers' first objects come before the watch.
      const rootCa = { method: "GET", path: `${CONFIG_MAPS}/kube-root-ca.crt` } as const;
      await expect.poll(async () => (await ask(first, rootCa)).status, { timeout: 10_000 }).toBe(200);
      const created = await ask<KubeObject>(first, { method: "POST", path: CONFIG_MAPS, body: configMap("a") });
      await ask(first, { method: "POST", path: CONFIG_MAPS, body: configMap("b") });
      const account = "/api/v1/namespaces/default/serviceaccounts/default";
      await expect.poll(async () => (await ask(first, { method: "GET", path: account })).status).toBe(200);
      const spec = {
        kind: "TokenRequest",
        apiVersion: "authentication.k8s.io/v1",
        metadata: {},
        spec: { audiences: [] },
      };
      const issued = await ask<{ status: { token: string } }>(first, {
        method: "POST",
        path: `${account}/token`,
        body: spec,
      });
      await first.close();

      await using second = await start(etcd);
      expect(second.caPem).toBe(first.caPem);
      // The old administrator's certificate is still good, and so is the token.
      const old = { admin: { ...first.admin, server: second.url } };
      const list = await ask<KubeList>(old, { method: "GET", path: CONFIG_MAPS });
      expect(list.body.items.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining(["a", "b"]));
      const review = {
        kind: "TokenReview",
        apiVersion: "authentication.k8s.io/v1",
        metadata: {},
        spec: { token: issued.body.status.token },
      };
      const path = "/apis/authentication.k8s.io/v1/tokenreviews";
      const { body } = await ask<KubeObject>(second, { method: "POST", path, body: review });
      expect(body["status"]).toMatchObject({
        authenticated: true,
        user: { username: "system:serviceaccount:default:default" },
      });

      await using client = createClient(second.admin, { ...deps, actor: "user" });
      const resourceVersion = created.body.metadata.resourceVersion;
      const stop = new AbortController();
      for await (const { type, object } of client.watch(CONFIG_MAPS, { resourceVersion }, stop.signal)) {
        expect([type, object.metadata.name]).toEqual(["ADDED", "b"]);
        break;
      }
    } finally {
      await etcd.stop();
    }
  });

  test("health checks and componentstatuses name etcd; without it they fail and requests get 5xx", async () => {
    const etcd = await TestEtcd.start();
    try {
      await using controlPlane = await start(etcd);
      const ready = () => ask<string>(controlPlane, { method: "GET", path: "/readyz", query: { verbose: true } });
      expect((await ready()).body).toContain("[+]etcd ok\n[+]etcd-readiness ok\n");
      const statuses = { method: "GET", path: "/api/v1/componentstatuses/etcd-0" } as const;
      const health = async () => (await ask<KubeObject>(controlPlane, statuses)).body["conditions"];
      expect(await health()).toEqual([{ type: "Healthy", status: "True", message: "ok" }]);
      await etcd.goDown();
      const failed = await ready();
      expect([failed.status, failed.body]).toEqual([500, expect.stringContaining("[-]etcd failed: reason withheld\n")]);
      expect(await health()).toEqual([
        { type: "Healthy", status: "False", message: expect.stringContaining(etcd.url) },
      ]);
      const read = await ask<KubeObject>(controlPlane, { method: "GET", path: `${CONFIG_MAPS}/a` });
      expect([read.status, read.body.kind]).toEqual([500, "Status"]);
      await etcd.comeBack();
      await expect.poll(async () => (await ready()).status, { timeout: 10_000 }).toBe(200);
      expect((await ask(controlPlane, { method: "POST", path: CONFIG_MAPS, body: configMap("a") })).status).toBe(201);
    } finally {
      await etcd.stop();
    }
  });

  test("an etcd without room: reads go on, writes get its words, and the cluster cannot be continued", async () => {
    const etcd = await TestEtcd.start(undefined, SMALL);
    try {
      const why = "etcdserver: mvcc: database space exceeded";
      {
        await using controlPlane = await start(etcd);
        await etcd.fill();
        const request = { method: "POST", path: CONFIG_MAPS, body: configMap("a") } as const;
        const { status, body } = await ask<Status>(controlPlane, request);
        expect([status, body.message]).toEqual([500, why]);
        expect((await ask(controlPlane, { method: "GET", path: CONFIG_MAPS })).status).toBe(200);
      }
      await expect(start(etcd)).rejects.toMatchObject({
        code: "REFUSED",
        message: `etcd has no room: ${etcd.url}: ${why}`,
        hint: expect.stringContaining("etcdctl alarm disarm"),
      });
    } finally {
      await etcd.stop();
    }
  });

  test("etcd deletes events, so no controller does; a start that fails leaves no connection", async () => {
    const etcd = await TestEtcd.start();
    try {
      await using controlPlane = await start(etcd);
      const event = {
        kind: "Event",
        apiVersion: "v1",
        metadata: { name: "e" },
        involvedObject: { namespace: "default" },
        reason: "Test",
      };
      const path = "/api/v1/namespaces/default/events";
      expect((await ask(controlPlane, { method: "POST", path, body: event })).status).toBe(201);
      const stored = JSON.parse(await etcd.ctl("get", "/registry/events/default/e", "-w", "json")) as {
        kvs: { lease?: number }[];
      };
      expect(stored.kvs[0]?.lease).toBeGreaterThan(0);
      const port = Number(new URL(controlPlane.url).port);
      await expect(start(etcd, port)).rejects.toThrow(LabError);
    } finally {
      await etcd.stop();
    }
  });
});
