import assert from "node:assert/strict";
import { test } from "vitest";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { fields, items, text } from "../../../support/fields.js";
import { contextOf, openTableLab, refusal, type TableLab } from "../registry/table-lab.js";

function podBody(spec: Record<string, unknown> = {}, annotations: Record<string, string> = {}): unknown {
  const containers = [{ name: "c", image: "x" }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "p", annotations }, spec: { containers, ...spec } };
}

const MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";
const volumesOf = (pod: KubeObject) => items(fields(pod.spec).volumes).map((one) => text(fields(one).name));
const mountsOf = (container: unknown) =>
  items(fields(container).volumeMounts).map((one) => text(fields(one).mountPath));
const tolerationKeys = (pod: KubeObject) => items(fields(pod.spec).tolerations).map((one) => text(fields(one).key));

test("a pod gets the default account, its token in every container, two tolerations and a priority", async () => {
  const lab = await openTableLab();
  const pod = await lab.create("pods", podBody({ initContainers: [{ name: "i", image: "x" }] }));
  const spec = fields(pod.spec);
  assert.deepEqual(
    [spec.serviceAccountName, spec.serviceAccount, spec.priority, spec.preemptionPolicy],
    ["default", "default", 0, "PreemptLowerPriority"],
  );
  assert.match(volumesOf(pod).join(), /^kube-api-access-[a-z0-9]{5}$/);
  for (const one of [...items(spec.containers), ...items(spec.initContainers)])
    assert.deepEqual(mountsOf(one), [MOUNT_PATH]);
  assert.deepEqual(tolerationKeys(pod), ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]);
});

const NO_TOKEN: readonly [what: string, spec: Record<string, unknown>][] = [
  ["a pod that opts out", { automountServiceAccountToken: false }],
  [
    "a container that mounts something at the path",
    {
      containers: [{ name: "c", image: "x", volumeMounts: [{ name: "v", mountPath: MOUNT_PATH }] }],
      volumes: [{ name: "v", emptyDir: {} }],
    },
  ],
];

for (const [what, spec] of NO_TOKEN) {
  test(`no token for ${what}`, async () => {
    const lab = await openTableLab();
    const pod = await lab.create("pods", podBody(spec));
    assert.ok(!volumesOf(pod).some((one) => one.startsWith("kube-api-access-")));
  });
}

test("a mirror pod gets neither account nor token, and cannot request one", async () => {
  const lab = await openTableLab();
  const mirror = { "kubernetes.io/config.mirror": "abc" };
  const pod = await lab.create(
    "pods",
    podBody({ nodeName: "n", tolerations: [{ operator: "Exists", effect: "NoExecute" }] }, mirror),
  );
  assert.deepEqual([volumesOf(pod), fields(pod.spec).serviceAccountName, tolerationKeys(pod)], [[], undefined, [""]]);
  const withSecret = podBody({ nodeName: "n", volumes: [{ name: "v", secret: { secretName: "s" } }] }, mirror);
  const refusals: readonly [unknown, string][] = [
    [
      podBody({ nodeName: "n", serviceAccountName: "default" }, mirror),
      "a mirror pod may not reference service accounts",
    ],
    [withSecret, "a mirror pod may not reference secrets"],
  ];
  for (const [body, why] of refusals) {
    assert.equal((await refusal(lab.create("pods", body))).message, `pods "p" is forbidden: ${why}`);
  }
});

test("pull secrets come from the account, unless the pod has its own", async () => {
  const lab = await openTableLab();
  const account = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "puller" },
    imagePullSecrets: [{ name: "a" }],
  };
  await lab.create("serviceaccounts", account);
  const pod = await lab.create("pods", podBody({ serviceAccountName: "puller" }));
  assert.deepEqual(fields(pod.spec).imagePullSecrets, [{ name: "a" }]);
});

test("waits at most a second for the default account of a new namespace", async () => {
  const lab = await openTableLab();
  await lab.create("namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "new" } });
  const early = lab.create("pods", podBody(), { namespace: "new" });
  await lab.clock.advance(300);
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
  await lab.create("serviceaccounts", account, { namespace: "new" });
  await lab.clock.advance(100);
  assert.equal((await early).metadata.namespace, "new");
});

test("without an account the pod is refused when the wait is over", async () => {
  const lab = await openTableLab();
  await lab.create("namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "new" } });
  const late = refusal(lab.create("pods", podBody(), { namespace: "new" }));
  await lab.clock.advance(1000);
  const why = 'error looking up service account new/default: serviceaccount "default" not found';
  assert.equal((await late).message, `pods "p" is forbidden: ${why}`);
  assert.equal(lab.clock.sleeping, 0);
});

const TAINTS: readonly [what: string, before: unknown[], after: string[]][] = [
  ["no taints", [], ["node.kubernetes.io/not-ready:NoSchedule"]],
  [
    "a taint of its own",
    [{ key: "a", effect: "NoSchedule" }],
    ["a:NoSchedule", "node.kubernetes.io/not-ready:NoSchedule"],
  ],
  [
    "the taint already",
    [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }],
    ["node.kubernetes.io/not-ready:NoSchedule"],
  ],
];

for (const [what, taints, want] of TAINTS) {
  test(`a new node with ${what} gets the not-ready taint`, async () => {
    const lab = await openTableLab();
    const node = await lab.create("nodes", {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "n" },
      spec: { taints },
    });
    const got = items(fields(node.spec).taints).map((one) => `${text(fields(one).key)}:${text(fields(one).effect)}`);
    assert.deepEqual(got, want);
  });
}

