import { describe, expect, test } from "vitest";
import { RbacAuthorizer } from "../../../../src/cluster/apiserver/auth/authorization/rbac.js";
import { UnionAuthorizer } from "../../../../src/cluster/apiserver/auth/authorization/union.js";
import { authorizedClient } from "../../../../src/cluster/apiserver/auth/authorized-client.js";
import { createRegistry } from "../../../../src/cluster/apiserver/registry/generic/create-registry.js";
import { createLocalClient } from "../../../../src/cluster/apiserver/registry/generic/local-client.js";
import { resourcesFor } from "../../../../src/cluster/apiserver/registry/table.js";
import { MemoryStorage } from "../../../../src/cluster/apiserver/storage/memory.js";
import { writeInitialObjects } from "../../../../src/cluster/control-plane/initial-objects.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import type { LocalClient } from "../../../../src/staging/client-go/dynamic/interface.js";
import type { UserInfo } from "../../../../src/staging/server/authentication/user.js";
import { Turns } from "../../../../src/util/async/turns.js";
import { FakeClock, FakeRandom, settle } from "../../../support/fake-clock.js";
import { recordingTrace } from "../../../support/trace.js";
import { SYSTEM_APISERVER } from "../../control-plane/system-apiserver.js";
import { refusal } from "../registry/rows.js";

const KUBE_SYSTEM = "system:serviceaccounts:kube-system";

function account(name: string): UserInfo {
  return { username: `system:serviceaccount:kube-system:${name}`, groups: ["system:serviceaccounts", KUBE_SYSTEM] };
}

function pod(name: string): KubeObject {
  const container = { name: "app", image: "nginx", imagePullPolicy: "Always", terminationMessagePolicy: "File" };
  const spec = { containers: [container], restartPolicy: "Always", dnsPolicy: "ClusterFirst" };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "default" }, spec };
}

function configMap(name: string, namespace = "default"): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace } };
}

async function open() {
  const clock = new FakeClock();
  const random = new FakeRandom();
  const { trace, events } = recordingTrace(clock);
  const storage = new MemoryStorage({ clock });
  const kubeVersion = "1.25";
  const definitions = resourcesFor(kubeVersion);
  await writeInitialObjects({ storage, random, definitions, nowMs: clock.now(), kubeVersion, withKubeadmJoin: false });
  const registry = createRegistry({ storage, clock, random, trace, admission: [], kubeVersion, definitions });
  const admin = createLocalClient(registry, SYSTEM_APISERVER);
  await admin.create("pods", "default", pod("p"));
  await admin.create("configmaps", "kube-public", configMap("cluster-info", "kube-public"));
  const rbac = new RbacAuthorizer({ registry: () => registry, clock });
  const authorizer = new UnionAuthorizer([rbac]);
  const turns = new Turns(clock);
  const as = (user: UserInfo) =>
    authorizedClient(createLocalClient(registry, user), { registry, authorizer, trace, turns });
  return { admin, as, events, rbac, clock };
}

const unchanged = <T>(object: T) => object;
const table: readonly [who: string, what: string, act: (client: LocalClient) => Promise<unknown>, allowed: boolean][] =
  [
    ["replicaset-controller", "create pods", (c) => c.create("pods", "default", pod("q")), true],
    ["replicaset-controller", "delete pods", (c) => c.delete("pods", "default", "p"), true],
    ["replicaset-controller", "patch pods", (c) => c.modify("pods", "default", "p", unchanged), true],
    ["replicaset-controller", "get pods", (c) => c.get("pods", "default", "p"), false],
    ["replicaset-controller", "list pods", (c) => c.list("pods", "default"), true],
    ["replicaset-controller", "create configmaps", (c) => c.create("configmaps", "default", configMap("a")), false],
    ["replicaset-controller", "patch pods/status", (c) => c.modify("pods", "default", "p", unchanged, "status"), false],
    ["deployment-controller", "create pods", (c) => c.create("pods", "default", pod("q")), false],
    [
      "replicaset-controller",
      "send a patch of pods",
      (c) => c.patch("pods", "default", "p", "application/merge-patch+json", { metadata: {} }),
      true,
    ],
    [
      "deployment-controller",
      "send a patch of configmaps",
      (c) => c.patch("configmaps", "kube-public", "cluster-info", "application/merge-patch+json", { metadata: {} }),
      false,
    ],
    [
      "replicaset-controller",
      "send a patch of pods/status",
      (c) => c.patch("pods", "default", "p", "application/merge-patch+json", { metadata: {} }, "status"),
      false,
    ],
    ["deployment-controller", "update pods", (c) => c.modify("pods", "default", "p", unchanged), true],
    ["deployment-controller", "delete pods", (c) => c.delete("pods", "default", "p"), false],
    ["bootstrap-signer", "update it", (c) => c.modify("configmaps", "kube-public", "cluster-info", unchanged), true],
    ["bootstrap-signer", "update another", (c) => c.modify("configmaps", "kube-public", "other", unchanged), false],
    [
      "bootstrap-signer",
      "update elsewhere",
      (c) => c.modify("configmaps", "default", "cluster-info", unchanged),
      false,
    ],
    ["nobody", "list pods", (c) => c.list("pods"), false],
  ];

describe("a controller does only what its role allows", () => {
  for (const [who, what, act, allowed] of table) {
    test(`${who} ${allowed ? "may" : "may not"} ${what}`, async () => {
      const { as } = await open();
      if (allowed) await act(as(account(who)));
      else expect((await refusal(act(as(account(who))))).reason).toBe("Forbidden");
    });
  }

  test("a refusal has the API server's message, and is reported with its reason", async () => {
    const { as, events } = await open();
    const client = as(account("ttl-controller"));
    const error = await refusal(client.delete("pods", "default", "p"));
    const message =
      'pods "p" is forbidden: User "system:serviceaccount:kube-system:ttl-controller" cannot delete resource "pods" in API group "" in the namespace "default"';
    expect([error.code, error.message]).toEqual([403, message]);
    expect(events.find(({ kind }) => kind === "decision")).toMatchObject({
      what: `forbid it: ${message}`,
      why: "RBAC: no rule allows it in the 2 bindings of the user",
    });
  });

  test("a role that is taken away is taken away at once", async () => {
    const { admin, as, rbac } = await open();
    const stop = new AbortController();
    const following = rbac.views.map((view) => view.follow(stop.signal));
    const client = as(account("replicaset-controller"));
    await client.delete("pods", "default", "p");
    await admin.delete(
      "clusterrolebindings.rbac.authorization.k8s.io",
      undefined,
      "system:controller:replicaset-controller",
    );
    await settle();
    expect((await refusal(client.delete("pods", "default", "p"))).reason).toBe("Forbidden");
    stop.abort();
    await Promise.all(following);
  });

  test("it may not watch what it may not list", async () => {
    const { as } = await open();
    const watch = async () => {
      for await (const _ of as(account("ttl-controller")).reflect("pods", new AbortController().signal)) return;
    };
    expect((await refusal(watch())).reason).toBe("Forbidden");
  });
});
