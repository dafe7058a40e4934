import { describe, expect, test } from "vitest";
import { LimitRanger } from "../../../src/cluster/apiserver/admission/limitranger/limit-ranger.js";
import { ResourceQuota as QuotaPlugin } from "../../../src/cluster/apiserver/admission/resourcequota/resource-quota.js";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import { StatusError } from "../../../src/staging/apimachinery/errors.js";
import type { ResourceQuota } from "../../../src/staging/server/quota/evaluator.js";
import { Trace } from "../../../src/trace/trace.js";
import { only } from "../../support/trace.js";
import { WorkloadStage } from "./support/workload-stage.js";

type Amounts = Readonly<Record<string, string>>;

function openStage(): Promise<WorkloadStage> {
  return WorkloadStage.open({
    plugins: ({ registry, clock }) => [
      new LimitRanger(registry),
      new QuotaPlugin({ registry, clock, trace: new Trace(clock) }),
    ],
  });
}

function quota(hard: Amounts, spec: object = {}, name = "q"): object {
  return { apiVersion: "v1", kind: "ResourceQuota", metadata: { name }, spec: { hard, ...spec } };
}

function pod(name: string, spec: object = {}): object {
  const containers = [{ name: "c", image: "x", resources: { requests: { cpu: "100m", memory: "1Mi" } } }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name, labels: { a: "b" } }, spec: { containers, ...spec } };
}

function service(spec: object = {}): object {
  return { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { ports: [{ port: 80 }], ...spec } };
}

function configMap(name: string): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
}

async function statusOf(stage: WorkloadStage, name = "q"): Promise<unknown> {
  return (await stage.get<ResourceQuota>("resourcequotas", name)).status;
}

async function usedOf(stage: WorkloadStage, name = "q"): Promise<unknown> {
  return (await stage.get<ResourceQuota>("resourcequotas", name)).status?.used;
}

/** The decisions of the quota controller. */
function decisions(stage: WorkloadStage): string[] {
  return stage.decisions().filter((one) => one.startsWith("set the usage"));
}

async function refusal(write: Promise<unknown>): Promise<string> {
  try {
    await write;
    return "accepted";
  } catch (error) {
    if (error instanceof StatusError) return error.message;
    throw error;
  }
}

type Row = readonly [title: string, story: (stage: WorkloadStage) => Promise<unknown>, want: unknown];

