import { describe, expect, test } from "vitest";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import type { ResourceQuota } from "../../../../src/staging/server/quota/evaluator.js";
import type { TraceEvent } from "../../../../src/trace/events.js";
import { Trace } from "../../../../src/trace/trace.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { fields } from "../../../support/fields.js";
import { only } from "../../../support/trace.js";
import { contextOf, openTableLab, refusalIfAny, type TableLab } from "../registry/table-lab.js";

type Amounts = Readonly<Record<string, string>>;

interface QuotaOptions {
  readonly name?: string;
  /** default: nothing of all that is limited; null: not computed yet */
  readonly used?: Amounts | null;
  readonly spec?: object;
}

/** Creates a quota as its controller would have left it. */
async function limit(lab: TableLab, hard: Amounts, { name = "q", used, spec = {} }: QuotaOptions = {}): Promise<void> {
  const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name }, spec: { hard, ...spec } };
  await lab.create("resourcequotas", quota);
  const zeros = Object.fromEntries(Object.keys(hard).map((one) => [one, "0"]));
  const status = { hard, ...(used === null ? {} : { used: { ...zeros, ...used } }) };
  await lab.put("resourcequotas", name, { ...quota, status }, { subresource: "status" });
}

async function usedOf(lab: TableLab, name = "q"): Promise<unknown> {
  return fields((await lab.registry.store("resourcequotas").get("default", name)).status).used;
}

function pod(spec: object = {}, name = "p"): object {
  const containers = [{ name: "c", image: "x" }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name }, spec: { containers, ...spec } };
}

function podWith(resources: object, spec: object = {}): object {
  return pod({ containers: [{ name: "c", image: "x", resources }], ...spec });
}

function service(spec: object): object {
  const ports = [
    { port: 80, name: "a" },
    { port: 81, name: "b" },
  ];
  return { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { ports, ...spec } };
}

function claim(storage: string, more: object = {}): object {
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage } }, ...more };
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "c" }, spec };
}

function configMap(name = "m"): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
}

const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "d" },
  spec: {
    selector: { matchLabels: { a: "b" } },
    template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "x" }] } },
  },
};

type Row = readonly [
  title: string,
  hard: Amounts,
  used: Amounts | null,
  write: readonly [resource: string, body: object],
  /** what is used afterwards, or why the write is refused */
  want: Amounts | string,
  spec?: object,
];

const inScope = (...scopes: readonly string[]) => ({ scopes });
const ofPriority = (operator: string, values?: readonly string[]) => ({
  scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator, values }] },
});
const high = { priorityClassName: "system-node-critical" };
const cross = {
  affinity: {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, podAffinityTerm: { topologyKey: "k", namespaceSelector: {} } },
      ],
    },
  },
};
const near = {
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "k" }] } },
};

