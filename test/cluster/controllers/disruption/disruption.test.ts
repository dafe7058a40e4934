import { expect, test } from "vitest";
import { evictionHandler } from "../../../../src/cluster/apiserver/registry/core/pods/eviction.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import type { PodObject } from "../../../../src/staging/apimachinery/api/objects.js";
import { statusError } from "../../../../src/staging/apimachinery/errors.js";
import type { PodDisruptionBudget } from "../../../../src/staging/apimachinery/policyv1/pod-disruption-budget.js";
import { rfc3339 } from "../../../../src/staging/apimachinery/time.js";
import { Trace } from "../../../../src/trace/trace.js";
import { podTemplate, WorkloadStage } from "../support/workload-stage.js";

const BUDGETS = "poddisruptionbudgets.policy";
const SELECTOR = { matchLabels: { app: "web" } };

function budget(spec: object, name = "b"): object {
  return {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name },
    spec: { selector: SELECTOR, ...spec },
  };
}

function workload(kind: string, replicas: number, name = "web", apiVersion = "apps/v1"): object {
  const selector = kind === "ReplicationController" ? { app: "web" } : SELECTOR;
  return { apiVersion, kind, metadata: { name }, spec: { replicas, selector, template: podTemplate() } };
}

async function createPods(stage: WorkloadStage, count: number, ownerReferences: readonly object[] = []): Promise<void> {
  for (let i = 1; i <= count; i++) {
    const metadata = { name: `p${i}`, labels: { app: "web" }, ownerReferences };
    await stage.create("pods", { apiVersion: "v1", kind: "Pod", metadata, spec: podTemplate().spec });
  }
}

/** Creates a workload with running pods. */
async function running(stage: WorkloadStage, resource: string, object: object): Promise<void> {
  await stage.create(resource, object);
  await stage.settle();
  await stage.start();
}

const ownedBy = (kind: string, name: string, uid: string, apiVersion: string) => [
  { apiVersion, kind, name, uid, controller: true },
];

const get = (stage: WorkloadStage, name = "b") => stage.get<PodDisruptionBudget>(BUDGETS, name);

/** allowed: healthy/desired of expected, and the condition: `1: 3/2 of 3 True SufficientPods`. */
async function status(stage: WorkloadStage, name = "b"): Promise<string> {
  const { status: all, metadata } = await get(stage, name);
  const [condition] = all?.conditions ?? [];
  const seen = all?.observedGeneration === metadata.generation ? "" : " (old)";
  const { disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods } = all ?? {};
  return `${disruptionsAllowed}: ${currentHealthy}/${desiredHealthy} of ${expectedPods} ${condition?.status} ${condition?.reason}${seen}`;
}

const decisions = (stage: WorkloadStage) => stage.decisions().filter((one) => one.includes("PodDisruptionBudget"));
const events = (stage: WorkloadStage, reason: string) => stage.events().filter((one) => one.includes(reason));

/** What `kubectl drain` sends for a pod. @returns 201, or 429 */
async function evict(stage: WorkloadStage, name: string, kubeVersion = "1.25"): Promise<number> {
  const { clock, registry } = stage.on;
  const handler = evictionHandler({ clock, trace: new Trace(clock), kubeVersion });
  const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name } } as KubeObject;
  const context = { user: stage.admin.user, warnings: [] };
  const request = { context, registry, namespace: "default", name, body, query: new URLSearchParams() };
  const code = await handler(request).then(
    (answer) => answer.code,
    (error: { code: number }) => error.code,
  );
  await stage.settle();
  return code;
}

async function setDisrupted(stage: WorkloadStage, disruptedPods: object): Promise<void> {
  await stage.change(
    BUDGETS,
    "b",
    (one) => ({ ...one, status: { ...(one["status"] as object), disruptedPods } }),
    "status",
  );
}

const now = (stage: WorkloadStage, addedMs = 0) => rfc3339(stage.on.clock.now() + addedMs);

type Row = readonly [title: string, story: (stage: WorkloadStage) => Promise<unknown>, want: unknown];

