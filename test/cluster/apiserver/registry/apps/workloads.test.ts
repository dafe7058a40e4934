import { beforeAll, describe, expect, test } from "vitest";
import type { KubeObject } from "../../../../../src/staging/apimachinery/api/meta.js";
import { openTableLab, refusalIfAny, type TableLab } from "../table-lab.js";

type Fields = Readonly<Record<string, unknown>>;

const LABELS = { app: "web" };
const CONTAINERS = [{ name: "app", image: "nginx" }];
const template = (labels: Fields = LABELS, spec: Fields = {}) => ({
  metadata: { labels },
  spec: { containers: CONTAINERS, ...spec },
});

const API = {
  deployments: "Deployment",
  replicasets: "ReplicaSet",
  daemonsets: "DaemonSet",
  statefulsets: "StatefulSet",
};
type Kind = keyof typeof API;

function workload(resource: Kind, spec: Fields = {}, name = "web"): KubeObject {
  const selector = { matchLabels: LABELS };
  return {
    apiVersion: "apps/v1",
    kind: API[resource],
    metadata: { name },
    spec: { selector, template: template(), ...spec },
  };
}

function controller(spec: Fields = {}, name = "web"): KubeObject {
  const own = { selector: LABELS, template: template(), ...spec };
  return { apiVersion: "v1", kind: "ReplicationController", metadata: { name }, spec: own };
}

/** What follows `... is invalid: `; "" for no error. */
async function errorOf(write: Promise<unknown>): Promise<string> {
  const { message = "" } = (await refusalIfAny(write)) ?? {};
  return message.slice(message.indexOf("is invalid: ") + "is invalid: ".length);
}

const NEGATIVE = "Invalid value: -1: must be greater than or equal to 0";
const MISMATCH =
  'spec.template.metadata.labels: Invalid value: map[string]string{"app":"other"}: `selector` does not match template `labels`';
const EMPTY =
  "spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string(nil), MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: empty selector is invalid for";
const rolling = (maxSurge: unknown, maxUnavailable: unknown) => ({
  strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } },
});
const zero = 'intstr.IntOrString{Type:0, IntVal:0, StrVal:""}';

const created: readonly [resource: Kind, what: string, spec: Fields, error: string][] = [
  ["deployments", "a good one", {}, ""],
  ["deployments", "negative replicas", { replicas: -1 }, `spec.replicas: ${NEGATIVE}`],
  ["deployments", "another label", { template: template({ app: "other" }) }, MISMATCH],
  ["deployments", "an empty selector", { selector: {} }, `${EMPTY} deployment`],
  [
    "deployments",
    "an operator that does not exist",
    { selector: { matchLabels: LABELS, matchExpressions: [{ key: "a", operator: "Like", values: [] }] } },
    expect.stringContaining(
      'spec.selector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
    ) as never,
  ],
  [
    "deployments",
    "pods that end",
    { template: template(LABELS, { restartPolicy: "Never" }) },
    'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
  ],
  [
    "deployments",
    "pods with a deadline",
    { template: template(LABELS, { activeDeadlineSeconds: 5 }) },
    "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
  ],
  [
    "deployments",
    "no containers",
    { template: template(LABELS, { containers: [] }) },
    "spec.template.spec.containers: Required value",
  ],
  [
    "deployments",
    "a strategy that does not exist",
    { strategy: { type: "Slow" } },
    'spec.strategy: Unsupported value: apps.DeploymentStrategy{Type:"Slow", RollingUpdate:(*apps.RollingUpdateDeployment)(nil)}: supported values: "Recreate", "RollingUpdate"',
  ],
  [
    "deployments",
    "Recreate with numbers",
    { strategy: { type: "Recreate", rollingUpdate: { maxSurge: 1 } } },
    "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
  ],
  [
    "deployments",
    "neither surge nor unavailability",
    rolling(0, 0),
    `spec.strategy.rollingUpdate.maxUnavailable: Invalid value: ${zero}: may not be 0 when \`maxSurge\` is 0`,
  ],
  ["deployments", "negative surge", rolling(-1, 1), `spec.strategy.rollingUpdate.maxSurge: ${NEGATIVE}`],
  [
    "deployments",
    "more than all unavailable",
    rolling(0, "101%"),
    'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"101%"}: must not be greater than 100%',
  ],
  [
    "deployments",
    "a word as percentage",
    rolling("some", 1),
    expect.stringContaining("a valid percent string must be a numeric string followed by an ending '%'") as never,
  ],
  [
    "deployments",
    "a deadline below minReadySeconds",
    { minReadySeconds: 10, progressDeadlineSeconds: 10 },
    "spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds",
  ],
  ["deployments", "a negative history", { revisionHistoryLimit: -1 }, `spec.revisionHistoryLimit: ${NEGATIVE}`],
  ["replicasets", "a good one", {}, ""],
  ["replicasets", "negative replicas", { replicas: -1 }, `spec.replicas: ${NEGATIVE}`],
  ["replicasets", "another label", { template: template({ app: "other" }) }, MISMATCH],
  ["replicasets", "negative minReadySeconds", { minReadySeconds: -1 }, `spec.minReadySeconds: ${NEGATIVE}`],
  ["daemonsets", "a good one", {}, ""],
  ["daemonsets", "another label", { template: template({ app: "other" }) }, MISMATCH],
  ["daemonsets", "an empty selector", { selector: {} }, `${EMPTY} daemonset`],
  [
    "daemonsets",
    "nothing unavailable",
    { updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0 } } },
    "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
  ],
  ["statefulsets", "a good one", { serviceName: "web" }, ""],
  ["statefulsets", "another label", { template: template({ app: "other" }) }, MISMATCH],
  [
    "statefulsets",
    "a policy that does not exist",
    { podManagementPolicy: "Random" },
    "spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'",
  ],
  [
    "statefulsets",
    "a negative partition",
    { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: -1 } } },
    `spec.updateStrategy.rollingUpdate.partition: ${NEGATIVE}`,
  ],
];

