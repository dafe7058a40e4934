import { describe, expect, test } from "vitest";
import { openTableLab } from "../table-lab.js";

async function warningsOf(resource: string, body: object, kubeVersion: string): Promise<readonly string[]> {
  const lab = await openTableLab(undefined, kubeVersion);
  const warnings: string[] = [];
  await lab.create(resource, body, { warnings });
  return warnings;
}

function podOf(spec: object, container: object = {}, metadata: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", ...metadata },
    spec: { containers: [{ name: "c", image: "x", ...container }], ...spec },
  };
}

const TWICE = {
  env: [
    { name: "A", value: "1" },
    { name: "A", value: "2" },
  ],
};
const EXTENDED = {
  env: [
    { name: "A", value: "1" },
    { name: "A", value: "$(A)2" },
  ],
};
const PORTS = { ports: [{ containerPort: 80 }, { containerPort: 80, name: "http" }] };
const OTHER_PORTS = { ports: [{ containerPort: 80 }, { containerPort: 80, hostPort: 80 }] };
const ANTI_AFFINITY = {
  affinity: {
    podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "kubernetes.io/hostname" }] },
  },
};

/** As pkg/api/pod/warnings.go of each release. */
const ROWS: readonly [kubeVersion: string, pod: object, warnings: readonly string[]][] = [
  ["1.34", podOf({}, { env: [{ name: "A", value: "1" }] }), []],
  ["1.27", podOf({}, TWICE), ['spec.containers[0].env[1].name: duplicate name "A"']],
  ["1.28", podOf({}, TWICE), ["spec.containers[0].env[1]: `A` hides previous definition"]],
  [
    "1.30",
    podOf({}, TWICE),
    ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'],
  ],
  ["1.27", podOf({}, EXTENDED), ['spec.containers[0].env[1].name: duplicate name "A"']],
  ["1.30", podOf({}, EXTENDED), []],
  [
    "1.25",
    podOf({}, {}, { annotations: { "scheduler.alpha.kubernetes.io/critical-pod": "" } }),
    [
      'metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead',
    ],
  ],
  [
    "1.25",
    podOf({ nodeSelector: { "beta.kubernetes.io/os": "linux" } }),
    ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
  ],
  [
    "1.25",
    podOf({}, { resources: { limits: { memory: "100m" }, requests: { memory: "50m" } } }),
    [
      'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer',
      'spec.containers[0].resources.requests[memory]: fractional byte value "50m" is invalid, must be an integer',
    ],
  ],
  [
    "1.25",
    podOf({ volumes: [{ name: "v", gitRepo: { repository: "r" } }] }),
    ["spec.volumes[0].gitRepo: deprecated in v1.11"],
  ],
  [
    "1.25",
    podOf({ imagePullSecrets: [{ name: "s" }, { name: "s" }] }),
    ['spec.imagePullSecrets[1].name: duplicate name "s"'],
  ],
  ["1.26", podOf({}, {}, { name: "a.b" }), []],
  [
    "1.27",
    podOf({}, {}, { name: "a.b" }),
    [
      "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
    ],
  ],
  ["1.27", podOf({}, PORTS), []],
  [
    "1.28",
    podOf({}, PORTS),
    ["spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"],
  ],
  [
    "1.28",
    podOf({}, OTHER_PORTS),
    ["spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]"],
  ],
  ["1.27", podOf(ANTI_AFFINITY), []],
  [
    "1.28",
    podOf(ANTI_AFFINITY),
    [
      "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod",
    ],
  ],
];

describe("the warnings about a new pod", () => {
  test.each(ROWS)("release %s %#", async (kubeVersion, pod, warnings) => {
    expect(await warningsOf("pods", pod, kubeVersion)).toEqual(warnings);
  });
});

const TEMPLATE = {
  metadata: { labels: { a: "b" } },
  spec: { containers: [{ name: "c", image: "x", ...TWICE }], restartPolicy: "Never" },
};
const IN_TEMPLATE = 'spec.containers[0].env[1].name: duplicate name "A"';

test.each([
  ["jobs", { apiVersion: "batch/v1", kind: "Job", spec: { template: TEMPLATE } }, `spec.template.${IN_TEMPLATE}`],
  [
    "cronjobs",
    {
      apiVersion: "batch/v1",
      kind: "CronJob",
      spec: { schedule: "0 0 * * *", jobTemplate: { spec: { template: TEMPLATE } } },
    },
    `spec.jobTemplate.spec.template.${IN_TEMPLATE}`,
  ],
])("the template of %s", async (resource, body, warning) => {
  expect(await warningsOf(resource, { ...body, metadata: { name: "w" } }, "1.25")).toEqual([warning]);
});

test("an Ingress with the annotation of its class", async () => {
  const ingress = {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: { name: "i", annotations: { "kubernetes.io/ingress.class": "nginx" } },
    spec: { defaultBackend: { service: { name: "s", port: { number: 80 } } } },
  };
  expect(await warningsOf("ingresses", ingress, "1.25")).toEqual([
    `annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`,
  ]);
});