const table: readonly Row[] = [
  [
    "a new quota of an empty namespace",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "2", cpu: "1" }));
      return [await statusOf(stage), decisions(stage)];
    },
    [
      { hard: { pods: "2", cpu: "1" }, used: { pods: "0", cpu: "0" } },
      ["set the usage of ResourceQuota default/q: cpu unknown -> 0 of 1, pods unknown -> 0 of 2"],
    ],
  ],
  [
    "a quota that limits nothing",
    async (stage) => {
      await stage.create("resourcequotas", quota({}));
      return [await statusOf(stage), decisions(stage)];
    },
    [{ hard: {}, used: {} }, ["set the usage of ResourceQuota default/q: it limits nothing"]],
  ],
  [
    "objects that exist, of this namespace only",
    async (stage) => {
      await stage.send("pods", pod("one"));
      await stage.send("pods", { ...pod("two"), metadata: { name: "two", namespace: "kube-system" } });
      await stage.create("resourcequotas", quota({ pods: "5", "requests.cpu": "1", "count/pods": "5" }));
      return usedOf(stage);
    },
    { pods: "1", "requests.cpu": "100m", "count/pods": "1" },
  ],
  [
    "the quota itself",
    async (stage) => {
      await stage.create("resourcequotas", quota({ resourcequotas: "1" }));
      return usedOf(stage);
    },
    { resourcequotas: "1" },
  ],
  [
    "a resource that no kind has stays unknown",
    async (stage) => {
      await stage.create("resourcequotas", quota({ "count/widgets.example.com": "1", pods: "1" }));
      await stage.pass(600);
      return [await usedOf(stage), decisions(stage).length, stage.errors()];
    },
    [{ pods: "0" }, 1, []],
  ],
  [
    "objects of other groups",
    async (stage) => {
      await stage.create(
        "resourcequotas",
        quota({ "count/jobs.batch": "1", "count/roles.rbac.authorization.k8s.io": "3" }),
      );
      await stage.create("roles.rbac.authorization.k8s.io", {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        metadata: { name: "r" },
      });
      return usedOf(stage);
    },
    { "count/jobs.batch": "0", "count/roles.rbac.authorization.k8s.io": "1" },
  ],
  [
    "new objects, which the API server charges: the controller has nothing to do",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "2" }));
      await stage.create("pods", pod("one"));
      return [await usedOf(stage), decisions(stage).length];
    },
    [{ pods: "1" }, 1],
  ],
  [
    "an object that goes gives back what it used",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "1", memory: "1Gi" }));
      await stage.create("pods", pod("one"));
      await stage.delete("pods", "one");
      return [await usedOf(stage), decisions(stage).slice(1), await refusal(stage.send("pods", pod("two")))];
    },
    [
      { pods: "0", memory: "0" },
      ["set the usage of ResourceQuota default/q: memory 1Mi -> 0 of 1Gi, pods 1 -> 0 of 1"],
      "accepted",
    ],
  ],
  [
    "a pod on a node counts until its kubelet has ended it",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "1" }));
      await stage.create("pods", pod("one"));
      await stage.start();
      await stage.delete("pods", "one");
      const marked = await usedOf(stage);
      await stage.endTerminating();
      return [marked, await usedOf(stage)];
    },
    [{ pods: "1" }, { pods: "0" }],
  ],
  [
    "a pod that has ended counts as an object only",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "1", cpu: "1", "count/pods": "1" }));
      await stage.create("pods", pod("one"));
      await stage.setStatus(await stage.pods(), { phase: "Succeeded" });
      return usedOf(stage);
    },
    { pods: "0", cpu: "0", "count/pods": "1" },
  ],
  [
    "a pod that runs changes nothing",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "1" }));
      await stage.create("pods", pod("one"));
      await stage.start();
      return decisions(stage).length;
    },
    1,
  ],
  [
    "a pod whose node is lost no longer counts after its grace period, with the next full count",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "1" }));
      await stage.create("pods", pod("one"));
      await stage.start();
      await stage.delete("pods", "one");
      await stage.pass(299);
      const before = await usedOf(stage);
      await stage.pass(1);
      return [before, await usedOf(stage)];
    },
    [{ pods: "1" }, { pods: "0" }],
  ],
  [
    "a service that is no longer of a node port",
    async (stage) => {
      await stage.create("resourcequotas", quota({ services: "5", "services.nodeports": "1" }));
      await stage.create("services", service({ type: "NodePort" }));
      const before = await usedOf(stage);
      await stage.change("services", "s", (one) => ({
        ...one,
        spec: { ...(one["spec"] as object), type: "ClusterIP" },
      }));
      return [before, await usedOf(stage)];
    },
    [
      { services: "2", "services.nodeports": "1" },
      { services: "2", "services.nodeports": "0" },
    ],
  ],
  [
    "a service that goes",
    async (stage) => {
      await stage.create("resourcequotas", quota({ services: "5", "services.loadbalancers": "1" }));
      await stage.create("services", service({ type: "LoadBalancer" }));
      const before = await usedOf(stage);
      await stage.delete("services", "s");
      return [before, await usedOf(stage)];
    },
    [
      { services: "2", "services.loadbalancers": "1" },
      { services: "1", "services.loadbalancers": "0" },
    ],
  ],
  [
    "a claim that goes",
    async (stage) => {
      const ofGold = "gold.storageclass.storage.k8s.io/requests.storage";
      await stage.create("resourcequotas", quota({ "requests.storage": "2Gi", [ofGold]: "1Gi" }));
      const spec = {
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "1Gi" } },
        storageClassName: "gold",
      };
      await stage.create("persistentvolumeclaims", {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name: "c" },
        spec,
      });
      const before = await usedOf(stage);
      await stage.delete("persistentvolumeclaims", "c");
      return [before, await usedOf(stage)];
    },
    [
      { "requests.storage": "1Gi", "gold.storageclass.storage.k8s.io/requests.storage": "1Gi" },
      { "requests.storage": "0", "gold.storageclass.storage.k8s.io/requests.storage": "0" },
    ],
  ],
  [
    "a higher limit",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "1" }));
      await stage.create("pods", pod("one"));
      await stage.changeSpec("resourcequotas", "q", { hard: { pods: "2" } });
      return [await statusOf(stage), await refusal(stage.send("pods", pod("two")))];
    },
    [{ hard: { pods: "2" }, used: { pods: "1" } }, "accepted"],
  ],
  [
    "a limit below what is used: nothing goes, nothing new comes",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "2" }));
      await stage.create("pods", pod("one"));
      await stage.create("pods", pod("two"));
      await stage.changeSpec("resourcequotas", "q", { hard: { pods: "1" } });
      return [await statusOf(stage), (await stage.pods()).length, await refusal(stage.send("pods", pod("three")))];
    },
    [
      { hard: { pods: "1" }, used: { pods: "2" } },
      2,
      'pods "three" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=1',
    ],
  ],
  [
    "a limit of another resource, whose usage is counted",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "2" }));
      await stage.create("configmaps", configMap("one"));
      await stage.changeSpec("resourcequotas", "q", { hard: { configmaps: "5" } });
      return statusOf(stage);
    },
    { hard: { configmaps: "5" }, used: { configmaps: "1" } },
  ],
  [
    "the same limit in another unit changes nothing",
    async (stage) => {
      await stage.create("resourcequotas", quota({ cpu: "1" }));
      await stage.changeSpec("resourcequotas", "q", { hard: { cpu: "1000m" } });
      return decisions(stage).length;
    },
    1,
  ],
  [
    "the scope of best-effort pods",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "5" }, { scopes: ["BestEffort"] }));
      await stage.send("pods", pod("some"));
      await stage.create("pods", pod("none", { containers: [{ name: "c", image: "x" }] }));
      await stage.pass(300);
      return usedOf(stage);
    },
    { pods: "1" },
  ],
  [
    "the scope of pods with a deadline",
    async (stage) => {
      await stage.send("pods", pod("one", { activeDeadlineSeconds: 5 }));
      await stage.send("pods", pod("two"));
      await stage.create("resourcequotas", quota({ pods: "5" }, { scopes: ["Terminating"] }, "with"));
      await stage.create("resourcequotas", quota({ pods: "5" }, { scopes: ["NotTerminating"] }, "without"));
      await stage.delete("pods", "one");
      return [await usedOf(stage, "with"), await usedOf(stage, "without")];
    },
    [{ pods: "0" }, { pods: "1" }],
  ],
  [
    "the scope of priority classes",
    async (stage) => {
      const scopeSelector = { matchExpressions: [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }] };
      await stage.send("pods", pod("one", { priorityClassName: "high" }));
      await stage.send("pods", pod("two", { priorityClassName: "low" }));
      await stage.create("resourcequotas", quota({ pods: "5" }, { scopeSelector }));
      await stage.create("resourcequotas", quota({ pods: "5" }, { scopes: ["PriorityClass"] }, "any"));
      return [await usedOf(stage), await usedOf(stage, "any")];
    },
    [{ pods: "1" }, { pods: "2" }],
  ],
  [
    "two quotas of one namespace, of which only the one that counts the object is written",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "5" }, {}, "a"));
      await stage.create("resourcequotas", quota({ configmaps: "5" }, {}, "b"));
      await stage.create("configmaps", configMap("one"));
      await stage.delete("configmaps", "one");
      return [await usedOf(stage, "a"), await usedOf(stage, "b"), decisions(stage).slice(2)];
    },
    [{ pods: "0" }, { configmaps: "0" }, ["set the usage of ResourceQuota default/b: configmaps 1 -> 0 of 5"]],
  ],
  [
    "a status that somebody has changed is right again after five minutes",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "5" }));
      const status = { hard: { pods: "5" }, used: { pods: "4" } };
      await stage.change("resourcequotas", "q", (one) => ({ ...one, status }), "status");
      await stage.pass(200);
      const before = await usedOf(stage);
      await stage.pass(100);
      return [before, await usedOf(stage)];
    },
    [{ pods: "4" }, { pods: "0" }],
  ],
  [
    "what was charged to an object that could not be stored is given back after five minutes",
    async (stage) => {
      await stage.create("resourcequotas", quota({ configmaps: "5" }));
      await stage.create("configmaps", configMap("one"));
      const refused = await refusal(stage.send("configmaps", configMap("one")));
      const before = await usedOf(stage);
      await stage.pass(300);
      return [refused, before, await usedOf(stage)];
    },
    ['configmaps "one" already exists', { configmaps: "2" }, { configmaps: "1" }],
  ],
  [
    "a quota that goes: nothing is limited",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "0" }));
      await stage.delete("resourcequotas", "q");
      return [await refusal(stage.send("pods", pod("one"))), stage.errors()];
    },
    ["accepted", []],
  ],
  [
    "full counts that find nothing new write nothing",
    async (stage) => {
      await stage.create("resourcequotas", quota({ pods: "1" }));
      const before = await stage.revision();
      await stage.pass(3600);
      return [(await stage.revision()) - before, stage.errors()];
    },
    [0, []],
  ],
  [
    "a default of a limit range is charged",
    async (stage) => {
      const limits = [{ type: "Container", default: { cpu: "1" }, defaultRequest: { cpu: "500m" } }];
      await stage.create("limitranges", {
        apiVersion: "v1",
        kind: "LimitRange",
        metadata: { name: "l" },
        spec: { limits },
      });
      await stage.create("resourcequotas", quota({ "limits.cpu": "1", "requests.cpu": "1" }));
      await stage.create("pods", pod("one", { containers: [{ name: "c", image: "x" }] }));
      return usedOf(stage);
    },
    { "limits.cpu": "1", "requests.cpu": "500m" },
  ],
];