/** The status of a new object has the counts that Go writes when they are 0. */
const freshStatuses: readonly [resource: Kind, status: Fields][] = [
  ["deployments", {}],
  ["replicasets", { replicas: 0 }],
  ["daemonsets", { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 }],
  ["statefulsets", { replicas: 0, availableReplicas: 0 }],
];

const IMMUTABLE =
  'spec.selector: Invalid value: v1.LabelSelector{MatchLabels:map[string]string{"app":"other"}, MatchExpressions:[]v1.LabelSelectorRequirement(nil)}: field is immutable';
const other = { selector: { matchLabels: { app: "other" } }, template: template({ app: "other" }) };

const updated: readonly [resource: Kind, what: string, spec: Fields, error: string][] = [
  ["deployments", "another size", { replicas: 5 }, ""],
  ["deployments", "another selector", other, IMMUTABLE],
  ["replicasets", "another selector", other, IMMUTABLE],
  ["daemonsets", "another selector", other, IMMUTABLE],
  ["statefulsets", "another size and template", { replicas: 5, template: template(LABELS, { hostname: "x" }) }, ""],
  [
    "statefulsets",
    "another service",
    { serviceName: "other" },
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
  ],
];

const statuses: readonly [resource: Kind, status: Fields, error: string][] = [
  ["deployments", { replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 1 }, ""],
  [
    "deployments",
    { replicas: 1, readyReplicas: 2 },
    "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
  ],
  [
    "deployments",
    { replicas: 2, readyReplicas: 1, availableReplicas: 2 },
    "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
  ],
  ["replicasets", { fullyLabeledReplicas: -1 }, `status.fullyLabeledReplicas: ${NEGATIVE}`],
  [
    "replicasets",
    { replicas: 1, fullyLabeledReplicas: 2 },
    "status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas",
  ],
];

