import { expect, test } from "vitest";
import { resourcesFor } from "../../../../../src/cluster/apiserver/registry/table.js";
import { StorageCodec } from "../../../../../src/cluster/apiserver/storage/etcd/codec.js";
import { keySpace } from "../../../../../src/cluster/apiserver/storage/etcd/kind-of-key.js";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import { encodeProtobuf } from "../../../../../src/staging/apimachinery/scheme/protobuf/envelope.js";

const codec = new StorageCodec(keySpace(resourcesFor("1.25")).kindOf);
const metadata = { name: "a", namespace: "default", uid: "u", creationTimestamp: "2026-01-02T03:04:05Z" };

/** What is stored, and what is read from it. */
function stored(key: string, object: object): KubeObject {
  return codec.decode(key, Buffer.from(JSON.stringify({ ...object, metadata })));
}

const SLICE = "/registry/endpointslices/default/a";
const slice = (endpoint: object) => ({
  kind: "EndpointSlice",
  apiVersion: "discovery.k8s.io/v1beta1",
  addressType: "IPv4",
  endpoints: [{ addresses: ["10.0.0.1"], ...endpoint }],
});
const [ZONE, HOST] = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"];
const endpoints = [
  // v1beta1 as stored                                         v1 as served
  [{}, {}],
  [{ topology: { [ZONE]: "z", [HOST]: "n" } }, { zone: "z", nodeName: "n" }],
  [{ nodeName: "n", topology: { [HOST]: "n" } }, { nodeName: "n" }],
  [
    { nodeName: "n", topology: { [HOST]: "other", rack: "r" } },
    { nodeName: "n", deprecatedTopology: { [HOST]: "other", rack: "r" } },
  ],
] as const;
for (const [old, served] of endpoints) {
  test(`an endpoint ${JSON.stringify(old)} of v1beta1 is ${JSON.stringify(served)}`, () => {
    const object = stored(SLICE, slice(old));
    expect(object).toMatchObject({
      apiVersion: "discovery.k8s.io/v1",
      endpoints: [{ addresses: ["10.0.0.1"], conditions: {}, ...served }],
    });
    const back = JSON.parse(codec.encode(object).toString()) as KubeObject;
    expect(back.apiVersion).toBe("discovery.k8s.io/v1beta1");
    expect(codec.decode(SLICE, Buffer.from(JSON.stringify(back)))).toEqual(object);
  });
}

const BUDGET = "/registry/poddisruptionbudgets/default/a";
const MATCH = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";
const selectors = [
  // v1                                                                        v1beta1
  [{ matchLabels: { a: "b" } }, { matchLabels: { a: "b" } }],
  [{}, { matchExpressions: [{ key: MATCH, operator: "DoesNotExist" }] }],
  [{ matchExpressions: [{ key: MATCH, operator: "Exists" }] }, {}],
] as const;
for (const [served, old] of selectors) {
  test(`a budget's selector ${JSON.stringify(served)} is stored as ${JSON.stringify(old)}`, () => {
    const spec = { maxUnavailable: 1, selector: served };
    const object = { kind: "PodDisruptionBudget", apiVersion: "policy/v1", metadata, spec };
    const value = codec.encode(object);
    expect(JSON.parse(value.toString())).toMatchObject({ apiVersion: "policy/v1beta1", spec: { selector: old } });
    expect(codec.decode(BUDGET, value)).toMatchObject(object);
  });
}

test("an Ingress of v1beta1 has its backends where v1 has them", () => {
  const [backend, named] = [
    { serviceName: "web", servicePort: 80 },
    { serviceName: "web", servicePort: "http" },
  ];
  const paths = [{ path: "/", pathType: "Prefix", backend: named }];
  const spec = { backend, rules: [{ host: "a", http: { paths } }] };
  const object = stored("/registry/ingress/default/a", {
    kind: "Ingress",
    apiVersion: "networking.k8s.io/v1beta1",
    spec,
  });
  expect(object).toMatchObject({
    apiVersion: "networking.k8s.io/v1",
    spec: {
      defaultBackend: { service: { name: "web", port: { number: 80 } } },
      rules: [{ http: { paths: [{ backend: { service: { name: "web", port: { name: "http" } } } }] } }],
    },
  });
});

test("protobuf of v1 is read, with defaults and managedFields", async () => {
  const entry = {
    manager: "kubectl",
    operation: "Update",
    apiVersion: "v1",
    fieldsType: "FieldsV1",
    fieldsV1: { "f:data": {} },
  };
  const object = {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { ...metadata, managedFields: [entry] },
    data: { a: "b" },
  };
  const value = Buffer.from(encodeProtobuf(object) ?? "");
  await codec.prepare([{ value }]);
  const read = codec.decode("/registry/configmaps/default/a", value);
  expect(read).toMatchObject(object);
  const { metadata: bare, ...rest } = read;
  const next = { ...rest, metadata: { name: bare.name } } as KubeObject;
  const kept = JSON.parse(codec.encode(next, [entry]).toString()) as { metadata: object };
  expect(kept.metadata).toEqual({ name: "a", managedFields: [entry] });
});

const bad = [
  ["apps/v1beta9", "Deployment", "/registry/deployments/default/a", "its version apps/v1beta9 is not known here"],
  ["v1", "Secret", "/registry/configmaps/default/a", "it is a Secret, not a ConfigMap"],
] as const;
for (const [apiVersion, kind, key, why] of bad) {
  test(`${kind} of ${apiVersion} at ${key} cannot be read`, () => {
    expect(() => stored(key, { kind, apiVersion })).toThrow(why);
  });
}