describe("the usage of a quota:", () => {
  for (const [title, story, want] of table) {
    test(title, async () => {
      await using stage = await openStage();
      expect(await story(stage)).toEqual(want);
    });
  }

  test("creations and deletions at once never exceed it", async () => {
    await using stage = await openStage();
    await stage.create("resourcequotas", quota({ configmaps: "5" }));
    let most = 0;
    let accepted = 0;
    for (let round = 0; round < 40; round++) {
      const existing = await stage.admin.list("configmaps", "default");
      most = Math.max(most, existing.length);
      const gone = existing.slice(0, 1 + (round % 3)).map(({ metadata }) => metadata.name ?? "");
      const writes = Array.from({ length: 4 }, (_, index) => stage.send("configmaps", configMap(`m${round}-${index}`)));
      const deletions = gone.map((name) => stage.admin.delete("configmaps", "default", name));
      accepted += (await Promise.allSettled(writes)).filter(({ status }) => status === "fulfilled").length;
      await Promise.all(deletions);
      await stage.on.clock.advance(round % 4 === 0 ? 10 : 0);
    }
    await stage.pass(1);
    const left = (await stage.admin.list("configmaps", "default")).length;
    expect(await usedOf(stage)).toEqual({ configmaps: String(left) });
    expect(most).toBeLessThanOrEqual(5);
    expect(accepted).toBeGreaterThan(20);
  });
});

