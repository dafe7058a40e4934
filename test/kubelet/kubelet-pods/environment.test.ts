import assert from "node:assert/strict";
import { test } from "vitest";
import { makeEnvironmentVariables } from "../../../src/kubelet/kubelet-pods/environment.js";
import type { ServiceObject } from "../../../src/kubelet/kubelet-pods/service-env.js";
import type { ObjectResult } from "../../../src/kubelet/util/manager/object-cache.js";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import type { V1Container, V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { RecordedEvents } from "../../support/recorded-events.js";

const SIGNAL = new AbortController().signal;
const OBJECTS: Readonly<Record<string, Record<string, string>>> = {
  "configmap/settings": { COLOUR: "red", "bad key": "x", "0digit": "y" },
  "secret/keys": { PASSWORD: Buffer.from("s3cret").toString("base64") },
};

const service = (namespace: string, name: string, clusterIP: string, ports: object[]): ServiceObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace },
  spec: { clusterIP, ports: ports as never },
});
const SERVICES = [service("default", "kubernetes", "10.96.0.1", [{ name: "https", port: 443, protocol: "TCP" }])];

function podOf(spec: object = {}): V1Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "p",
      namespace: "ns",
      uid: "u",
      labels: { app: "web", "a/b": "c" },
      annotations: { note: 'say "hi"' },
    },
    spec: { containers: [], nodeName: "n1", serviceAccountName: "robot", enableServiceLinks: false, ...spec },
    status: {},
  };
}

async function make(container: object, pod = podOf(), services: readonly ServiceObject[] | "unknown" = SERVICES) {
  const recorder = new RecordedEvents();
  const get =
    (kind: string) =>
    async (_: string, name: string): Promise<ObjectResult> => {
      const data = OBJECTS[`${kind}/${name}`];
      if (name === "forbidden") return { outcome: "failed", message: "nobody may read it" };
      if (data === undefined) return { outcome: "not-found", message: `${kind} "${name}" not found` };
      const object: KubeObject = {
        apiVersion: "v1",
        kind: kind === "secret" ? "Secret" : "ConfigMap",
        metadata: {},
        data,
      };
      return { outcome: "ok", object };
    };
  const deps = {
    configMaps: { get: get("configmap") },
    secrets: { get: get("secret") },
    services: () => (services === "unknown" ? undefined : services),
    recorder,
    allocatable: () => ({ cpu: "4", memory: "8Gi" }),
    hostIps: () => ["192.0.2.1"],
  };
  const named: V1Container = { name: "c", ...container };
  const pod2 = { ...pod, spec: { ...pod.spec, containers: [named] } };
  const result = await makeEnvironmentVariables(deps, pod2, named, ["10.244.0.5", "fd00::5"], SIGNAL);
  const envs = result.outcome === "ok" ? Object.fromEntries(result.envs.map((one) => [one.name, one.value])) : {};
  return { result, recorder, envs };
}

const field = (fieldPath: string) => ({ env: [{ name: "V", valueFrom: { fieldRef: { fieldPath } } }] });
const amount = (resource: string, more: object = {}) => ({
  resources: { limits: { memory: "100Mi" }, requests: { cpu: "250m" } },
  env: [{ name: "V", valueFrom: { resourceFieldRef: { resource, ...more } } }],
});
const key = (kind: string, name: string, keyName: string, more: object = {}) => ({
  env: [{ name: "V", valueFrom: { [kind]: { name, key: keyName, ...more } } }],
});