test("a priority class sets the number, and system classes exist from the start", async () => {
  const lab = await openTableLab();
  const pod = await lab.create("pods", podBody({ priorityClassName: "system-node-critical" }));
  assert.equal(fields(pod.spec).priority, 2_000_001_000);
  const given = await refusal(lab.create("pods", { ...(podBody({ priority: 5 }) as object) }));
  assert.match(given.message ?? "", /the integer value of priority \(5\) must not be provided in pod spec/);
});

test("pods without a class get the default class", async () => {
  const lab = await openTableLab();
  const body = {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name: "low" },
    value: 7,
    globalDefault: true,
  };
  await lab.create("priorityclasses", body);
  const { priority, priorityClassName } = fields((await lab.create("pods", podBody())).spec);
  assert.deepEqual([priority, priorityClassName], [7, "low"]);
});

test("a runtime class sets overhead, node selector and tolerations", async () => {
  const lab = await openTableLab();
  await lab.create("runtimeclasses", {
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    metadata: { name: "vm" },
    handler: "kata",
    overhead: { podFixed: { memory: "64Mi" } },
    scheduling: { nodeSelector: { vm: "yes" } },
  });
  const { overhead, nodeSelector } = fields((await lab.create("pods", podBody({ runtimeClassName: "vm" }))).spec);
  assert.deepEqual([overhead, nodeSelector], [{ memory: "64Mi" }, { vm: "yes" }]);
});

async function terminatingNamespace(): Promise<TableLab> {
  const lab = await openTableLab();
  await lab.create("namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "gone" } });
  const { object, gone } = await lab.registry.store("namespaces").delete(contextOf(), undefined, "gone");
  assert.deepEqual([gone, fields(object.status).phase], [false, "Terminating"]);
  assert.ok(!("finalizers" in object.metadata), "an empty list of finalizers is left out");
  return lab;
}

test("a deleted namespace stays Terminating, and accepts no new objects", async () => {
  const lab = await terminatingNamespace();
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "late" } };
  const status = await refusal(lab.create("configmaps", configMap, { namespace: "gone" }));
  const why = "unable to create new content in namespace gone because it is being terminated";
  assert.deepEqual([status.code, status.message], [403, `configmaps "late" is forbidden: ${why}`]);
  const cause = {
    reason: "NamespaceTerminating",
    message: "namespace gone is being terminated",
    field: "metadata.namespace",
  };
  assert.deepEqual(status.details?.causes, [cause]);
});

test("it is removed with its last finalizer through /finalize", async () => {
  const lab = await terminatingNamespace();
  const namespace = await lab.registry.store("namespaces").get(undefined, "gone");
  await lab.put("namespaces", "gone", { ...namespace, spec: {} }, { subresource: "finalize" });
  const status = await refusal(lab.registry.store("namespaces").get(undefined, "gone"));
  assert.equal(status.code, 404);
});

for (const name of ["default", "kube-system", "kube-public"]) {
  test(`namespace ${name} cannot be deleted`, async () => {
    const lab = await openTableLab();
    const status = await refusal(lab.registry.store("namespaces").delete(contextOf(), undefined, name));
    assert.equal(status.message, `namespaces "${name}" is forbidden: this namespace may not be deleted`);
  });
}

test("the plugins run in upstream's order", async () => {
  const lab = await openTableLab();
  const names = lab.admission.map(({ name }) => name);
  assert.deepEqual(names, [
    "RBACEscalation",
    "NamespaceLifecycle",
    "LimitRanger",
    "ServiceAccount",
    "NodeRestriction",
    "TaintNodesByCondition",
    "PodSecurity",
    "Priority",
    "DefaultTolerationSeconds",
    "DefaultStorageClass",
    "StorageObjectInUseProtection",
    "PersistentVolumeClaimResize",
    "RuntimeClass",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "ResourceQuota",
  ]);
});
