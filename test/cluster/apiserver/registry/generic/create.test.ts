import assert from "node:assert/strict";
import { test } from "vitest";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import { forbidden } from "../../../../../src/staging/apimachinery/errors.js";
import type { AdmissionAttributes, AdmissionPlugin } from "../../../../../src/staging/server/admission/interfaces.js";
import { configMap, contextOf, openLab, pod, refusal } from "../rows.js";

test("create sets the server's fields, in Go's order of fields", async () => {
  const { registry } = openLab();
  const sent = {
    ...configMap("a", { k: "v" }, { app: "x" }),
    metadata: {
      labels: { app: "x" },
      uid: "mine",
      creationTimestamp: "2001-01-01T00:00:00Z",
      deletionTimestamp: "2001-01-01T00:00:00Z",
      deletionGracePeriodSeconds: 3,
      name: "a",
    },
  };
  const created = await registry.store("configmaps").create(contextOf(), "default", sent);
  assert.equal(
    JSON.stringify(created),
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default",' +
      '"uid":"00000000-0000-4000-8000-000000000001","resourceVersion":"2","creationTimestamp":"2026-01-01T00:00:00Z",' +
      '"labels":{"app":"x"}},"data":{"k":"v"}}',
  );
  assert.equal(await registry.store("configmaps").get("default", "a"), created);
  assert.equal(await registry.resourceVersion(), "2");
});