describe("workloads", () => {
  let lab: TableLab;
  let count = 0;
  beforeAll(async () => {
    lab = await openTableLab();
  });
  const fresh = () => `w${++count}`;

  for (const [resource, what, spec, error] of created) {
    test(`${resource}: ${what}`, async () => {
      expect(await errorOf(lab.create(resource, workload(resource, spec, fresh())))).toEqual(error);
    });
  }

  for (const [resource, status] of freshStatuses) {
    test(`${resource}: a new one has the status ${JSON.stringify(status)}, whatever the client sent`, async () => {
      const sent = { ...workload(resource, {}, fresh()), status: { observedGeneration: 7 } };
      expect((await lab.create(resource, sent))["status"]).toEqual(status);
    });
  }

  for (const [resource, what, spec, error] of updated) {
    test(`${resource} updated: ${what}`, async () => {
      const name = fresh();
      await lab.create(resource, workload(resource, {}, name));
      expect(await errorOf(lab.put(resource, name, workload(resource, spec, name)))).toEqual(error);
    });
  }

  for (const [resource, status, error] of statuses) {
    test(`${resource} with status ${JSON.stringify(status)}`, async () => {
      const name = fresh();
      await lab.create(resource, workload(resource, {}, name));
      const body = { ...workload(resource, { replicas: 9 }, name), status };
      const write = lab.put(resource, name, body, { subresource: "status" });
      expect(await errorOf(write)).toBe(error);
      if (error === "") expect(await write).toMatchObject({ spec: { replicas: 1 }, status });
    });
  }

  const controllers: readonly [what: string, body: KubeObject, error: string][] = [
    ["a good one", controller(), ""],
    ["no template", controller({ template: undefined }), "spec.template: Required value"],
    [
      "neither selector nor labels",
      controller({ selector: undefined, template: template({}) }),
      "spec.selector: Required value",
    ],
    ["another label", controller({ template: template({ app: "other" }) }), MISMATCH],
    [
      "pods that end",
      controller({ template: template(LABELS, { restartPolicy: "OnFailure" }) }),
      'spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"',
    ],
  ];
  for (const [what, body, error] of controllers) {
    test(`replicationcontrollers: ${what}`, async () => {
      const named = { ...body, metadata: { name: fresh() } };
      expect(await errorOf(lab.create("replicationcontrollers", named))).toBe(error);
    });
  }

  test("the template's labels are a ReplicationController's default selector and labels", async () => {
    const made = await lab.create("replicationcontrollers", controller({ selector: undefined }, fresh()));
    expect([made["spec"], made.metadata.labels]).toMatchObject([{ selector: LABELS }, LABELS]);
  });

  test("spec and annotations of a Deployment count as generations, its status does not", async () => {
    const name = fresh();
    const generations: unknown[] = [
      (await lab.create("deployments", workload("deployments", {}, name))).metadata.generation,
    ];
    const put = async (body: KubeObject, subresource?: string) => {
      const written = await lab.put("deployments", name, body, subresource === undefined ? {} : { subresource });
      generations.push(written.metadata.generation);
    };
    const body = workload("deployments", { replicas: 3 }, name);
    await put(body);
    await put({ ...body, metadata: { ...body.metadata, annotations: { a: "b" } } });
    await put({ ...body, metadata: { ...body.metadata, annotations: { a: "c" } }, status: {} }, "status");
    expect(generations).toEqual([1, 2, 3, 3]);
  });

  test("an annotation of a DaemonSet counts the changes of its template, whatever a client sends", async () => {
    const name = fresh();
    const generationOf = ({ metadata }: KubeObject) =>
      metadata.annotations?.["deprecated.daemonset.template.generation"];
    const counts = [generationOf(await lab.create("daemonsets", workload("daemonsets", {}, name)))];
    for (const spec of [{ minReadySeconds: 3 }, { template: template({ ...LABELS, more: "1" }) }]) {
      const body = workload("daemonsets", spec, name);
      const annotations = { "deprecated.daemonset.template.generation": "7" };
      counts.push(
        generationOf(await lab.put("daemonsets", name, { ...body, metadata: { ...body.metadata, annotations } })),
      );
    }
    expect(counts).toEqual(["1", "1", "2"]);
  });

  test("a ControllerRevision keeps its data", async () => {
    const name = fresh();
    const revision = (data: unknown, number = 1) => ({
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: { name },
      data,
      revision: number,
    });
    expect(await errorOf(lab.create("controllerrevisions", revision(undefined)))).toBe(
      "data: Required value: data is mandatory",
    );
    await lab.create("controllerrevisions", revision({ a: 1 }));
    expect(await errorOf(lab.put("controllerrevisions", name, revision({ a: 1 }, 2)))).toBe("");
    expect(await errorOf(lab.put("controllerrevisions", name, revision({ a: 2 })))).toContain("field is immutable");
  });
});
