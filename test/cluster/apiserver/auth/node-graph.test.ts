import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "vitest";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { type AuthLab, attributes, startAuth, user } from "./fixtures.js";

const n1 = user("system:node:n1", "system:nodes");
let lab: AuthLab;
beforeEach(async () => {
  lab = await startAuth();
});
afterEach(async () => {
  await lab.auth.close();
});

function putPod(name: string, nodeName: string | undefined, spec: object, metadata: object = {}): void {
  const pod: KubeObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "a", ...metadata },
    spec: { nodeName, ...spec },
  };
  lab.registry.put("pods", pod);
}

async function mayGet(resource: string, name: string, namespace = "a"): Promise<boolean> {
  return (await lab.auth.authorizer.authorize(attributes(n1, "get", resource, namespace, name))).allowed;
}

const container = (fields: object) => ({ containers: [{ name: "c", ...fields }] });
const volume = (source: object) => ({ volumes: [{ name: "v", ...source }] });
const references: readonly (readonly [string, object, string])[] = [
  ["a secret volume", volume({ secret: { secretName: "x" } }), "secrets"],
  ["a projected secret", volume({ projected: { sources: [{ secret: { name: "x" } }] } }), "secrets"],
  ["a pull secret", { imagePullSecrets: [{ name: "x" }] }, "secrets"],
  ["a CSI volume's secret", volume({ csi: { nodePublishSecretRef: { name: "x" } } }), "secrets"],
  ["env of a secret", container({ env: [{ valueFrom: { secretKeyRef: { name: "x" } } }] }), "secrets"],
  ["envFrom a secret", container({ envFrom: [{ secretRef: { name: "x" } }] }), "secrets"],
  ["an init container's secret", { initContainers: [{ envFrom: [{ secretRef: { name: "x" } }] }] }, "secrets"],
  ["a config map volume", volume({ configMap: { name: "x" } }), "configmaps"],
  ["env of a config map", container({ env: [{ valueFrom: { configMapKeyRef: { name: "x" } } }] }), "configmaps"],
  ["a claim", volume({ persistentVolumeClaim: { claimName: "x" } }), "persistentvolumeclaims"],
];
for (const [what, spec, resource] of references) {
  test(`${what} is readable by the node that the pod is bound to, and by no other`, async () => {
    putPod("p", "n2", spec);
    assert.equal(await mayGet(resource, "x"), false);
    putPod("p", "n1", spec);
    assert.equal(await mayGet(resource, "x"), true);
    assert.equal(await mayGet(resource, "y"), false);
    assert.equal(await mayGet(resource, "x", "b"), false);
  });
}

test("two pods of a node give access to an object until both are deleted", async () => {
  const spec = volume({ secret: { secretName: "x" } });
  putPod("p", "n1", spec);
  putPod("q", "n1", spec);
  assert.equal(await mayGet("secrets", "x"), true);
  lab.registry.remove("pods", "a", "p");
  await turn();
  assert.equal(await mayGet("secrets", "x"), true);
  lab.registry.remove("pods", "a", "q");
  await turn();
  assert.equal(await mayGet("secrets", "x"), false);
});

test("an unbound pod or a mirror pod gives no access", async () => {
  const spec = volume({ secret: { secretName: "x" } });
  putPod("p", undefined, spec);
  putPod("m", "n1", spec, { annotations: { "kubernetes.io/config.mirror": "h" } });
  assert.equal(await mayGet("secrets", "x"), false);
});

test("a pod counts before its watch event has arrived", async () => {
  lab.registry.holdEvents = true;
  assert.equal(await mayGet("secrets", "x"), false);
  putPod("p", "n1", volume({ secret: { secretName: "x" } }));
  assert.equal(await mayGet("secrets", "x"), true);
});

test("a volume is reached through its claim, an attachment through the node that it names", async () => {
  const put = (resource: string, name: string, spec: object) =>
    lab.registry.put(resource, { apiVersion: "v1", kind: "X", metadata: { name }, spec });
  put("persistentvolumes", "pv", { claimRef: { namespace: "a", name: "x" } });
  put("persistentvolumes", "free", {});
  put("volumeattachments.storage.k8s.io", "mine", { nodeName: "n1" });
  put("volumeattachments.storage.k8s.io", "other", { nodeName: "n2" });
  const may = (resource: string, name: string) => mayGet(resource, name, "");
  assert.equal(await may("persistentvolumes", "pv"), false);
  putPod("p", "n1", volume({ persistentVolumeClaim: { claimName: "x" } }));
  assert.equal(await may("persistentvolumes", "pv"), true);
  assert.equal(await may("persistentvolumes", "free"), false);
  assert.equal(await may("persistentvolumes", "missing"), false);
  assert.equal(await may("volumeattachments.storage.k8s.io", "mine"), true);
  assert.equal(await may("volumeattachments.storage.k8s.io", "other"), false);
});