test("create: generateName gets five characters, and is cut to fit 63", async () => {
  const { registry } = openLab();
  const create = async (generateName: string) =>
    (
      await registry
        .store("configmaps")
        .create(contextOf(), "default", { ...configMap(""), metadata: { generateName } })
    ).metadata.name;
  assert.match((await create("node-csr-")) ?? "", /^node-csr-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  assert.equal((await create("x".repeat(80)))?.length, 63);
  // The fake random source gives the same suffix again.
  const taken = await refusal(create("node-csr-"));
  assert.deepEqual([taken.code, taken.reason, taken.details?.retryAfterSeconds], [409, "AlreadyExists", 1]);
  assert.match(
    taken.message ?? "",
    /already exists, the server was not able to generate a unique name for the object$/,
  );
});

const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const owner = { apiVersion: "v1", kind: "Node", name: "n", uid: "u", controller: true };

const REFUSED: readonly [string, string, KubeObject["metadata"], string][] = [
  [
    "without a name",
    "nodes",
    {},
    'Node "" is invalid: metadata.name: Required value: name or generateName is required',
  ],
  [
    "a bad name",
    "nodes",
    { name: "Bad_Name" },
    `Node "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": ${SUBDOMAIN}`,
  ],
  [
    "a name that no path can contain, of a kind without name checks",
    "certificatesigningrequests.certificates.k8s.io",
    { name: "rec/bad" },
    'CertificateSigningRequest.certificates.k8s.io "rec/bad" is invalid: metadata.name: Invalid value: "rec/bad": may not contain \'/\'',
  ],
  [
    "a bad label key",
    "nodes",
    { name: "n", labels: { "a b": "c" } },
    "Node \"n\" is invalid: metadata.labels: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ],
  [
    "a bad label value",
    "nodes",
    { name: "n", labels: { a: "b c" } },
    "Node \"n\" is invalid: metadata.labels: Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ],
  [
    "annotations beyond 256 KiB",
    "nodes",
    { name: "n", annotations: { a: "x".repeat(262_144) } },
    'Node "n" is invalid: metadata.annotations: Too long: must have at most 262144 bytes',
  ],
  [
    "an owner without a uid",
    "nodes",
    { name: "n", ownerReferences: [{ ...owner, uid: "" }] },
    'Node "n" is invalid: metadata.ownerReferences.uid: Invalid value: "": must not be empty',
  ],
  [
    "both finalizers of garbage collection",
    "nodes",
    { name: "n", finalizers: ["orphan", "foregroundDeletion"] },
    'Node "n" is invalid: metadata.finalizers: Invalid value: []string{"orphan", "foregroundDeletion"}: finalizer orphan and foregroundDeletion cannot be both set',
  ],
];
for (const [what, resource, metadata, message] of REFUSED) {
  test(`create refuses ${what}`, async () => {
    const { registry } = openLab();
    const object = { apiVersion: "v1", kind: "X", metadata };
    const status = await refusal(registry.store(resource).create(contextOf(), undefined, object));
    assert.deepEqual([status.code, status.reason, status.message], [422, "Invalid", message]);
    assert.equal(await registry.resourceVersion(), "1");
  });
}

test("create: valid metadata of all kinds is accepted", async () => {
  const { registry } = openLab();
  const metadata = {
    name: "n",
    labels: { "example.com/A_b.c": "", b: "1" },
    annotations: { "Example.COM/x": "any text\n" },
    ownerReferences: [owner, { ...owner, controller: false }],
    finalizers: ["example.com/hold"],
  };
  const created = await registry
    .store("nodes")
    .create(contextOf(), undefined, { apiVersion: "v1", kind: "Node", metadata });
  assert.deepEqual(created.metadata.finalizers, ["example.com/hold"]);
});

test("create: two controllers among the owners", async () => {
  const { registry } = openLab();
  const metadata = { name: "n", ownerReferences: [owner, { ...owner, name: "m" }] };
  const { message } = await refusal(
    registry.store("nodes").create(contextOf(), undefined, { apiVersion: "v1", kind: "Node", metadata }),
  );
  assert.match(
    message ?? "",
    /Only one reference can have Controller set to true. Found "true" in references for Node\/n and Node\/m$/,
  );
});

test("create: namespace in the body, resourceVersion, existing name, name of an object that is being deleted", async () => {
  const { registry } = openLab();
  const store = registry.store("pods");
  const elsewhere = { ...pod("a"), metadata: { name: "a", namespace: "kube-system" } };
  const mismatch = await refusal(store.create(contextOf(), "default", elsewhere));
  assert.deepEqual(
    [mismatch.code, mismatch.message],
    [400, "the namespace of the provided object does not match the namespace sent on the request"],
  );
  const versioned = { ...pod("a"), metadata: { name: "a", resourceVersion: "5" } };
  const set = await refusal(store.create(contextOf(), "default", versioned));
  assert.deepEqual(
    [set.code, set.reason, set.message],
    [500, undefined, "resourceVersion should not be set on objects to be created"],
  );
  await store.create(contextOf(), "default", pod("a", { nodeName: "n" }));
  const twice = await refusal(store.create(contextOf(), "default", pod("a")));
  assert.deepEqual([twice.code, twice.reason, twice.message], [409, "AlreadyExists", 'pods "a" already exists']);
  await store.delete(contextOf(), "default", "a");
  const going = await refusal(store.create(contextOf(), "default", pod("a")));
  assert.deepEqual(
    [going.code, going.reason, going.message],
    [409, "AlreadyExists", 'object is being deleted: pods "a" already exists'],
  );
});

test("create: a dry run validates and responds, but stores nothing", async () => {
  const { registry } = openLab();
  const store = registry.store("configmaps");
  const dryRun = contextOf({ dryRun: true });
  const shown = await store.create(dryRun, "default", configMap("a"));
  assert.deepEqual([typeof shown.metadata.uid, shown.metadata.resourceVersion], ["string", undefined]);
  assert.equal((await refusal(store.get("default", "a"))).message, 'configmaps "a" not found');
  await store.create(contextOf(), "default", configMap("a"));
  assert.equal((await refusal(store.create(dryRun, "default", configMap("a")))).reason, "AlreadyExists");
});

test("admission: mutating plugins run before preparation, validating ones see the object to store", async () => {
  const seen: string[] = [];
  const note = (phase: string, { operation, resource, namespace, name, object, dryRun }: AdmissionAttributes) =>
    seen.push(
      `${phase} ${operation} ${resource} ${namespace}/${name} uid=${object?.metadata.uid !== undefined} dry=${dryRun}`,
    );
  const plugin: AdmissionPlugin = {
    name: "Test",
    async admit(attributes) {
      note("admit", attributes);
      const { object } = attributes;
      return object === undefined
        ? undefined
        : { ...object, metadata: { ...object.metadata, labels: { by: "admission" } } };
    },
    async validate(attributes) {
      note("validate", attributes);
      if (attributes.name === "no") throw forbidden(attributes, attributes.name, "because");
    },
  };
  const { registry } = openLab({ admission: [plugin] });
  const created = await registry.store("configmaps").create(contextOf(), "default", configMap("a"));
  assert.deepEqual(created.metadata.labels, { by: "admission" });
  const refused = await refusal(registry.store("configmaps").create(contextOf(), "default", configMap("no")));
  assert.deepEqual([refused.code, refused.message], [403, 'configmaps "no" is forbidden: because']);
  await registry
    .store("namespaces")
    .create(contextOf({ dryRun: true }), undefined, { ...configMap("ns"), kind: "Namespace" });
  assert.deepEqual(seen, [
    "admit CREATE configmaps default/a uid=false dry=false",
    "validate CREATE configmaps default/a uid=true dry=false",
    "admit CREATE configmaps default/no uid=false dry=false",
    "validate CREATE configmaps default/no uid=true dry=false",
    "admit CREATE namespaces ns/ns uid=false dry=true",
    "validate CREATE namespaces ns/ns uid=true dry=true",
  ]);
});

test("get: names that cannot be a path segment, missing objects of named groups, releases", async () => {
  const { registry } = openLab();
  assert.equal((await refusal(registry.store("nodes").get(undefined, ".."))).code, 400);
  assert.equal((await refusal(registry.store("pods").get(undefined, "a"))).message, "Namespace parameter required.");
  const { message, details } = await refusal(
    registry.store("leases.coordination.k8s.io").get("kube-node-lease", "missing"),
  );
  assert.equal(message, 'leases.coordination.k8s.io "missing" not found');
  assert.deepEqual(details, { name: "missing", group: "coordination.k8s.io", kind: "leases" });
  assert.throws(() => registry.store("newers"));
  assert.equal(openLab({ kubeVersion: "1.30" }).registry.store("newers").definition.kind, "Newer");
});
