import { expect, test } from "vitest";
import type { ControlPlane } from "../../../src/cluster/control-plane/control-plane.js";
import { startControlPlane } from "../../../src/cluster/control-plane/start.js";
import type { KubeList, KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import type { KubeClient, KubeRequest } from "../../../src/staging/client-go/rest/client.js";
import { createClient } from "../../../src/staging/client-go/rest/create-client.js";
import { Trace } from "../../../src/trace/trace.js";
import { SystemClock } from "../../../src/util/clock.js";
import { SystemRandom } from "../../../src/util/random.js";
import { TestEtcd } from "../../support/etcd.js";
import { suiteNeeding } from "../../support/requirements.js";

const SPEED = 10;
const clock = new SystemClock(SPEED);
const deps = { clock, random: new SystemRandom(), trace: new Trace(clock) };
const DNS = { udpPort: 40_001, tcpPort: 40_001 };
const IN_DEFAULT = "/api/v1/namespaces/default";

function start(etcd: TestEtcd, serverId: string, dnsPort = DNS.udpPort): Promise<ControlPlane> {
  const clusterDns = { udpPort: dnsPort, tcpPort: dnsPort };
  return startControlPlane({ ...deps, kubeVersion: "1.25", etcd: { servers: [etcd.url] }, serverId, clusterDns });
}

function clientOf({ admin }: ControlPlane): KubeClient {
  return createClient(admin, { ...deps, actor: "user" });
}

async function get<T = KubeObject>(client: KubeClient, path: string): Promise<T> {
  return (await client.request<T>({ method: "GET", path })).body;
}

const holder = async (client: KubeClient, component: string) => {
  const lease = await get(client, `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/${component}`);
  return (lease["spec"] as { holderIdentity?: string } | undefined)?.holderIdentity?.split("_")[1];
};

suiteNeeding(["etcd"], "two control planes on one etcd", () => {
  test("one leads; when it ends, the other leads at once, and its endpoints and name server are gone", async () => {
    const etcd = await TestEtcd.start();
    try {
      await using first = await start(etcd, "first");
      await using ofFirst = clientOf(first);
      await expect.poll(() => holder(ofFirst, "kube-controller-manager"), { timeout: 10_000 }).toBe("first");
      await expect.poll(() => holder(ofFirst, "kube-scheduler"), { timeout: 10_000 }).toBe("first");
      await using second = await start(etcd, "second", 40_002);
      await using client = clientOf(second);
      expect(second.caPem).toBe(first.caPem);
      const ports = async (path: string) => {
        const { subsets } = await get<{ subsets: { ports: { port: number }[] }[] }>(client, path);
        return subsets.map(({ ports: [port] }) => port?.port);
      };
      const slices = async () => {
        const path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
        return (await get<KubeList>(client, path)).items.length;
      };
      const portOf = ({ url }: ControlPlane) => Number(new URL(url).port);
      const kubernetes = `${IN_DEFAULT}/endpoints/kubernetes`;
      const dns = "/api/v1/namespaces/kube-system/endpoints/kube-dns";
      expect((await ports(kubernetes)).sort()).toEqual([portOf(first), portOf(second)].sort());
      expect(await ports(dns)).toEqual([40_001, 40_002]);
      expect(await slices()).toBe(2);

      await first.close();
      expect(await ports(kubernetes)).toEqual([portOf(second)]);
      expect(await ports(dns)).toEqual([40_002]);
      expect(await slices()).toBe(1);
      await expect.poll(() => holder(client, "kube-controller-manager"), { timeout: 10_000 }).toBe("second");
      await expect.poll(() => holder(client, "kube-scheduler"), { timeout: 10_000 }).toBe("second");
      const info = async () => {
        const { data } = await get<{ data: Record<string, string> }>(
          client,
          "/api/v1/namespaces/kube-public/configmaps/cluster-info",
        );
        return data["kubeconfig"];
      };
      await expect.poll(info, { timeout: 10_000 }).toContain(`server: ${second.url}\n`);
      // Its controllers run.
      const body = { kind: "Namespace", apiVersion: "v1", metadata: { name: "later" } };
      await client.expect({ method: "POST", path: "/api/v1/namespaces", body });
      const account = "/api/v1/namespaces/later/serviceaccounts/default";
      await expect.poll(async () => (await get(client, account)).kind, { timeout: 10_000 }).toBe("ServiceAccount");
    } finally {
      await etcd.stop();
    }
  });

  test("clients of both, in turn: no address or port twice, and each watch sees all writes", async () => {
    const etcd = await TestEtcd.start();
    try {
      await using first = await start(etcd, "first");
      await using second = await start(etcd, "second", 40_002);
      await using ofFirst = clientOf(first);
      await using ofSecond = clientOf(second);
      const clients = [ofFirst, ofSecond] as const;
      const stop = new AbortController();
      const names = Array.from({ length: 40 }, (_, index) => `s${index}`);
      const watched = clients.map(async (client) => {
        const seen = new Set<string>();
        const { resourceVersion } = (await get<KubeList>(client, `${IN_DEFAULT}/services`)).metadata;
        for await (const { type, object } of client.watch(
          `${IN_DEFAULT}/services`,
          { resourceVersion: resourceVersion ?? "" },
          stop.signal,
        )) {
          expect(type).toBe("ADDED");
          seen.add(object.metadata.name ?? "");
          if (seen.size === names.length) return seen;
        }
        return seen;
      });
      const service = (name: string): KubeRequest => ({
        method: "POST",
        path: `${IN_DEFAULT}/services`,
        body: {
          kind: "Service",
          apiVersion: "v1",
          metadata: { name },
          spec: { type: "NodePort", ports: [{ port: 80 }] },
        },
      });
      const turn = (index: number) => clients[index % 2] as KubeClient;
      const made = await Promise.all(
        names.map((name, index) => turn(index).request<{ spec: ServiceSpec }>(service(name))),
      );
      expect(new Set(made.map(({ status }) => status))).toEqual(new Set([201]));
      expect(new Set(made.map(({ body }) => body.spec.clusterIP)).size).toBe(names.length);
      expect(new Set(made.map(({ body }) => body.spec.ports[0]?.nodePort)).size).toBe(names.length);
      for (const seen of await Promise.all(watched)) expect(seen.size).toBe(names.length);
      stop.abort();

      // One asks for what the other has given out, and for what it has given back.
      const port = made[0]?.body.spec.ports[0]?.nodePort;
      const request = service("same");
      const spec = { type: "NodePort", ports: [{ port: 80, nodePort: port }] };
      const same = { ...request, body: { ...(request.body as object), spec } };
      const refused = await ofSecond.request<{ message: string }>(same);
      expect([refused.status, refused.body.message]).toEqual([422, expect.stringContaining("already allocated")]);
      await ofFirst.expect({ method: "DELETE", path: `${IN_DEFAULT}/services/s0` });
      expect((await ofSecond.request(same)).status).toBe(201);
      expect(await etcd.ctl("get", "--prefix", "--keys-only", "/kubelab/services/")).toBe("");

      // A client that reads through one what it wrote through the other.
      for (const [index, name] of names.entries()) {
        const body = { kind: "ConfigMap", apiVersion: "v1", metadata: { name } };
        await turn(index).expect({ method: "POST", path: `${IN_DEFAULT}/configmaps`, body });
        expect((await get(turn(index + 1), `${IN_DEFAULT}/configmaps/${name}`)).metadata.name).toBe(name);
      }
    } finally {
      await etcd.stop();
    }
  });

  test("their nodes have different names; a server that was killed gets its names again", async () => {
    const etcd = await TestEtcd.start();
    try {
      await using first = await start(etcd, "first");
      const nameOf = (number: number) => `node-${number}`;
      expect(await first.nodeNames.claim(2, nameOf)).toEqual(["node-1", "node-2"]);
      {
        await using second = await start(etcd, "second", 40_002);
        expect(await second.nodeNames.claim(2, nameOf)).toEqual(["node-3", "node-4"]);
        // As after a kill: the same server, while its names are still claimed.
        await using again = await start(etcd, "second", 40_003);
        expect(await again.nodeNames.claim(2, nameOf)).toEqual(["node-3", "node-4"]);
      }
      await using third = await start(etcd, "third", 40_004);
      expect(await third.nodeNames.claim(1, nameOf)).toEqual(["node-3"]);
    } finally {
      await etcd.stop();
    }
  });
});

interface ServiceSpec {
  readonly clusterIP: string;
  readonly ports: readonly { readonly nodePort: number }[];
}