test("the cause of every decision names the path through the graph, the rule or the object", async () => {
  const claim = { name: "w", persistentVolumeClaim: { claimName: "c" } };
  putPod("p", "n1", { volumes: [{ name: "v", secret: { secretName: "x" } }, claim], serviceAccountName: "robot" });
  const put = (resource: string, name: string, spec: object) =>
    lab.registry.put(resource, { apiVersion: "v1", kind: "X", metadata: { name }, spec });
  put("persistentvolumes", "pv", { claimRef: { namespace: "a", name: "c" } });
  put("volumeattachments.storage.k8s.io", "mine", { nodeName: "n1" });
  const leases = "leases.coordination.k8s.io";
  const table = [
    ["get", "secrets", "a", "x", "Node: node n1 -> pod a/p -> secret a/x"],
    ["create", "serviceaccounts/token", "a", "robot", "Node: node n1 -> pod a/p -> serviceaccount a/robot"],
    ["get", "persistentvolumes", "", "pv", "Node: node n1 -> pod a/p -> pvc a/c -> persistentvolume pv"],
    ["get", "volumeattachments.storage.k8s.io", "", "mine", "Node: node n1 -> volumeattachment mine"],
    ["update", leases, "kube-node-lease", "n1", "Node: the Lease has the name of the node"],
    ["create", leases, "kube-node-lease", "", "Node: a node creates its Lease"],
    ["get", "csinodes.storage.k8s.io", "", "n1", "Node: the CSINode has the name of the node"],
    [
      "list",
      "services",
      "",
      "",
      'Node: ClusterRole "system:node" has the rule {APIGroups:[""], Resources:["services"], Verbs:["get" "list" "watch"]}',
    ],
  ] as const;
  for (const [verb, resource, namespace, name, want] of table) {
    const { allowed, cause } = await lab.auth.authorizer.authorize(attributes(n1, verb, resource, namespace, name));
    assert.deepEqual([allowed, cause], [true, want]);
  }
  const refused = await lab.auth.authorizer.authorize(attributes(n1, "get", "secrets", "a", "y"));
  assert.equal(
    refused.cause,
    "Node: no relationship found between node 'n1' and this object; RBAC: no rule allows it in the binding of the user",
  );
});

const since132 = [
  // verb, resource, name, field selector ("none": unknown to the caller), refusal in v1.32 ("" = allowed)
  ["get", "nodes", "n1", "", ""],
  ["get", "nodes", "n2", "", "node 'n1' cannot read 'n2', only its own Node object"],
  ["list", "nodes", "", "", "node 'n1' cannot read all nodes, only its own Node object"],
  ["patch", "nodes/status", "n1", "", ""],
  ["get", "pods", "mine", "", ""],
  ["get", "pods", "foreign", "", "no relationship found between node 'n1' and this object"],
  ["list", "pods", "", "spec.nodeName=n1", ""],
  ["watch", "pods", "", "status.phase=Running,spec.nodeName==n1", ""],
  ["list", "pods", "", "none", ""],
  ["list", "pods", "", "", "can only list/watch pods with spec.nodeName field selector"],
  ["list", "pods", "", "spec.nodeName=n2", "can only list/watch pods with spec.nodeName field selector"],
  ["list", "pods", "", "spec.nodeName!=n1", "can only list/watch pods with spec.nodeName field selector"],
  ["list", "pods", "mine", "metadata.name=mine", ""],
  ["create", "pods", "", "", ""],
] as const;
for (const [verb, resource, name, fieldSelector, refusal] of since132) {
  test(`v1.32: ${verb} ${resource} ${name} [${fieldSelector}]: ${refusal || "allowed"}`, async () => {
    const request = { ...attributes(n1, verb, resource, resource.startsWith("nodes") ? "" : "a", name) };
    const asked = fieldSelector === "none" ? request : { ...request, fieldSelector };
    const newer = await startAuth({ kubeVersion: "1.32" });
    for (const { registry } of [lab, newer]) {
      for (const [pod, nodeName] of [
        ["mine", "n1"],
        ["foreign", "n2"],
      ]) {
        registry.put("pods", {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: pod ?? "", namespace: "a", annotations: { "kubernetes.io/config.mirror": "h" } },
          spec: { nodeName },
        });
      }
    }
    const decision = await newer.auth.authorizer.authorize(asked);
    assert.deepEqual([decision.allowed, decision.reason], [refusal === "", refusal]);
    assert.equal((await lab.auth.authorizer.authorize(asked)).allowed, true, "v1.25 allows all of these");
    await newer.auth.close();
  });
}

/** Lets pending watch events arrive. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