const table: readonly Row[] = [
  ["a pod", { pods: "2" }, { pods: "1" }, ["pods", pod()], { pods: "2" }],
  [
    "one pod too many",
    { pods: "2" },
    { pods: "2" },
    ["pods", pod()],
    'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2',
  ],
  [
    "requests and limits, in several units",
    { cpu: "2", "requests.memory": "1Gi", "limits.cpu": "2", "count/pods": "9" },
    { cpu: "100m", "requests.memory": "512Mi" },
    ["pods", podWith({ requests: { cpu: "1", memory: "256Mi" }, limits: { cpu: "1500m" } })],
    { cpu: "1100m", "requests.memory": "768Mi", "limits.cpu": "1500m", "count/pods": "1" },
  ],
  [
    "too much of two resources, of which only those are listed",
    { cpu: "1", memory: "1Gi", pods: "5" },
    { cpu: "500m", memory: "1000Mi" },
    ["pods", podWith({ requests: { cpu: "600m", memory: "100Mi" } })],
    'pods "p" is forbidden: exceeded quota: q, requested: cpu=600m,memory=100Mi, used: cpu=500m,memory=1000Mi, limited: cpu=1,memory=1Gi',
  ],
  [
    "a pod without the limited resources",
    { "requests.cpu": "1", "limits.memory": "1Gi" },
    {},
    ["pods", pod()],
    'pods "p" is forbidden: failed quota: q: must specify limits.memory for: c; requests.cpu for: c',
  ],
  [
    "a pod of which one container lacks the resource",
    { cpu: "1" },
    {},
    [
      "pods",
      pod({
        containers: [
          { name: "a", image: "x", resources: { requests: { cpu: "1" } } },
          { name: "c", image: "x" },
        ],
        initContainers: [{ name: "b", image: "x" }],
      }),
    ],
    'pods "p" is forbidden: failed quota: q: must specify cpu for: b,c',
  ],
  [
    "a pod without storage, which need not be specified",
    { "requests.ephemeral-storage": "1Gi" },
    {},
    ["pods", pod()],
    { "requests.ephemeral-storage": "0" },
  ],
  [
    "an init container that is larger than the others together",
    { cpu: "5" },
    {},
    [
      "pods",
      podWith(
        { requests: { cpu: "1" } },
        { initContainers: [{ name: "i", image: "x", resources: { requests: { cpu: "3" } } }] },
      ),
    ],
    { cpu: "3" },
  ],
  [
    "extended resources and hugepages",
    { "requests.a.b/c": "3", "requests.hugepages-2Mi": "8Mi" },
    {},
    ["pods", podWith({ requests: { cpu: "1", memory: "1Mi" }, limits: { "a.b/c": "2", "hugepages-2Mi": "4Mi" } })],
    { "requests.a.b/c": "2", "requests.hugepages-2Mi": "4Mi" },
  ],
  [
    "a usage that is not computed yet",
    { pods: "2", services: "1" },
    null,
    ["pods", pod()],
    'pods "p" is forbidden: status unknown for quota: q, resources: pods',
  ],
  ["a best-effort pod in its scope", { pods: "2" }, {}, ["pods", pod()], { pods: "1" }, inScope("BestEffort")],
  ["a best-effort pod outside", { pods: "0" }, {}, ["pods", pod()], { pods: "0" }, inScope("NotBestEffort")],
  [
    "a pod with a deadline in its scope",
    { pods: "2" },
    {},
    ["pods", pod({ activeDeadlineSeconds: 60 })],
    { pods: "1" },
    inScope("Terminating"),
  ],
  ["a pod without one", { pods: "0" }, {}, ["pods", pod()], { pods: "0" }, inScope("Terminating")],
  ["a pod without one in its scope", { pods: "1" }, {}, ["pods", pod()], { pods: "1" }, inScope("NotTerminating")],
  [
    "a pod in one of two scopes",
    { pods: "0" },
    {},
    ["pods", pod()],
    { pods: "0" },
    inScope("Terminating", "BestEffort"),
  ],
  [
    "a pod of a class",
    { pods: "1" },
    {},
    ["pods", pod(high)],
    { pods: "1" },
    ofPriority("In", [high.priorityClassName]),
  ],
  ["a pod of another class", { pods: "0" }, {}, ["pods", pod(high)], { pods: "0" }, ofPriority("In", ["low"])],
  ["a pod of any class", { pods: "1" }, {}, ["pods", pod(high)], { pods: "1" }, ofPriority("Exists")],
  ["a pod of no class", { pods: "1" }, {}, ["pods", pod()], { pods: "1" }, ofPriority("DoesNotExist")],
  [
    "a pod that looks into other namespaces",
    { pods: "0" },
    {},
    ["pods", pod(cross)],
    'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0',
    inScope("CrossNamespacePodAffinity"),
  ],
  [
    "a pod that looks into its own",
    { pods: "0" },
    {},
    ["pods", pod(near)],
    { pods: "0" },
    inScope("CrossNamespacePodAffinity"),
  ],
  [
    "a service of no special type",
    { services: "1", "services.nodeports": "0", "count/services": "1" },
    {},
    ["services", service({})],
    { services: "1", "services.nodeports": "0", "count/services": "1" },
  ],
  [
    "node ports",
    { services: "5", "services.nodeports": "1" },
    {},
    ["services", service({ type: "NodePort" })],
    'services "s" is forbidden: exceeded quota: q, requested: services.nodeports=2, used: services.nodeports=0, limited: services.nodeports=1',
  ],
  [
    "a load balancer and its node ports",
    { "services.loadbalancers": "1", "services.nodeports": "2" },
    {},
    ["services", service({ type: "LoadBalancer" })],
    { "services.loadbalancers": "1", "services.nodeports": "2" },
  ],
  [
    "a load balancer without node ports",
    { "services.loadbalancers": "1", "services.nodeports": "0" },
    {},
    ["services", service({ type: "LoadBalancer", allocateLoadBalancerNodePorts: false })],
    { "services.loadbalancers": "1", "services.nodeports": "0" },
  ],
  [
    "storage of a class",
    {
      "requests.storage": "3Gi",
      persistentvolumeclaims: "1",
      "gold.storageclass.storage.k8s.io/requests.storage": "2Gi",
      "silver.storageclass.storage.k8s.io/persistentvolumeclaims": "0",
    },
    { "requests.storage": "1Gi" },
    ["persistentvolumeclaims", claim("2Gi", { storageClassName: "gold" })],
    {
      "requests.storage": "3Gi",
      persistentvolumeclaims: "1",
      "gold.storageclass.storage.k8s.io/requests.storage": "2Gi",
      "silver.storageclass.storage.k8s.io/persistentvolumeclaims": "0",
    },
  ],
  [
    "too much storage, of which a fraction of a byte is a byte",
    { "requests.storage": "1" },
    {},
    ["persistentvolumeclaims", claim("1500m")],
    'persistentvolumeclaims "c" is forbidden: exceeded quota: q, requested: requests.storage=2, used: requests.storage=0, limited: requests.storage=1',
  ],
  [
    "an object of an old name",
    { configmaps: "1", "count/configmaps": "1" },
    {},
    ["configmaps", configMap()],
    { configmaps: "1", "count/configmaps": "1" },
  ],
  [
    "an object of another group",
    { "count/deployments.apps": "0" },
    {},
    ["deployments", deployment],
    'deployments.apps "d" is forbidden: exceeded quota: q, requested: count/deployments.apps=1, used: count/deployments.apps=0, limited: count/deployments.apps=0',
  ],
  ["an object that no quota limits", { pods: "1" }, {}, ["configmaps", configMap()], { pods: "0" }],
  [
    "a quota",
    { resourcequotas: "1" },
    { resourcequotas: "1" },
    ["resourcequotas", { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "r" } }],
    'resourcequotas "r" is forbidden: exceeded quota: q, requested: resourcequotas=1, used: resourcequotas=1, limited: resourcequotas=1',
  ],
];

