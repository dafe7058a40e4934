import { expect, test } from "vitest";
import type { KubeObject, OwnerReference } from "../../../src/staging/apimachinery/api/meta.js";
import { rfc3339 } from "../../../src/staging/apimachinery/time.js";
import { detachedSignature } from "../../../src/staging/cluster-bootstrap/jws.js";
import { TraceGraph } from "../../../src/trace/graph/graph.js";
import { CA_PEM, errorsOf, SERVER_URL, type StoreHarness, startOnStore } from "./support/on-store.js";

const NAMESPACES = ["default", "kube-node-lease", "kube-public", "kube-system"];

function object(
  kind: string,
  name: string,
  namespace: string | undefined,
  more: Record<string, unknown> = {},
): KubeObject {
  const { metadata, ...rest } = more;
  return {
    apiVersion: "v1",
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), ...(metadata as object) },
    ...rest,
  };
}

function owner(of: KubeObject, more: Partial<OwnerReference> = {}): OwnerReference {
  return {
    apiVersion: of.apiVersion,
    kind: of.kind,
    name: of.metadata.name ?? "",
    uid: of.metadata.uid ?? "",
    ...more,
  };
}

async function namesOf({ admin }: StoreHarness, resource: string, namespace?: string): Promise<string[]> {
  return (await admin.list(resource, namespace)).map(({ metadata }) => metadata.name ?? "").sort();
}

test("controllers have upstream's names", async () => {
  await using on = await startOnStore({ without: [] });
  expect([...on.names].sort()).toEqual([
    "bootstrapsigner",
    "cronjob",
    "csrapproving",
    "csrcleaner",
    "csrsigning",
    "daemonset",
    "deployment",
    "disruption",
    "endpoint",
    "endpointslice",
    "endpointslicemirroring",
    "ephemeral-volume",
    "event-ttl",
    "garbagecollector",
    "horizontalpodautoscaling",
    "job",
    "local-path-provisioner",
    "namespace",
    "nodeipam",
    "nodelifecycle",
    "persistentvolume-binder",
    "persistentvolume-expander",
    "podgc",
    "pv-protection",
    "pvc-protection",
    "replicaset",
    "replicationcontroller",
    "resourcequota",
    "root-ca-cert-publisher",
    "serviceaccount",
    "statefulset",
    "taint-eviction-controller",
    "tokencleaner",
    "ttl",
    "ttl-after-finished",
  ]);
});

test("a new cluster gets service accounts, the CA and cluster-info, and then no more writes", async () => {
  await using on = await startOnStore();
  const accounts = await on.admin.list("serviceaccounts");
  expect(accounts.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort()).toEqual([
    ...NAMESPACES.map((namespace) => `${namespace}/default`),
    "kube-system/local-path-provisioner-service-account",
  ]);
  for (const namespace of NAMESPACES) {
    const published = await on.admin.get("configmaps", namespace, "kube-root-ca.crt");
    expect(published?.["data"]).toEqual({ "ca.crt": CA_PEM });
    expect(published?.metadata.annotations?.["kubernetes.io/description"]).toMatch(/^Contains a CA bundle/);
  }
  const info = await on.admin.get("configmaps", "kube-public", "cluster-info");
  expect(info?.["data"]).toEqual({ kubeconfig: expect.stringContaining(`server: ${SERVER_URL}\n`) });
  const before = await on.admin.list("configmaps");
  await on.clock.advance(120_000);
  expect(await on.admin.list("configmaps")).toEqual(before); // not written again
  expect(errorsOf(on.facts)).toEqual([]);
});

test("deleted or changed objects of controllers are restored", async () => {
  await using on = await startOnStore();
  await on.admin.delete("serviceaccounts", "default", "default");
  await on.admin.delete("configmaps", "default", "kube-root-ca.crt");
  await on.admin.modify("configmaps", "kube-public", "kube-root-ca.crt", (current) => ({
    ...current,
    data: { "ca.crt": "x" },
  }));
  await on.clock.advance(0);
  expect(await on.admin.get("serviceaccounts", "default", "default")).toBeDefined();
  expect((await on.admin.get("configmaps", "default", "kube-root-ca.crt"))?.["data"]).toEqual({ "ca.crt": CA_PEM });
  expect((await on.admin.get("configmaps", "kube-public", "kube-root-ca.crt"))?.["data"]).toEqual({ "ca.crt": CA_PEM });
});