const values: readonly (readonly [string, object, string | undefined])[] = [
  ["a value", { env: [{ name: "V", value: "v" }] }, "v"],
  ["no value", { env: [{ name: "V" }] }, ""],
  [
    "a name before",
    {
      env: [
        { name: "A", value: "a" },
        { name: "V", value: "$(A)-$(A)" },
      ],
    },
    "a-a",
  ],
  [
    "a name that comes later",
    {
      env: [
        { name: "V", value: "$(B)" },
        { name: "B", value: "b" },
      ],
    },
    "$(B)",
  ],
  [
    "an escaped reference",
    {
      env: [
        { name: "A", value: "a" },
        { name: "V", value: "$$(A) $x $(A $" },
      ],
    },
    "$(A) $x $(A $",
  ],
  ["a service's variable", { env: [{ name: "V", value: "$(KUBERNETES_SERVICE_HOST)" }] }, "10.96.0.1"],
  [
    "a variable of envFrom",
    { envFrom: [{ configMapRef: { name: "settings" } }], env: [{ name: "V", value: "$(COLOUR)" }] },
    "red",
  ],
  ["metadata.name", field("metadata.name"), "p"],
  ["metadata.namespace", field("metadata.namespace"), "ns"],
  ["metadata.uid", field("metadata.uid"), "u"],
  ["a label", field("metadata.labels['a/b']"), "c"],
  ["a label that is not there", field("metadata.labels['x']"), ""],
  ["an annotation", field("metadata.annotations['note']"), 'say "hi"'],
  ["all labels", field("metadata.labels"), 'a/b="c"\napp="web"'],
  ["all annotations", field("metadata.annotations"), 'note="say \\"hi\\""'],
  ["spec.nodeName", field("spec.nodeName"), "n1"],
  ["spec.serviceAccountName", field("spec.serviceAccountName"), "robot"],
  ["status.podIP", field("status.podIP"), "10.244.0.5"],
  ["status.podIPs", field("status.podIPs"), "10.244.0.5,fd00::5"],
  ["status.hostIP", field("status.hostIP"), "192.0.2.1"],
  ["limits.memory", amount("limits.memory"), "104857600"],
  ["limits.memory in Mi", amount("limits.memory", { divisor: "1Mi" }), "100"],
  ["limits.cpu, the node's", amount("limits.cpu"), "4"],
  ["requests.cpu, rounded up", amount("requests.cpu"), "1"],
  ["requests.cpu in thousandths", amount("requests.cpu", { divisor: "1m" }), "250"],
  ["requests.memory, none", amount("requests.memory", { divisor: "0" }), "0"],
  ["a key of a config map", key("configMapKeyRef", "settings", "COLOUR"), "red"],
  ["a key of a secret", key("secretKeyRef", "keys", "PASSWORD"), "s3cret"],
  ["an optional key that is not there", key("configMapKeyRef", "settings", "SHAPE", { optional: true }), undefined],
  ["an optional secret that is not there", key("secretKeyRef", "none", "K", { optional: true }), undefined],
];
for (const [name, container, want] of values) {
  test(`environment: ${name}`, async () => assert.equal((await make(container)).envs["V"], want));
}

const failures: readonly (readonly [string, object, string])[] = [
  ["no such config map", key("configMapKeyRef", "none", "K"), 'configmap "none" not found'],
  ["no such secret", { envFrom: [{ secretRef: { name: "none" } }] }, 'secret "none" not found'],
  ["no such key", key("configMapKeyRef", "settings", "SHAPE"), "couldn't find key SHAPE in ConfigMap ns/settings"],
  ["no such key of a secret", key("secretKeyRef", "keys", "K"), "couldn't find key K in Secret ns/keys"],
  ["optional, but forbidden", key("secretKeyRef", "forbidden", "K", { optional: true }), "nobody may read it"],
  ["no such field", field("spec.hostname"), "field label not supported: spec.hostname"],
  ["no such resource", amount("limits.gpu"), "Unsupported container resource : limits.gpu"],
  ["no such container", amount("limits.cpu", { containerName: "x" }), "container x not found"],
];
for (const [name, container, message] of failures) {
  test(`environment: ${name} fails`, async () =>
    assert.deepEqual((await make(container)).result, { outcome: "failed", message }));
}