describe("under an impossible quota", () => {
  const refused = (what: string) => `exceeded quota: q, requested: pods=1, used: ${what}, limited: ${what}`;
  const replicaSet = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: "web" },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "x" }] } },
    },
  };

  test("a ReplicaSet says why, backs off, and goes on when there is room", async () => {
    await using stage = await openStage();
    await stage.create("resourcequotas", quota({ pods: "1" }));
    await stage.create("replicasets.apps", replicaSet);
    await stage.pass(60);
    const set = await stage.get<KubeObject>("replicasets.apps", "web");
    expect((await stage.pods()).length).toBe(1);
    const [condition] = (set["status"] as { conditions: Record<string, string>[] }).conditions;
    expect([condition?.["type"], condition?.["status"], condition?.["reason"]]).toEqual([
      "ReplicaFailure",
      "True",
      "FailedCreate",
    ]);
    expect(condition?.["message"]).toMatch(new RegExp(`^pods "web-\\w+" is forbidden: ${refused("pods=1")}$`));
    expect(stage.events().some((one) => /^Warning FailedCreate Error creating: pods "web-/.test(one))).toBe(true);
    await stage.changeSpec("resourcequotas", "q", { hard: { pods: "3" } });
    await stage.pass(1200);
    expect((await stage.pods()).length).toBe(3);
    const after = await stage.get<KubeObject>("replicasets.apps", "web");
    expect((after["status"] as { conditions?: unknown }).conditions).toBeUndefined();
  });

  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "x" }] } };
  const jobTemplate = { ...template, spec: { ...template.spec, restartPolicy: "Never" } };
  const workload = (apiVersion: string, kind: string, spec: object) => ({
    apiVersion,
    kind,
    metadata: { name: "web" },
    spec,
  });
  const selector = { matchLabels: { app: "web" } };

  const OF_PODS = { "POST pods": 15, "POST events": 8, "PUT events/NAME": 7 };
  const ONE_EVENT = { "PUT events/NAME": 15 };
  const deployment = workload("apps/v1", "Deployment", { replicas: 3, selector, template });
  const statefulSet = (spec: object) =>
    workload("apps/v1", "StatefulSet", { serviceName: "s", selector, template, ...spec });
  const claims = [
    { metadata: { name: "d" }, spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
  ];

  const LOOPS: readonly [without: string, object: object, want: Readonly<Record<string, number>>][] = [
    ["pods", replicaSet, OF_PODS],
    ["pods", workload("v1", "ReplicationController", { replicas: 3, template }), OF_PODS],
    ["pods", deployment, OF_PODS],
    ["count/replicasets.apps", deployment, { "POST replicasets": 14, "PUT events/NAME": 14 }],
    ["pods", statefulSet({}), { "POST pods": 15, ...ONE_EVENT }],
    ["count/controllerrevisions.apps", statefulSet({}), { "POST controllerrevisions": 16 }],
    [
      "persistentvolumeclaims",
      statefulSet({ volumeClaimTemplates: claims }),
      { "POST persistentvolumeclaims": 15, "PUT events/NAME": 22 },
    ],
    [
      "pods",
      workload("batch/v1", "Job", { parallelism: 3, completions: 3, template: jobTemplate }),
      { "POST pods": 4, "POST events": 4 },
    ],
    [
      "count/jobs.batch",
      workload("batch/v1", "CronJob", { schedule: "* * * * *", jobTemplate: { spec: { template: jobTemplate } } }),
      { "POST jobs": 17, "POST events": 4, "PUT events/NAME": 13 },
    ],
  ];

  for (const [without, object, want] of LOOPS) {
    const { apiVersion, kind } = object as KubeObject;
    test(`ten minutes of a ${kind} without ${without} cost few requests`, async () => {
      await using stage = await openStage();
      await stage.create("resourcequotas", quota({ [without]: "0" }));
      const [group] = apiVersion.includes("/") ? apiVersion.split("/") : [];
      await stage.create([`${kind.toLowerCase()}s`, group].filter(Boolean).join("."), object);
      const before = only(stage.on.facts, "request").length;
      await stage.pass(600);
      const counts: Record<string, number> = {};
      for (const { method, path } of only(stage.on.facts, "request").slice(before)) {
        const what = `${method} ${path.replace(/^.*\/default\//, "").replace(/\/[^/]+/, "/NAME")}`;
        counts[what] = (counts[what] ?? 0) + 1;
      }
      expect(counts).toEqual(want);
    });
  }
});