describe("a quota charges", () => {
  for (const [title, hard, used, [resource, body], want, spec] of table) {
    test(title, async () => {
      const lab = await openTableLab();
      await limit(lab, hard, { used, ...(spec === undefined ? {} : { spec }) });
      const status = await refusalIfAny(lab.create(resource, body));
      expect(status?.message ?? (await usedOf(lab))).toEqual(want);
      if (typeof want === "string") expect([status?.code, status?.reason]).toEqual([403, "Forbidden"]);
    });
  }
});

describe("a change", () => {
  test("of a service is charged with what it uses more", async () => {
    const lab = await openTableLab();
    await limit(lab, { services: "1", "services.nodeports": "2", "services.loadbalancers": "0" });
    const created = await lab.create("services", service({}));
    const asType = (before: KubeObject, type: string) =>
      lab.put("services", "s", { ...before, spec: { ...fields(before.spec), type } });
    const withPorts = await asType(created, "NodePort");
    expect(await usedOf(lab)).toEqual({ services: "1", "services.nodeports": "2", "services.loadbalancers": "0" });
    expect((await refusalIfAny(asType(withPorts, "LoadBalancer")))?.message).toBe(
      'services "s" is forbidden: exceeded quota: q, requested: services.loadbalancers=1, used: services.loadbalancers=0, limited: services.loadbalancers=0',
    );
  });

  test("of a pod, its status and its deletion are not", async () => {
    const lab = await openTableLab();
    await limit(lab, { pods: "1" });
    const created = await lab.create("pods", pod());
    await lab.put("pods", "p", { ...created, metadata: { ...created.metadata, labels: { a: "b" } } });
    await lab.put("pods", "p", { ...pod(), status: { phase: "Failed" } }, { subresource: "status" });
    await lab.registry.store("pods").delete(contextOf(), "default", "p");
    expect(await usedOf(lab)).toEqual({ pods: "1" });
  });
});

test("a dry run is refused, but not charged", async () => {
  const lab = await openTableLab();
  await limit(lab, { pods: "1" });
  await lab.create("pods", pod(), { dryRun: true });
  expect(await usedOf(lab)).toEqual({ pods: "0" });
  await lab.create("pods", pod());
  const again = await refusalIfAny(lab.create("pods", pod({}, "other"), { dryRun: true }));
  expect(again?.reason).toBe("Forbidden");
});

test("quotas of other namespaces count nothing", async () => {
  const lab = await openTableLab();
  await limit(lab, { pods: "0" });
  expect((await lab.create("pods", pod(), { namespace: "kube-system" })).metadata.name).toBe("p");
});