function token(id: string, fields: Record<string, string>): KubeObject {
  const all = { "token-id": id, "token-secret": "0123456789abcdef", ...fields };
  const data = Object.fromEntries(
    Object.entries(all).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );
  return object("Secret", `bootstrap-token-${id}`, "kube-system", { type: "bootstrap.kubernetes.io/token", data });
}

test("an expired token is deleted within a second, one without an expiration stays", async () => {
  await using on = await startOnStore();
  const expiration = rfc3339(on.clock.now() + 90_000);
  await on.create("secrets", token("aaaaaa", { expiration }));
  await on.create("secrets", token("bbbbbb", {}));
  await on.create("secrets", token("cccccc", { expiration: "some day" }));
  await on.clock.advance(0);
  expect(await namesOf(on, "secrets")).toEqual(["bootstrap-token-aaaaaa", "bootstrap-token-bbbbbb"]);
  await on.clock.advance(89_000);
  expect(await namesOf(on, "secrets")).toContain("bootstrap-token-aaaaaa");
  await on.clock.advance(1_000);
  expect(await namesOf(on, "secrets")).toEqual(["bootstrap-token-bbbbbb"]);
});

test("the deletion of a token leads back to its creation, through the controller's decision", async () => {
  await using on = await startOnStore();
  await on.create("secrets", token("aaaaaa", { expiration: rfc3339(on.clock.now() + 60_000) }));
  await on.clock.advance(61_000);
  const deleted = on.facts.find((fact) => fact.kind === "state" && fact.what === "deleted");
  const chain = deleted === undefined ? [] : TraceGraph.of(on.facts).chainOf(deleted);
  expect(chain.map(({ kind, actor, instance }) => [kind, actor, instance])).toEqual([
    ["state", "apiserver", undefined],
    ["watch", "controller", undefined],
    ["decision", "controller", "tokencleaner"],
    ["request", "controller", "tokencleaner"],
    ["state", "apiserver", undefined],
  ]);
});

test("a token with a later expiration is not deleted at the old time", async () => {
  await using on = await startOnStore();
  await on.create("secrets", token("aaaaaa", { expiration: rfc3339(on.clock.now() + 60_000) }));
  await on.clock.advance(30_000);
  const later = Buffer.from(rfc3339(on.clock.now() + 3_600_000)).toString("base64");
  await on.admin.modify("secrets", "kube-system", "bootstrap-token-aaaaaa", (secret) => ({
    ...secret,
    data: { ...(secret["data"] as object), expiration: later },
  }));
  await on.clock.advance(60_000);
  expect(await namesOf(on, "secrets")).toEqual(["bootstrap-token-aaaaaa"]);
});

test("a signature and a node's range of addresses are effects of the controller's decision about them", async () => {
  await using on = await startOnStore();
  await on.create("secrets", token("signer", { "usage-bootstrap-signing": "true" }));
  await on.create("nodes", object("Node", "n1", undefined));
  await on.clock.advance(0);
  const graph = TraceGraph.of(on.facts);
  const writes = (subject: string, decision: RegExp) =>
    on.facts.filter((fact) => {
      const [cause, request] = graph.chainOf(fact).slice(-3);
      const isWrite = fact.kind === "state" && fact.subject === subject && request?.kind === "request";
      return isWrite && cause?.kind === "decision" && decision.test(cause.what);
    });
  expect(writes("configmaps kube-public/cluster-info", /^write kube-public\/cluster-info unsigned$/)).toHaveLength(1);
  expect(
    writes("configmaps kube-public/cluster-info", /^sign kube-public\/cluster-info with token signer/),
  ).toHaveLength(1);
  expect(writes("nodes n1", /^give the pods of node n1 addresses from 10\.244\.0\.0\/24$/)).toHaveLength(1);
});

test("cluster-info is signed only by tokens with that usage", async () => {
  await using on = await startOnStore();
  await on.create("secrets", token("signer", { "usage-bootstrap-signing": "true" }));
  await on.create("secrets", token("others", { "usage-bootstrap-authentication": "true" }));
  await on.clock.advance(0);
  const signatures = async () => {
    const info = await on.admin.get("configmaps", "kube-public", "cluster-info");
    const { kubeconfig = "", ...rest } = (info?.["data"] ?? {}) as Record<string, string>;
    return { kubeconfig, rest };
  };
  const { kubeconfig, rest } = await signatures();
  expect(rest).toEqual({ "jws-kubeconfig-signer": detachedSignature(kubeconfig, "signer", "0123456789abcdef") });
  await on.admin.delete("secrets", "kube-system", "bootstrap-token-signer");
  await on.clock.advance(0);
  expect((await signatures()).rest).toEqual({});
  // the trace contains no secrets
  expect(JSON.stringify(on.facts)).not.toContain("0123456789abcdef");
});