const table: readonly Row[] = [
  [
    "without pods a budget allows nothing, with an event",
    async (stage) => {
      await stage.create(BUDGETS, budget({ minAvailable: 0 }));
      return [await status(stage), events(stage, "NoPods")[0]];
    },
    ["0: 0/0 of 0 False InsufficientPods", "Normal NoPods No matching pods found"],
  ],
  [
    "a number of available pods needs no controller",
    async (stage) => {
      await createPods(stage, 3);
      await stage.start();
      await stage.create(BUDGETS, budget({ minAvailable: 2 }));
      return [await status(stage), decisions(stage), events(stage, "UnmanagedPods")];
    },
    [
      "1: 3/2 of 3 True SufficientPods",
      ["allow 1 disruptions by PodDisruptionBudget default/b: 3 pods are healthy, and 2 must be: minAvailable 2 of 3"],
      [],
    ],
  ],
  [
    "a selector of nothing has no pods",
    async (stage) => {
      await createPods(stage, 1);
      await stage.start();
      await stage.create(BUDGETS, { ...budget({}), spec: { minAvailable: 0 } });
      return status(stage);
    },
    "0: 0/0 of 0 False InsufficientPods",
  ],
  [
    "an empty selector has all pods of the namespace",
    async (stage) => {
      await createPods(stage, 2);
      await stage.start();
      await stage.create(BUDGETS, budget({ minAvailable: 1, selector: {} }));
      return status(stage);
    },
    "1: 2/1 of 2 True SufficientPods",
  ],
  [
    "without numbers nothing is expected",
    async (stage) => {
      await createPods(stage, 2);
      await stage.start();
      await stage.create(BUDGETS, budget({}));
      return status(stage);
    },
    "0: 2/0 of 0 False InsufficientPods",
  ],
  [
    "pods that are not ready are not healthy",
    async (stage) => {
      await createPods(stage, 3);
      await stage.start();
      const [first] = await stage.pods();
      await stage.setReady(first === undefined ? [] : [first], false);
      await stage.create(BUDGETS, budget({ minAvailable: 2 }));
      return status(stage);
    },
    "0: 2/2 of 3 False InsufficientPods",
  ],
  [
    "it follows its pods: a new one, one that gets ready, one that ends",
    async (stage) => {
      await stage.create(BUDGETS, budget({ minAvailable: 1 }));
      await createPods(stage, 2);
      const waiting = await status(stage);
      await stage.start();
      const ready = await status(stage);
      await stage.delete("pods", "p1");
      const ending = await status(stage);
      await stage.endTerminating();
      return [waiting, ready, ending, await status(stage)];
    },
    [
      "0: 0/1 of 2 False InsufficientPods",
      "1: 2/1 of 2 True SufficientPods",
      "0: 1/1 of 2 False InsufficientPods",
      "0: 1/1 of 1 False InsufficientPods",
    ],
  ],
  [
    "it follows its spec",
    async (stage) => {
      await createPods(stage, 3);
      await stage.start();
      await stage.create(BUDGETS, budget({ minAvailable: 3 }));
      await stage.changeSpec(BUDGETS, "b", { minAvailable: 1 });
      return [await status(stage), (await get(stage)).status?.observedGeneration];
    },
    ["2: 3/1 of 3 True SufficientPods", 2],
  ],
  [
    "more than all pods must be available",
    async (stage) => {
      await createPods(stage, 2);
      await stage.start();
      await stage.create(BUDGETS, budget({ minAvailable: 5 }));
      return status(stage);
    },
    "0: 2/5 of 2 False InsufficientPods",
  ],
  [
    "maxUnavailable refers to the size of the ReplicaSet, not to its pods",
    async (stage) => {
      await running(stage, "replicasets.apps", workload("ReplicaSet", 5));
      await stage.create(BUDGETS, budget({ maxUnavailable: 2 }));
      return [await status(stage), decisions(stage)];
    },
    [
      "2: 5/3 of 5 True SufficientPods",
      [
        "allow 2 disruptions by PodDisruptionBudget default/b: 5 pods are healthy, and 3 must be: maxUnavailable 2 of 5",
      ],
    ],
  ],
  [
    "the size of a scaled workload counts at once",
    async (stage) => {
      await running(stage, "replicasets.apps", workload("ReplicaSet", 2));
      await stage.create(BUDGETS, budget({ maxUnavailable: 1 }));
      await stage.changeSpec("replicasets.apps", "web", { replicas: 4 });
      return status(stage);
    },
    "0: 2/3 of 4 False InsufficientPods",
  ],
  [
    "a percentage of unavailable pods is rounded up",
    async (stage) => {
      await running(stage, "replicasets.apps", workload("ReplicaSet", 7));
      await stage.create(BUDGETS, budget({ maxUnavailable: "30%" }));
      return status(stage);
    },
    "3: 7/4 of 7 True SufficientPods",
  ],
  [
    "a percentage of available pods is rounded up",
    async (stage) => {
      await running(stage, "replicasets.apps", workload("ReplicaSet", 10));
      await stage.create(BUDGETS, budget({ minAvailable: "81%" }));
      return status(stage);
    },
    "1: 10/9 of 10 True SufficientPods",
  ],
  [
    "maxUnavailable 100% wants none",
    async (stage) => {
      await running(stage, "replicasets.apps", workload("ReplicaSet", 2));
      await stage.create(BUDGETS, budget({ maxUnavailable: "100%" }));
      return status(stage);
    },
    "2: 2/0 of 2 True SufficientPods",
  ],
  [
    "more unavailable pods than there are want none",
    async (stage) => {
      await running(stage, "replicasets.apps", workload("ReplicaSet", 2));
      await stage.create(BUDGETS, budget({ maxUnavailable: 9 }));
      return status(stage);
    },
    "2: 2/0 of 2 True SufficientPods",
  ],
  [
    "of a Deployment its own size counts, however many ReplicaSets it has",
    async (stage) => {
      await running(stage, "deployments.apps", workload("Deployment", 4));
      await stage.change("deployments.apps", "web", (object) => {
        const copy = structuredClone(object) as unknown as {
          spec: { template: { spec: { containers: { image: string }[] } } };
        };
        for (const container of copy.spec.template.spec.containers) container.image = "nginx:2";
        return copy as unknown as KubeObject;
      });
      await stage.create(BUDGETS, budget({ minAvailable: "50%" }));
      return [await status(stage), (await stage.admin.list("replicasets.apps", "default")).length];
    },
    ["1: 3/2 of 4 True SufficientPods", 2],
  ],
  [
    "the size of a ReplicationController",
    async (stage) => {
      await running(stage, "replicationcontrollers", workload("ReplicationController", 3, "web", "v1"));
      await stage.create(BUDGETS, budget({ minAvailable: "67%" }));
      return status(stage);
    },
    "0: 3/3 of 3 False InsufficientPods",
  ],
  [
    "the size of a StatefulSet",
    async (stage) => {
      const set = await stage.create("statefulsets.apps", { ...workload("StatefulSet", 4), metadata: { name: "web" } });
      await createPods(stage, 2, ownedBy("StatefulSet", "web", set.metadata.uid ?? "", "apps/v1"));
      await stage.start();
      await stage.create(BUDGETS, budget({ minAvailable: "25%" }));
      return status(stage);
    },
    expect.stringMatching(/\/1 of 4 True/),
  ],
  [
    "pods of several controllers: each size counts once",
    async (stage) => {
      await running(stage, "replicasets.apps", workload("ReplicaSet", 3, "a"));
      await running(stage, "replicasets.apps", workload("ReplicaSet", 2, "c"));
      await stage.create(BUDGETS, budget({ minAvailable: "40%" }));
      return status(stage);
    },
    "3: 5/2 of 5 True SufficientPods",
  ],
  [
    "pods without a controller are an event, and count only as healthy",
    async (stage) => {
      await createPods(stage, 1);
      await stage.start();
      await stage.create(BUDGETS, budget({ maxUnavailable: "50%" }));
      return [await status(stage), events(stage, "UnmanagedPods")[0]];
    },
    [
      "0: 1/0 of 0 False InsufficientPods",
      expect.stringContaining(
        "(selector: &LabelSelector{MatchLabels:map[string]string{app: web,},MatchExpressions:[]LabelSelectorRequirement{},})",
      ),
    ],
  ],
  [
    "a controller that is gone: the budget allows nothing, and says why",
    async (stage) => {
      await createPods(stage, 1, ownedBy("ReplicaSet", "gone", "u", "apps/v1"));
      await stage.start();
      await stage.create(BUDGETS, budget({ maxUnavailable: 1 }));
      const [condition] = (await get(stage)).status?.conditions ?? [];
      return [await status(stage), condition?.message, events(stage, "CalculateExpected")[0], decisions(stage).at(-1)];
    },
    [
      expect.stringMatching(/^0: .* False SyncFailed/),
      'found no controllers for pod "p1"',
      'Warning CalculateExpectedPodCountFailed Failed to calculate the number of expected pods: found no controllers for pod "p1"',
      'allow no disruption by PodDisruptionBudget default/b: found no controllers for pod "p1"',
    ],
  ],
  ...(
    [
      ["Job", "batch/v1", "jobs.batch does not implement the scale subresource"],
      ["DaemonSet", "apps/v1", "daemonsets.apps does not implement the scale subresource"],
      ["Unicorn", "zoo/v1", 'no matches for kind "Unicorn" in version "zoo/v1"'],
      ["ReplicaSet", "apps/v9", 'no matches for kind "ReplicaSet" in version "apps/v9"'],
      ["ReplicaSet", "extensions/v1beta1", 'found no controllers for pod "p1"'],
    ] as const
  ).map(
    ([kind, apiVersion, message]): Row => [
      `pods of ${apiVersion} ${kind}: ${message}`,
      async (stage) => {
        await createPods(stage, 1, ownedBy(kind, "x", "u", apiVersion));
        await stage.create(BUDGETS, budget({ minAvailable: "50%" }));
        return (await get(stage)).status?.conditions?.[0]?.message;
      },
      message,
    ],
  ),
  [
    "a sync that fails once and then works has its condition again",
    async (stage) => {
      const owner = ownedBy("ReplicaSet", "gone", "u", "apps/v1");
      await createPods(stage, 1, owner);
      await stage.start();
      await stage.create(BUDGETS, budget({ maxUnavailable: 1 }));
      await stage.changeSpec(BUDGETS, "b", { minAvailable: 0, maxUnavailable: undefined });
      return status(stage);
    },
    "1: 1/0 of 1 True SufficientPods",
  ],
  [
    "pods with two budgets are an event, and one budget follows them",
    async (stage) => {
      await stage.create(BUDGETS, budget({ minAvailable: 1 }));
      await stage.create(BUDGETS, budget({ minAvailable: 1 }, "c"));
      await createPods(stage, 1);
      return events(stage, "Multiple")[0];
    },
    'Warning MultiplePodDisruptionBudgets Pod "default"/"p1" matches multiple PodDisruptionBudgets.  Chose "b" arbitrarily.',
  ],
  [
    "an evicted pod does not count before it is marked for deletion",
    async (stage) => {
      await createPods(stage, 3);
      await stage.start();
      await stage.create(BUDGETS, budget({ minAvailable: 1 }));
      await setDisrupted(stage, { p1: now(stage) });
      return [await status(stage), decisions(stage).at(-1)];
    },
    [
      "1: 2/1 of 3 True SufficientPods",
      "allow 1 disruptions by PodDisruptionBudget default/b: 2 pods are healthy, pods p1 are evicted and do not count, and 1 must be: minAvailable 1 of 3",
    ],
  ],
  [
    "after two minutes it counts again, with an event",
    async (stage) => {
      await createPods(stage, 3);
      await stage.start();
      await stage.create(BUDGETS, budget({ minAvailable: 1 }));
      await setDisrupted(stage, { p1: now(stage) });
      await stage.pass(119);
      const before = await status(stage);
      await stage.pass(2);
      return [before, await status(stage), (await get(stage)).status?.disruptedPods, events(stage, "NotDeleted")];
    },
    [
      "1: 2/1 of 3 True SufficientPods",
      "2: 3/1 of 3 True SufficientPods",
      undefined,
      ["Warning NotDeleted Pod was expected by PDB default/default to be deleted but it wasn't"],
    ],
  ],
  [
    "of evicted pods those that are gone, or end, are forgotten",
    async (stage) => {
      await createPods(stage, 3);
      await stage.start();
      await stage.create(BUDGETS, budget({ minAvailable: 1 }));
      await stage.delete("pods", "p2");
      await setDisrupted(stage, { p1: now(stage), p2: now(stage), gone: now(stage), p3: now(stage, -130_000) });
      return Object.keys((await get(stage)).status?.disruptedPods ?? {});
    },
    ["p1"],
  ],
  [
    "evictions one after the other: each waits for the replacement of the one before",
    async (stage) => {
      await running(stage, "replicasets.apps", workload("ReplicaSet", 3));
      await stage.create(BUDGETS, budget({ minAvailable: 2 }));
      const names = (await stage.pods()).map(({ metadata }) => metadata.name ?? "");
      const codes = [await evict(stage, names[0] ?? ""), await evict(stage, names[1] ?? "")];
      await stage.endTerminating();
      codes.push(await evict(stage, names[1] ?? ""));
      await stage.start();
      codes.push(await evict(stage, names[1] ?? ""));
      return codes;
    },
    [201, 429, 429, 201],
  ],
  [
    "a budget that was not synced yet refuses, and allows later",
    async (stage) => {
      await createPods(stage, 2);
      await stage.start();
      await stage.send(BUDGETS, budget({ minAvailable: 1 }));
      const early = await evict(stage, "p1");
      return [early, await evict(stage, "p1")];
    },
    [429, 201],
  ],
  [
    "a conflict with an eviction is tried again",
    async (stage) => {
      let refusals = 1;
      stage.refuse.why = ({ resource, subresource }) =>
        resource === "poddisruptionbudgets" && subresource === "status" && refusals-- > 0
          ? statusError(409, "Conflict", "old version")
          : undefined;
      await createPods(stage, 2);
      await stage.start();
      await stage.create(BUDGETS, budget({ minAvailable: 1 }));
      await stage.pass(1);
      return [await status(stage), stage.errors()];
    },
    ["1: 2/1 of 2 True SufficientPods", []],
  ],
  [
    "a change that does not concern it writes nothing",
    async (stage) => {
      await createPods(stage, 2);
      await stage.start();
      await stage.create(BUDGETS, budget({ minAvailable: 1 }));
      const { metadata } = await get(stage);
      await stage.setStatus(await stage.pods(), { message: "hello" });
      return (await get(stage)).metadata.resourceVersion === metadata.resourceVersion;
    },
    true,
  ],
  [
    "a deleted budget is forgotten",
    async (stage) => {
      await createPods(stage, 1);
      await stage.create(BUDGETS, budget({ minAvailable: 1 }));
      await stage.delete(BUDGETS, "b");
      await stage.start();
      return [stage.errors(), await evict(stage, "p1")];
    },
    [[], 201],
  ],
];