test("a write is charged to all quotas that match, or to none", async () => {
  const lab = await openTableLab();
  await limit(lab, { pods: "5" }, { name: "a" });
  await limit(lab, { "count/pods": "1" }, { name: "b" });
  await lab.create("pods", pod());
  const refused = await refusalIfAny(lab.create("pods", pod({}, "other")));
  expect(refused?.message).toMatch(/exceeded quota: b,/);
  expect([await usedOf(lab, "a"), await usedOf(lab, "b")]).toEqual([{ pods: "1" }, { "count/pods": "1" }]);
});

/** Creates many config maps at once. @returns how many were accepted */
async function createAll(lab: TableLab, count: number): Promise<number> {
  const writes = Array.from({ length: count }, (_, index) =>
    refusalIfAny(lab.create("configmaps", configMap(`m${index}`))),
  );
  return (await Promise.all(writes)).filter((status) => status === undefined).length;
}

describe("concurrent writes", () => {
  test("never exceed a quota, and are charged together", async () => {
    const lab = await openTableLab();
    await limit(lab, { configmaps: "40" }, { used: { configmaps: "3" } });
    const { metadata: before } = await lab.registry.store("resourcequotas").get("default", "q");
    expect(await createAll(lab, 100)).toBe(37);
    expect(await usedOf(lab)).toEqual({ configmaps: "40" });
    const { metadata: after } = await lab.registry.store("resourcequotas").get("default", "q");
    // 37 config maps, and the status of the quota twice: for the first write, and for all that came meanwhile.
    expect(Number(after.resourceVersion) - Number(before.resourceVersion)).toBeLessThan(37 + 5);
    expect((await lab.registry.store("configmaps").list("default")).items.length).toBe(37);
  });

  test("do not exceed it while another client writes its status", async () => {
    const lab = await openTableLab();
    await limit(lab, { configmaps: "10" });
    const store = lab.registry.store("resourcequotas");
    let isDone = false;
    const recalculate = async () => {
      for (let round = 0; !isDone; round++) {
        const change = (quota: KubeObject | undefined) => {
          const { status } = quota as ResourceQuota;
          return { ...quota, status: { ...status, hard: { configmaps: "10", pods: String(round) } } } as KubeObject;
        };
        await store.update(contextOf(), "default", "q", "status", change);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const accepted = createAll(lab, 30);
    const others = recalculate();
    expect(await accepted).toBe(10);
    isDone = true;
    await others;
    expect(await usedOf(lab)).toMatchObject({ configmaps: "10" });
  });

  test("fail with a conflict if another client changes the status each time", async () => {
    const lab = await openTableLab();
    await limit(lab, { configmaps: "10" });
    const store = lab.registry.store("resourcequotas");
    const { list } = store;
    let lists = 0;
    Object.assign(store, {
      list: async (namespace: string) => {
        const answer = await list(namespace);
        // The evaluator has read the quota; before it writes, somebody else does.
        const status = { hard: { configmaps: "10", pods: String(lists++) }, used: { configmaps: "0" } };
        await store.update(contextOf(), "default", "q", "status", (quota) => ({ ...quota, status }) as KubeObject);
        return answer;
      },
    });
    const status = await refusalIfAny(lab.create("configmaps", configMap()));
    expect([status?.code, status?.message, lists]).toEqual([
      409,
      'Operation cannot be fulfilled on resourcequotas "q": the object has been modified; please apply your changes to the latest version and try again',
      5,
    ]);
  });

  test("are accepted if the quota goes meanwhile", async () => {
    const lab = await openTableLab();
    await limit(lab, { configmaps: "1" });
    const accepted = createAll(lab, 3);
    await lab.registry.store("resourcequotas").delete(contextOf(), "default", "q");
    expect(await accepted).toBe(3);
  });
});

test("the trace shows the numbers of each charge", async () => {
  const clock = new FakeClock();
  const trace = new Trace(clock);
  const facts: TraceEvent[] = [];
  trace.addSink({ write: (event) => facts.push(event) });
  const lab = await openTableLab(trace);
  await limit(lab, { pods: "2", "requests.cpu": "2" }, { used: { pods: "1" } });
  await lab.create("pods", podWith({ requests: { cpu: "500m" } }));
  const charges = only(facts, "decision").filter(({ what }) => what.startsWith("charge"));
  expect(charges.map(({ what, why }) => [what, why])).toEqual([
    ["charge create of pods default/p to ResourceQuota default/q", "pods 1 -> 2 of 2, requests.cpu 0 -> 500m of 2"],
  ]);
});