test("a detached signature equals upstream's", () => {
  const content = "Hello from the other side. I must have called a thousand times.";
  expect(detachedSignature(content, "joshua", "my voice is my passcode")).toBe(
    "eyJhbGciOiJIUzI1NiIsImtpZCI6Impvc2h1YSJ9..VShe2taLd-YTrmWuRkcL_8QTNDHYxQIEBsAYYiIj1_8",
  );
});

test("a terminating namespace is emptied after 5 s and deleted with its last object", async () => {
  await using on = await startOnStore();
  await on.create("namespaces", object("Namespace", "lab", undefined));
  await on.clock.advance(0);
  await on.create("configmaps", object("ConfigMap", "one", "lab", { data: {} }));
  await on.create("secrets", object("Secret", "two", "lab", { metadata: { finalizers: ["example.com/hold"] } }));
  await on.admin.delete("namespaces", undefined, "lab");
  await on.clock.advance(4_900);
  expect(await namesOf(on, "configmaps", "lab")).toContain("one");
  await on.clock.advance(200);
  expect(await namesOf(on, "configmaps", "lab")).toEqual([]);
  const held = await on.admin.get("namespaces", undefined, "lab");
  const { conditions } = (held?.["status"] ?? { conditions: [] }) as {
    conditions: { type: string; status: string; message: string }[];
  };
  expect(conditions.map(({ type, status }) => `${type}=${status}`)).toEqual([
    "NamespaceDeletionDiscoveryFailure=False",
    "NamespaceDeletionGroupVersionParsingFailure=False",
    "NamespaceDeletionContentFailure=False",
    "NamespaceContentRemaining=True",
    "NamespaceFinalizersRemaining=True",
  ]);
  expect(conditions[3]?.message).toBe("Some resources are remaining: secrets. has 1 resource instances");
  expect(conditions[4]?.message).toBe(
    "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
  );
  await on.admin.modify("secrets", "lab", "two", ({ metadata: { finalizers: _, ...metadata }, ...secret }) => ({
    ...secret,
    metadata,
  }));
  await on.clock.advance(10_000);
  expect(await on.admin.get("namespaces", undefined, "lab")).toBeUndefined();
  expect(errorsOf(on.facts)).toEqual([]);
});

test("Foreground deletion of one of three objects that own each other deletes all", async () => {
  await using on = await startOnStore();
  const names = ["one", "two", "three"];
  const made = await Promise.all(
    names.map((name) => on.create("configmaps", object("ConfigMap", name, "default", { data: {} }))),
  );
  for (const [index, one] of made.entries()) {
    const ownerReferences = [owner(made[(index + 2) % 3] as KubeObject, { blockOwnerDeletion: true })];
    const change = (current: KubeObject) => ({ ...current, metadata: { ...current.metadata, ownerReferences } });
    await on.admin.modify("configmaps", "default", one.metadata.name ?? "", change);
  }
  await on.clock.advance(0);
  await on.admin.delete("configmaps", "default", "one", { propagationPolicy: "Foreground" });
  await on.clock.advance(1_000);
  expect(await namesOf(on, "configmaps", "default")).toEqual(["kube-root-ca.crt"]);
  expect(errorsOf(on.facts)).toEqual([]);
});

for (const [policy, dependentStays, ownerGoesFirst, sent] of [
  ["Background", false, true, ["DELETE leaf"]],
  ["Foreground", false, false, ["DELETE leaf", "PATCH top"]],
  ["Orphan", true, true, ["PATCH leaf", "PATCH top"]],
] as const) {
  test(`${policy} deletion: the dependent ${dependentStays ? "stays without its owner" : "is deleted"}`, async () => {
    await using on = await startOnStore();
    const top = await on.create("configmaps", object("ConfigMap", "top", "default", { data: {} }));
    const ownerReferences = [owner(top, { blockOwnerDeletion: true })];
    await on.create("configmaps", object("ConfigMap", "leaf", "default", { data: {}, metadata: { ownerReferences } }));
    await on.clock.advance(0);
    const gone: string[] = [];
    const stop = new AbortController();
    const watching = (async () => {
      for await (const item of on.admin.reflect("configmaps", stop.signal)) {
        if (item.type === "deleted") gone.push(item.object.metadata.name ?? "");
      }
    })();
    await on.clock.advance(0);
    await on.admin.delete("configmaps", "default", "top", { propagationPolicy: policy });
    await on.clock.advance(1_000);
    stop.abort();
    await watching;
    expect(gone).toEqual(dependentStays ? ["top"] : ownerGoesFirst ? ["top", "leaf"] : ["leaf", "top"]);
    const leaf = await on.admin.get("configmaps", "default", "leaf");
    expect(leaf?.metadata.ownerReferences).toBeUndefined();
    expect(leaf !== undefined).toBe(dependentStays);
    const writes = on.facts.flatMap((fact) =>
      fact.kind === "request" && fact.identity.endsWith("generic-garbage-collector")
        ? `${fact.method} ${fact.path}`
        : [],
    );
    expect(writes.map((write) => write.replace("/api/v1/namespaces/default/configmaps/", ""))).toEqual(sent);
    expect(errorsOf(on.facts)).toEqual([]);
  });
}