test.each(table)("disruption: %s", async (_title, story, want) => {
  await using stage = await WorkloadStage.open({ without: ["statefulset", "garbagecollector"] });
  expect(await story(stage)).toEqual(want);
});

test("1.26: a condition DisruptionTarget is reset if the pod has not ended after two minutes", async () => {
  await using stage = await WorkloadStage.open({ kubeVersion: "1.26" });
  await stage.create(BUDGETS, budget({ minAvailable: 0 }));
  await createPods(stage, 2);
  await stage.start();
  const conditions = (reason: string) => [
    { type: "DisruptionTarget", status: "True", reason, lastTransitionTime: now(stage) },
  ];
  const [first, second] = (await stage.pods()) as readonly [PodObject, PodObject];
  await stage.setStatus([first], { conditions: conditions("EvictionByEvictionAPI") });
  await stage.setStatus([second], { conditions: conditions("TerminationByKubelet") });
  const shown = async () => (await stage.pods()).map(({ status: all }) => all?.conditions?.[0]?.status);
  await stage.pass(119);
  expect(await shown()).toEqual(["True", "True"]);
  await stage.pass(1);
  expect(await shown()).toEqual(["False", "True"]);
  expect(stage.errors()).toEqual([]);
});

test("the disruption controller acts as its own service account", async () => {
  await using stage = await WorkloadStage.open();
  const binding = "system:controller:disruption-controller";
  await stage.admin.delete("clusterrolebindings.rbac.authorization.k8s.io", undefined, binding);
  await createPods(stage, 1);
  await stage.create(BUDGETS, budget({ minAvailable: 0 }));
  expect(stage.errors()[0]).toContain('User "system:serviceaccount:kube-system:disruption-controller" cannot');
});
