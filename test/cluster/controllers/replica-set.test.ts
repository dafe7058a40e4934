import { describe, expect, test } from "vitest";
import type { ReplicaSet } from "../../../src/cluster/controllers/replicaset/replica-set-utils.js";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";
import type { PodObject } from "../../../src/staging/apimachinery/api/objects.js";
import { StatusError, statusError } from "../../../src/staging/apimachinery/errors.js";
import { podTemplate, WorkloadStage } from "./support/workload-stage.js";

const RS = "replicasets.apps";

function replicaSet(replicas: number, spec: object = {}, name = "web"): object {
  const selector = { matchLabels: { app: "web" } };
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name },
    spec: { replicas, selector, template: podTemplate(), ...spec },
  };
}

function pod(name: string, labels: object, ownerReferences: readonly object[] = []): object {
  const metadata = { name, labels, ownerReferences };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: podTemplate().spec };
}

function ownedBy(name: string, uid: string): object {
  return { apiVersion: "apps/v1", kind: "ReplicaSet", name, uid, controller: true, blockOwnerDeletion: true };
}

/** `3 pods, 2 terminating`, and what the status says. */
async function summary(stage: WorkloadStage, name = "web"): Promise<string> {
  const pods = await stage.pods();
  const terminating = pods.filter(({ metadata }) => metadata.deletionTimestamp !== undefined).length;
  const { status } = await stage.get<ReplicaSet>(RS, name);
  const { replicas, readyReplicas = 0, availableReplicas = 0 } = status ?? { replicas: -1 };
  return `${pods.length - terminating}+${terminating} pods; ${replicas}/${readyReplicas}/${availableReplicas}`;
}

