import { expect, test } from "vitest";
import { validatePod } from "../../../../../../src/cluster/apiserver/registry/core/pods/validation.js";

function problems(spec: object, container: object = {}): string[] {
  const plain = { name: "a", image: "b", imagePullPolicy: "Always", terminationMessagePolicy: "File" };
  const containers = [{ ...plain, ...container }];
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "default" },
    spec: { containers, restartPolicy: "Always", dnsPolicy: "ClusterFirst", ...spec },
  };
  return validatePod(pod).map(({ field, text }) => `${field}: ${text}`);
}

test("names of sysctls", () => {
  const names = [
    "kernel.shmmax",
    "net/ipv4/ip_local_port_range",
    "foo-",
    "bar..",
    "",
    "kernel.shmmax",
    "a".repeat(254),
  ];
  const sysctls = names.map((name) => ({ name, value: "1" }));
  const rule =
    "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
  expect(problems({ securityContext: { sysctls } })).toEqual([
    `spec.securityContext.sysctls[2].name: Invalid value: "foo-": ${rule}`,
    `spec.securityContext.sysctls[3].name: Invalid value: "bar..": ${rule}`,
    "spec.securityContext.sysctls[4].name: Required value",
    'spec.securityContext.sysctls[5].name: Duplicate value: "kernel.shmmax"',
    `spec.securityContext.sysctls[6].name: Invalid value: "${"a".repeat(254)}": ${rule}`,
  ]);
});

test("a prefix of envFrom follows the rule of environment variables", () => {
  const prefixed = (prefix: string) => problems({}, { envFrom: [{ prefix, configMapRef: { name: "c" } }] });
  expect([prefixed("p-"), prefixed("p.q_")]).toEqual([[], []]);
  expect(prefixed("1p")[0]).toMatch(
    /^spec\.containers\[0\]\.envFrom\[0\]\.prefix: Invalid value: "1p": a valid environment variable name/,
  );
});

const field = (fieldPath: string) => ({ path: "f", fieldRef: { apiVersion: "v1", fieldPath } });
const VOLUME_FIELDS =
  '"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"';
const RESOURCES =
  '"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"';
const cpu = { containerName: "a", resource: "limits.cpu" };

const FILES: readonly (readonly [what: string, item: object, wanted: string[]])[] = [
  ["labels", field("metadata.labels"), []],
  ["one label", field("metadata.labels['a.example/b']"), []],
  ["a resource", { path: "f", resourceFieldRef: { ...cpu, divisor: "1m" } }, []],
  ["huge pages", { path: "f", resourceFieldRef: { containerName: "a", resource: "limits.hugepages-2Mi" } }, []],
  [
    "the pod's address",
    field("status.podIP"),
    [`fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: ${VOLUME_FIELDS}`],
  ],
  [
    "a field that no one has",
    field("spec.foo"),
    ['fieldRef.fieldPath: Invalid value: "spec.foo": error converting fieldPath: field label not supported: spec.foo'],
  ],
  ["no source", { path: "f" }, [": Required value: one of fieldRef and resourceFieldRef is required"]],
  [
    "two sources",
    { ...field("metadata.name"), resourceFieldRef: cpu },
    [': Invalid value: "resource": fieldRef and resourceFieldRef can not be specified simultaneously'],
  ],
  ["no path", { ...field("metadata.name"), path: "" }, ["path: Required value"]],
  [
    "paths that leave the volume",
    { ...field("metadata.name"), path: "/a/../b" },
    [
      'path: Invalid value: "/a/../b": must be a relative path',
      "path: Invalid value: \"/a/../b\": must not contain '..'",
    ],
  ],
  [
    "a reserved path",
    { ...field("metadata.name"), path: "..a" },
    ["path: Invalid value: \"..a\": must not start with '..'"],
  ],
  [
    "a mode",
    { ...field("metadata.name"), mode: 512 },
    ["mode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive"],
  ],
  [
    "no container",
    { path: "f", resourceFieldRef: { resource: "limits.cpu" } },
    ["resourceFieldRef.containerName: Required value"],
  ],
  [
    "another resource",
    { path: "f", resourceFieldRef: { containerName: "a", resource: "limits.gpu" } },
    [`resourceFieldRef.resource: Unsupported value: "limits.gpu": supported values: ${RESOURCES}`],
  ],
  [
    "another divisor",
    { path: "f", resourceFieldRef: { ...cpu, divisor: "2" } },
    [
      'resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
    ],
  ],
];
for (const [what, item, wanted] of FILES) {
  test(`a downwardAPI volume with ${what}`, () => {
    const path = "spec.volumes[0].downwardAPI";
    const found = problems({ volumes: [{ name: "v", downwardAPI: { items: [item] } }] });
    expect(found).toEqual(wanted.map((one) => (one.startsWith(":") ? `${path}${one}` : `${path}.${one}`)));
  });
}

test("files of secrets, config maps and projected volumes", () => {
  const token = { serviceAccountToken: { path: "t", expirationSeconds: 60 } };
  const sources = [
    { secret: { name: "s", items: [{ key: "a", path: "x" }] } },
    { configMap: { name: "c", items: [{ key: "", path: "x" }] } },
    { downwardAPI: { items: [field("spec.nodeName")] } },
    token,
  ];
  const volumes = [
    { name: "a", secret: { secretName: "s", defaultMode: -1, items: [{ key: "k", path: "../x" }] } },
    { name: "b", configMap: { name: "c", items: [{ key: "k", path: "x" }] } },
    { name: "c", projected: { sources } },
  ];
  expect(problems({ volumes })).toEqual([
    "spec.volumes[0].secret.defaultMode: Invalid value: -1: must be a number between 0 and 0777 (octal), both inclusive",
    "spec.volumes[0].secret.items[0].path: Invalid value: \"../x\": must not contain '..'",
    "spec.volumes[2].projected.sources[1].configMap.items[0].key: Required value",
    'spec.volumes[2].projected: Invalid value: "c": conflicting duplicate paths',
    `spec.volumes[2].projected.sources[2].downwardAPI.fieldRef.fieldPath: Unsupported value: "spec.nodeName": supported values: ${VOLUME_FIELDS}`,
    "spec.volumes[2].projected.sources[3].serviceAccountToken.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes",
  ]);
});

const SUPPORTED =
  '"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.podIP", "status.podIPs"';
const VARIABLES: readonly (readonly [fieldPath: string, wanted: RegExp | undefined])[] = [
  ["status.podIP", undefined],
  ["status.hostIPs", undefined],
  ["metadata.labels['a']", undefined],
  ["metadata.annotations['A.Example/B']", undefined],
  ["metadata.annotations['B c']", /^: Invalid value: "b c": name part must consist of alphanumeric characters/],
  [
    "metadata.labels",
    new RegExp(`^\\.fieldPath: Unsupported value: "metadata.labels": supported values: ${SUPPORTED}$`),
  ],
  ["x", /^\.fieldPath: Invalid value: "x": error converting fieldPath: field label not supported: x$/],
  ["", /^\.fieldPath: Required value$/],
];
for (const [fieldPath, wanted] of VARIABLES) {
  test(`a variable of the field ${fieldPath}`, () => {
    const { fieldRef } = field(fieldPath);
    const found = problems({}, { env: [{ name: "E", valueFrom: { fieldRef } }] });
    const path = "spec.containers[0].env[0].valueFrom.fieldRef";
    expect(found.map((one) => one.startsWith(path))).toEqual(wanted === undefined ? [] : [true]);
    if (wanted !== undefined) expect((found[0] ?? "").slice(path.length)).toMatch(wanted);
  });
}