for (const blockOwnerDeletion of [true, false]) {
  test(`in a foreground deletion a dependent with blockOwnerDeletion ${blockOwnerDeletion} ${blockOwnerDeletion ? "holds" : "does not hold"} its owner`, async () => {
    await using on = await startOnStore();
    const top = await on.create("configmaps", object("ConfigMap", "top", "default", { data: {} }));
    const metadata = { ownerReferences: [owner(top, { blockOwnerDeletion })], finalizers: ["example.com/hold"] };
    await on.create("configmaps", object("ConfigMap", "leaf", "default", { data: {}, metadata }));
    await on.clock.advance(0);
    await on.admin.delete("configmaps", "default", "top", { propagationPolicy: "Foreground" });
    await on.clock.advance(1_000);
    expect((await on.admin.get("configmaps", "default", "leaf"))?.metadata.deletionTimestamp).toBeDefined();
    expect((await on.admin.get("configmaps", "default", "top")) !== undefined).toBe(blockOwnerDeletion);
    await on.admin.modify("configmaps", "default", "leaf", ({ metadata: { finalizers: _, ...rest }, ...leaf }) => ({
      ...leaf,
      metadata: rest,
    }));
    await on.clock.advance(1_000);
    expect(await namesOf(on, "configmaps", "default")).toEqual(["kube-root-ca.crt"]);
  });
}

test("an object with one existing owner stays, and loses the reference to the other", async () => {
  await using on = await startOnStore();
  const [a, b] = [
    await on.create("configmaps", object("ConfigMap", "a", "default", { data: {} })),
    await on.create("configmaps", object("ConfigMap", "b", "default", { data: {} })),
  ];
  const ownerReferences = [owner(a), owner(b)];
  await on.create("secrets", object("Secret", "both", "default", { metadata: { ownerReferences } }));
  await on.clock.advance(0);
  await on.admin.delete("configmaps", "default", "a");
  await on.clock.advance(1_000);
  const both = await on.admin.get("secrets", "default", "both");
  expect(both?.metadata.ownerReferences).toEqual([owner(b)]);
});

test("a missing owner, or one with another uid, deletes its dependent; an unknown kind does not", async () => {
  await using on = await startOnStore();
  const other: OwnerReference = { apiVersion: "v1", kind: "ConfigMap", name: "kube-root-ca.crt", uid: "not-its-uid" };
  const widget: OwnerReference = { apiVersion: "example.com/v1", kind: "Widget", name: "w", uid: "w" };
  await on.create("secrets", object("Secret", "stray", "default", { metadata: { ownerReferences: [other] } }));
  await on.create("secrets", object("Secret", "widgets", "default", { metadata: { ownerReferences: [widget] } }));
  await on.clock.advance(1_000);
  expect(await namesOf(on, "secrets", "default")).toEqual(["widgets"]);
});

test("events are deleted an hour after their last change", async () => {
  await using on = await startOnStore();
  const event = (name: string) =>
    object("Event", name, "default", {
      involvedObject: { kind: "Pod", name: "p", namespace: "default" },
      reason: "Test",
      message: "m",
      type: "Normal",
      count: 1,
      firstTimestamp: rfc3339(on.clock.now()),
      lastTimestamp: rfc3339(on.clock.now()),
    });
  await on.create("events", event("quiet"));
  await on.create("events", event("repeated"));
  await on.clock.advance(1_800_000);
  await on.admin.modify("events", "default", "repeated", (current) => ({ ...current, count: 2 }));
  await on.clock.advance(1_800_000);
  expect(await namesOf(on, "events")).toEqual(["repeated"]);
  await on.clock.advance(1_800_000);
  expect(await namesOf(on, "events")).toEqual([]);
});