/** Creates a set of three, starts its pods, lets `prepare` change them, scales to two. @returns which pod went: 0, 1, 2 */
async function scaleDown(
  stage: WorkloadStage,
  prepare: (pods: readonly PodObject[]) => Promise<void>,
): Promise<string> {
  await stage.create(RS, replicaSet(3));
  await stage.pass(10_000);
  const pods = await stage.pods();
  await prepare(pods);
  await stage.changeSpec(RS, "web", { replicas: 2 });
  const names = pods.map(({ metadata }) => metadata.name);
  const left = (await stage.pods()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const gone = names.filter((name) => !left.some(({ metadata }) => metadata.name === name));
  const why = stage
    .decisions()
    .at(-1)
    ?.replace(/^delete pod \S+ /, "");
  return `${gone.map((name) => names.indexOf(name))} ${why}`;
}

async function annotate(stage: WorkloadStage, object: PodObject, cost: string): Promise<void> {
  await stage.change("pods", object.metadata.name ?? "", (current) => ({
    ...current,
    metadata: { ...current.metadata, annotations: { "controller.kubernetes.io/pod-deletion-cost": cost } },
  }));
}

async function relabel(stage: WorkloadStage, object: PodObject | undefined, labels: Record<string, string>) {
  const change = (current: KubeObject) => ({ ...current, metadata: { ...current.metadata, labels } });
  await stage.change("pods", object?.metadata.name ?? "", change);
}

const quota = () => statusError(403, "Forbidden", 'pods "web-x" is forbidden: exceeded quota: few', {});

type Row = readonly [title: string, story: (stage: WorkloadStage) => Promise<unknown>, want: unknown];

const table: readonly Row[] = [
  [
    "creates the pods that are missing",
    async (stage) => {
      await stage.create(RS, replicaSet(3));
      return [await summary(stage), stage.decisions()];
    },
    ["3+0 pods; 3/0/0", ["create 3 pods for ReplicaSet default/web: it has 0 of 3 replicas"]],
  ],
  [
    "its pods have the template's labels and spec, a generated name and an owner",
    async (stage) => {
      const { metadata: owner } = await stage.create(RS, replicaSet(1));
      const [{ metadata, spec }] = (await stage.pods()) as readonly [PodObject];
      const [reference] = metadata.ownerReferences ?? [];
      return [
        /^web-[a-z0-9]{5}$/.test(metadata.name ?? ""),
        metadata.labels,
        spec?.containers[0]?.image,
        reference?.uid === owner.uid,
        reference?.controller,
        reference?.blockOwnerDeletion,
      ];
    },
    [true, { app: "web" }, "nginx", true, true, true],
  ],
  [
    "its pods have the defaults of pods: requests by limits, links of services",
    async (stage) => {
      const { metadata, spec } = podTemplate();
      const containers = spec.containers.map((one) => ({ ...one, resources: { limits: { cpu: "100m" } } }));
      await stage.create(RS, replicaSet(1, { template: { metadata, spec: { containers } } }));
      const [pod] = await stage.pods();
      return [pod?.spec?.containers[0]?.resources?.requests, pod?.spec?.enableServiceLinks];
    },
    [{ cpu: "100m" }, true],
  ],
  [
    "records an event for each pod",
    async (stage) => {
      await stage.create(RS, replicaSet(2));
      return stage.events().map((event) => event.replace(/web-\w+$/, "web-x"));
    },
    ["Normal SuccessfulCreate Created pod: web-x", "Normal SuccessfulCreate Created pod: web-x"],
  ],
  [
    "wants no pods with replicas 0, and says that it has seen the object",
    async (stage) => {
      await stage.create(RS, replicaSet(0));
      return [await summary(stage), (await stage.get<ReplicaSet>(RS, "web")).status?.observedGeneration];
    },
    ["0+0 pods; 0/0/0", 1],
  ],
  [
    "creates more when it is scaled up",
    async (stage) => {
      await stage.create(RS, replicaSet(1));
      await stage.changeSpec(RS, "web", { replicas: 3 });
      return [await summary(stage), stage.decisions().at(-1)];
    },
    ["3+0 pods; 3/0/0", "create 2 pods for ReplicaSet default/web: it has 1 of 3 replicas"],
  ],
  [
    "deletes all pods when it is scaled to 0, and waits for no grace period in its status",
    async (stage) => {
      await stage.create(RS, replicaSet(2));
      await stage.start();
      await stage.changeSpec(RS, "web", { replicas: 0 });
      return summary(stage);
    },
    "0+2 pods; 0/0/0",
  ],
  [
    "deletes a pod without a node first",
    (stage) => scaleDown(stage, (pods) => stage.start(pods.slice(0, 2))),
    expect.stringMatching(/^2 .*it has no node/),
  ],
  [
    "deletes a pending pod before a running one",
    (stage) =>
      scaleDown(stage, async (pods) => {
        await stage.start();
        await stage.setStatus(pods.slice(1, 2), { phase: "Pending" });
      }),
    expect.stringMatching(/^1 .*an earlier phase/),
  ],
  [
    "deletes a pod that is not ready before a ready one",
    (stage) =>
      scaleDown(stage, async (pods) => {
        await stage.start();
        await stage.setReady(pods.slice(2), false);
      }),
    expect.stringMatching(/^2 .*no readiness/),
  ],
  [
    "deletes the pod with the lowest deletion cost",
    (stage) =>
      scaleDown(stage, async (pods) => {
        await stage.start();
        for (const [index, cost] of ["10", "-5", "0"].entries()) await annotate(stage, pods[index] as PodObject, cost);
      }),
    expect.stringMatching(/^1 .*a lower deletion cost/),
  ],
  [
    "counts the pods of its owner's other sets on a node",
    (stage) =>
      scaleDown(stage, async (pods) => {
        await stage.start(pods.slice(0, 1), "n1");
        await stage.start(pods.slice(1), "n2");
      }),
    expect.stringMatching(/^[12] .*more related pods on its node/),
  ],
  [
    "deletes the pod that became ready last",
    (stage) =>
      scaleDown(stage, async (pods) => {
        await stage.start(pods.slice(0, 1));
        await stage.pass(1000);
        await stage.start(pods.slice(2));
        await stage.pass(10_000);
        await stage.start(pods.slice(1, 2));
      }),
    expect.stringMatching(/^1 .*been ready for a shorter time/),
  ],
  [
    "deletes the pod with the most restarts",
    (stage) =>
      scaleDown(stage, async (pods) => {
        await stage.start();
        await stage.setStatus(pods.slice(1, 2), { containerStatuses: [{ name: "app", restartCount: 3 }] });
      }),
    expect.stringMatching(/^1 .*more restarts/),
  ],
  [
    "deletes the youngest pod",
    async (stage) => {
      await stage.create(RS, replicaSet(1));
      await stage.pass(10_000);
      const [first] = await stage.pods();
      await stage.changeSpec(RS, "web", { replicas: 2 });
      await stage.changeSpec(RS, "web", { replicas: 1 });
      return (await stage.pods())[0]?.metadata.name === first?.metadata.name;
    },
    true,
  ],
  [
    "replaces a failed pod, and leaves it",
    async (stage) => {
      await stage.create(RS, replicaSet(2));
      await stage.setStatus((await stage.pods()).slice(0, 1), { phase: "Failed" });
      return summary(stage);
    },
    "3+0 pods; 2/0/0",
  ],
  [
    "replaces a pod when it is marked for deletion",
    async (stage) => {
      await stage.create(RS, replicaSet(2));
      await stage.start();
      await stage.delete("pods", (await stage.pods())[0]?.metadata.name ?? "");
      return [await summary(stage), stage.decisions().at(-1)];
    },
    ["2+1 pods; 2/1/1", "create 1 pod for ReplicaSet default/web: it has 1 of 2 replicas"],
  ],
  [
    "does not react twice to the end of a terminating pod",
    async (stage) => {
      await stage.create(RS, replicaSet(2));
      await stage.start();
      await stage.changeSpec(RS, "web", { replicas: 1 });
      await stage.endTerminating();
      return [await summary(stage), stage.decisions().length];
    },
    ["1+0 pods; 1/1/1", 3],
  ],
  [
    "adopts a matching pod without a controller instead of creating one",
    async (stage) => {
      await stage.create("pods", pod("mine", { app: "web" }));
      const { metadata } = await stage.create(RS, replicaSet(1));
      const owners = (await stage.get("pods", "mine")).metadata.ownerReferences;
      return [await summary(stage), owners?.[0]?.uid === metadata.uid, stage.decisions()];
    },
    [
      "1+0 pods; 1/0/0",
      true,
      ["adopt Pod default/mine: it has no controller, and its labels match the selector of ReplicaSet web"],
    ],
  ],
  [
    "adopts a pod that gets its labels later",
    async (stage) => {
      await stage.create(RS, replicaSet(1));
      await stage.create("pods", pod("mine", { app: "other" }));
      await relabel(stage, await stage.get<PodObject>("pods", "mine"), { app: "web" });
      return (await summary(stage)).slice(0, 8);
    },
    "1+0 pods",
  ],
  [
    "does not adopt a pod with other labels, another namespace or another controller",
    async (stage) => {
      const other = await stage.create(RS, replicaSet(0, {}, "other"));
      await stage.create("pods", pod("labels", { app: "other" }));
      await stage.create("pods", pod("owned", { app: "web" }, [ownedBy("other", other.metadata.uid ?? "")]));
      await stage.create(RS, replicaSet(1));
      return [other.kind, await summary(stage)];
    },
    ["ReplicaSet", "2+0 pods; 1/0/0"],
  ],
  [
    "does not adopt pods while it is deleted",
    async (stage) => {
      await stage.create(RS, replicaSet(1));
      await stage.start();
      await stage.delete(RS, "web", "Foreground");
      await stage.create("pods", pod("mine", { app: "web" }));
      return (await stage.get("pods", "mine")).metadata.ownerReferences;
    },
    undefined,
  ],
  [
    "releases a pod whose labels changed, and replaces it",
    async (stage) => {
      await stage.create(RS, replicaSet(1));
      const [first] = await stage.pods();
      await relabel(stage, first, { app: "debug" });
      const released = await stage.get("pods", first?.metadata.name ?? "");
      return [
        await summary(stage),
        released.metadata.ownerReferences,
        stage.decisions()[1]?.replace(/web-\w+/, "web-x"),
      ];
    },
    [
      "2+0 pods; 1/0/0",
      undefined,
      "release Pod default/web-x: its labels no longer match the selector of ReplicaSet web",
    ],
  ],
  [
    "counts ready and available pods; a pod is available after minReadySeconds",
    async (stage) => {
      await stage.create(RS, replicaSet(2, { minReadySeconds: 30 }));
      await stage.start();
      const ready = await summary(stage);
      await stage.pass(20);
      const waiting = await summary(stage);
      await stage.pass(20);
      return [ready, waiting, await summary(stage)];
    },
    ["2+0 pods; 2/2/0", "2+0 pods; 2/2/0", "2+0 pods; 2/2/2"],
  ],
  [
    "a pod that is not ready any more is not available",
    async (stage) => {
      await stage.create(RS, replicaSet(2));
      await stage.start();
      await stage.setReady((await stage.pods()).slice(0, 1), false);
      return summary(stage);
    },
    "2+0 pods; 2/1/1",
  ],
  [
    "counts the pods that have all labels of the template",
    async (stage) => {
      await stage.create(RS, replicaSet(1));
      await stage.change(RS, "web", (object) => {
        const spec = (object as ReplicaSet).spec as NonNullable<ReplicaSet["spec"]>;
        const template = { ...spec.template, metadata: { labels: { app: "web", tier: "front" } } };
        return { ...object, spec: { ...spec, replicas: 2, template } };
      });
      const { status } = await stage.get<ReplicaSet>(RS, "web");
      return [status?.replicas, status?.fullyLabeledReplicas, status?.observedGeneration];
    },
    [2, 1, 2],
  ],
  [
    "tries one pod, reports the refusal as event and condition, and tries again later",
    async (stage) => {
      stage.refuse.why = ({ resource, operation }) =>
        resource === "pods" && operation === "CREATE" ? quota() : undefined;
      await stage.create(RS, replicaSet(5));
      const { status } = await stage.get<ReplicaSet>(RS, "web");
      const [{ type, status: value, reason, message } = {} as never] = status?.conditions ?? [];
      const events = stage.events();
      stage.refuse.why = undefined;
      await stage.pass(60);
      const after = await stage.get<ReplicaSet>(RS, "web");
      return [
        [type, value, reason, message],
        events[0],
        status?.replicas,
        after.status?.conditions,
        await summary(stage),
      ];
    },
    [
      ["ReplicaFailure", "True", "FailedCreate", 'pods "web-x" is forbidden: exceeded quota: few'],
      'Warning FailedCreate Error creating: pods "web-x" is forbidden: exceeded quota: few',
      0,
      undefined,
      "5+0 pods; 5/0/0",
    ],
  ],
  [
    "stops after the batch that meets a limit, and keeps what it created",
    async (stage) => {
      let left = 4;
      stage.refuse.why = ({ resource, operation }) =>
        resource === "pods" && operation === "CREATE" && left-- <= 0 ? quota() : undefined;
      await stage.create(RS, replicaSet(10));
      // Batches of 1, 2 and 4: the last one had room for one pod. Each retry tries one.
      return (await summary(stage)).slice(0, 8);
    },
    "4+0 pods",
  ],
  [
    "a role that was taken away stops it",
    async (stage) => {
      const binding = "system:controller:replicaset-controller";
      await stage.admin.delete("clusterrolebindings.rbac.authorization.k8s.io", undefined, binding);
      await stage.create(RS, replicaSet(1));
      return [(await stage.pods()).length, stage.events()[0]];
    },
    [0, expect.stringContaining('cannot create resource "pods" in API group "" in the namespace "default"')],
  ],
  [
    "records no event while the namespace terminates",
    async (stage) => {
      const cause = { reason: "NamespaceTerminating", message: "it is being terminated", field: "metadata.namespace" };
      const terminating = statusError(403, "Forbidden", "no new content", { causes: [cause] });
      stage.refuse.why = ({ resource }) => (resource === "pods" ? new StatusError(terminating.status) : undefined);
      await stage.create(RS, replicaSet(2));
      return [stage.events(), stage.errors()];
    },
    [[], []],
  ],
  [
    "reports a deletion that is refused",
    async (stage) => {
      await stage.create(RS, replicaSet(1));
      stage.refuse.why = ({ resource, operation }) =>
        resource === "pods" && operation === "DELETE" ? statusError(403, "Forbidden", "not now", {}) : undefined;
      await stage.changeSpec(RS, "web", { replicas: 0 });
      const { status } = await stage.get<ReplicaSet>(RS, "web");
      return [stage.events()[1], status?.conditions?.[0]?.reason, status?.conditions?.[0]?.message];
    },
    ["Warning FailedDelete Error deleting: not now", "FailedDelete", "unable to delete pods: not now"],
  ],
  [
    "its pods are deleted with it",
    async (stage) => {
      await stage.create(RS, replicaSet(3));
      await stage.start();
      await stage.delete(RS, "web", "Background");
      await stage.endTerminating();
      await stage.pass(60);
      return [(await stage.pods()).length, stage.errors()];
    },
    [0, []],
  ],
  [
    "its pods stay if they are orphaned, and the next set adopts them",
    async (stage) => {
      await stage.create(RS, replicaSet(2));
      await stage.delete(RS, "web", "Orphan");
      const orphans = (await stage.pods()).map(({ metadata }) => metadata.ownerReferences);
      const { metadata } = await stage.create(RS, replicaSet(2));
      const owners = (await stage.pods()).map((one) => one.metadata.ownerReferences?.[0]?.uid === metadata.uid);
      return [orphans, owners];
    },
    [
      [undefined, undefined],
      [true, true],
    ],
  ],
  [
    "two sets with the same selector keep to their own pods",
    async (stage) => {
      await stage.create(RS, replicaSet(1));
      await stage.create(RS, replicaSet(2, {}, "twin"));
      await stage.changeSpec(RS, "web", { replicas: 2 });
      return [await summary(stage), await summary(stage, "twin")];
    },
    ["4+0 pods; 2/0/0", "4+0 pods; 2/0/0"],
  ],
  [
    "pods that name it with another uid are not its own",
    async (stage) => {
      const wrong = ownedBy("web", "another-uid");
      for (let i = 0; i < 5; i++) await stage.create("pods", pod(`wrong-${i}`, { app: "web" }, [wrong]));
      await stage.create(RS, replicaSet(1));
      return (await stage.get<ReplicaSet>(RS, "web")).status?.replicas;
    },
    1,
  ],
  [
    "writes nothing while nothing changes",
    async (stage) => {
      await stage.create(RS, replicaSet(3));
      await stage.start();
      await stage.pass(60);
      const before = await stage.revision();
      await stage.pass(3600);
      return (await stage.revision()) - before;
    },
    0,
  ],
];

describe("ReplicaSet", () => {
  for (const [title, story, want] of table) {
    test(title, async () => {
      await using stage = await WorkloadStage.open();
      expect(await story(stage)).toEqual(want);
    });
  }

  test("what it does is caused by the change that it saw", async () => {
    await using stage = await WorkloadStage.open();
    await stage.create(RS, replicaSet(1));
    const { facts } = stage.on;
    const decision = facts.find((fact) => fact.kind === "decision" && fact.what.startsWith("create 1 pod"));
    const cause = facts.find(({ id }) => id === decision?.causedBy);
    expect(cause).toMatchObject({ kind: "watch", type: "ADDED", resource: "replicasets", object: "default/web" });
    const stored = facts.find((fact) => fact.kind === "state" && fact.subject.startsWith("pods default/web-"));
    const request = facts.find(({ id }) => id === stored?.causedBy);
    expect(request).toMatchObject({
      kind: "request",
      method: "POST",
      path: "/api/v1/namespaces/default/pods",
      status: 201,
    });
    expect(request?.causedBy).toBe(decision?.id);
    await stage.changeSpec(RS, "web", { replicas: 2 });
    const second = facts.findLast((fact) => fact.kind === "decision" && fact.what.startsWith("create 1 pod"));
    const watched = facts.find(({ id }) => id === second?.causedBy);
    expect(watched).toMatchObject({ kind: "watch", type: "MODIFIED", resource: "replicasets", object: "default/web" });
  });
});

describe("ReplicationController", () => {
  const RC = "replicationcontrollers";
  const controller = (replicas: number) => ({
    apiVersion: "v1",
    kind: "ReplicationController",
    metadata: { name: "web" },
    spec: { replicas, selector: { app: "web" }, template: podTemplate() },
  });

  test("keeps its pods by a plain map of labels", async () => {
    await using stage = await WorkloadStage.open();
    await stage.create(RC, controller(2));
    await stage.start();
    const [first] = await stage.pods();
    expect(first?.metadata.ownerReferences?.[0]).toMatchObject({ apiVersion: "v1", kind: "ReplicationController" });
    await relabel(stage, first, { app: "other" });
    const { status } = await stage.get<ReplicaSet>(RC, "web");
    expect([status?.replicas, (await stage.pods()).length]).toEqual([2, 3]);
    expect(stage.on.facts.find(({ kind }) => kind === "event")).toMatchObject({ object: "ReplicationController/web" });
  });

  test("acts as its own service account", async () => {
    await using stage = await WorkloadStage.open();
    const binding = "system:controller:replication-controller";
    await stage.admin.delete("clusterrolebindings.rbac.authorization.k8s.io", undefined, binding);
    await stage.create(RC, controller(1));
    expect(stage.errors()[0]).toContain(
      'User "system:serviceaccount:kube-system:replication-controller" cannot create',
    );
  });
});