test("environment: envFrom adds a prefix, and skips invalid names with an event", async () => {
  const { envs, recorder } = await make({ envFrom: [{ prefix: "P_", configMapRef: { name: "settings" } }] });
  assert.equal(envs["P_COLOUR"], "red");
  assert.equal(envs["P_0digit"], "y");
  assert.deepEqual(recorder.lines, [
    "Warning InvalidEnvironmentVariableNames Keys [P_bad key] from the EnvFrom configMap ns/settings were skipped " +
      "since they are considered invalid environment variable names.",
  ]);
  const bare = await make({ envFrom: [{ configMapRef: { name: "settings" } }, { secretRef: { name: "keys" } }] });
  assert.match(bare.recorder.lines[0] ?? "", /Keys \[0digit, bad key\]/);
  assert.equal(bare.envs["PASSWORD"], "s3cret");
});

test("environment: env wins over envFrom, and a pod's own variable over a service's", async () => {
  const env = [
    { name: "COLOUR", value: "blue" },
    { name: "KUBERNETES_PORT", value: "mine" },
  ];
  const { envs } = await make({ envFrom: [{ configMapRef: { name: "settings" } }], env });
  assert.equal(envs["COLOUR"], "blue");
  assert.equal(envs["KUBERNETES_PORT"], "mine");
});

test("environment: with service links, services of the pod's namespace get docker's variables too", async () => {
  const services = [
    ...SERVICES,
    service("ns", "my-db", "10.96.0.9", [
      { name: "main-port", port: 5432 },
      { port: 53, protocol: "UDP" },
    ]),
    service("ns", "headless", "None", [{ port: 1 }]),
    service("other", "elsewhere", "10.96.0.10", [{ port: 1 }]),
  ];
  const { envs } = await make({}, podOf({ enableServiceLinks: true }), services);
  assert.deepEqual(envs, {
    KUBERNETES_SERVICE_HOST: "10.96.0.1",
    KUBERNETES_SERVICE_PORT: "443",
    KUBERNETES_SERVICE_PORT_HTTPS: "443",
    KUBERNETES_PORT: "tcp://10.96.0.1:443",
    KUBERNETES_PORT_443_TCP: "tcp://10.96.0.1:443",
    KUBERNETES_PORT_443_TCP_PROTO: "tcp",
    KUBERNETES_PORT_443_TCP_PORT: "443",
    KUBERNETES_PORT_443_TCP_ADDR: "10.96.0.1",
    MY_DB_SERVICE_HOST: "10.96.0.9",
    MY_DB_SERVICE_PORT: "5432",
    MY_DB_SERVICE_PORT_MAIN_PORT: "5432",
    MY_DB_PORT: "tcp://10.96.0.9:5432",
    MY_DB_PORT_5432_TCP: "tcp://10.96.0.9:5432",
    MY_DB_PORT_5432_TCP_PROTO: "tcp",
    MY_DB_PORT_5432_TCP_PORT: "5432",
    MY_DB_PORT_5432_TCP_ADDR: "10.96.0.9",
    MY_DB_PORT_53_UDP: "udp://10.96.0.9:53",
    MY_DB_PORT_53_UDP_PROTO: "udp",
    MY_DB_PORT_53_UDP_PORT: "53",
    MY_DB_PORT_53_UDP_ADDR: "10.96.0.9",
  });
  const without = await make({}, podOf({ enableServiceLinks: false }), services);
  assert.equal(without.envs["MY_DB_SERVICE_HOST"], undefined);
  assert.equal(without.envs["KUBERNETES_SERVICE_HOST"], "10.96.0.1");
});

test("environment: while services are unknown only static pods start", async () => {
  const none = await makeWithoutServices(podOf());
  assert.deepEqual(none.result, {
    outcome: "failed",
    message: "services have not yet been read at least once, cannot construct envvars",
  });
  const pod = podOf();
  const annotations = { "kubernetes.io/config.source": "file" };
  const own = await makeWithoutServices({ ...pod, metadata: { ...pod.metadata, annotations } });
  assert.deepEqual(own.result, { outcome: "ok", envs: [] });
});

function makeWithoutServices(pod: V1Pod) {
  return make({}, pod, "unknown");
}
