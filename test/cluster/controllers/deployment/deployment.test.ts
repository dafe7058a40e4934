import { describe, expect, test } from "vitest";
import type { Deployment } from "../../../../src/cluster/controllers/deployment/util/deployment-util.js";
import type { ReplicaSet } from "../../../../src/cluster/controllers/replicaset/replica-set-utils.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { statusError } from "../../../../src/staging/apimachinery/errors.js";
import { podTemplate, WorkloadStage } from "../support/workload-stage.js";

const DEPLOYMENTS = "deployments.apps";
const RS = "replicasets.apps";

function deployment(replicas: number, spec: object = {}): object {
  const selector = { matchLabels: { app: "web" } };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: { replicas, selector, template: podTemplate(), ...spec },
  };
}

const get = (stage: WorkloadStage) => stage.get<Deployment>(DEPLOYMENTS, "web");

async function setImage(stage: WorkloadStage, image: string): Promise<void> {
  await stage.change(DEPLOYMENTS, "web", (object) => withImage(object, image));
  await stage.settle();
}

function withImage(object: KubeObject, image: string): KubeObject {
  const { spec } = object as Deployment;
  const [container] = spec?.template.spec?.containers ?? [];
  const podSpec = { ...spec?.template.spec, containers: [{ ...container, image }] };
  return { ...object, spec: { ...spec, template: { ...spec?.template, spec: podSpec } } };
}

/** Image, size and revision of each set, the newest last: `nginx:3 r1`. */
async function sets(stage: WorkloadStage): Promise<string[]> {
  const all = await stage.admin.list<ReplicaSet>(RS, "default");
  const revision = (set: ReplicaSet) => Number(set.metadata.annotations?.["deployment.kubernetes.io/revision"]);
  return [...all]
    .sort((a, b) => revision(a) - revision(b))
    .map((set) => `${set.spec?.template?.spec?.containers[0]?.image} x${set.spec?.replicas} r${revision(set)}`);
}

async function condition(stage: WorkloadStage, type: string): Promise<string> {
  const { status } = await get(stage);
  const one = status?.conditions?.find((other) => other.type === type);
  return one === undefined ? "none" : `${one.status} ${one.reason}: ${one.message}`.replace(/web-\w+/, "web-x");
}

/** Lets new pods start and old ones end until nothing changes. @returns most pods and fewest available ones meanwhile */
async function rollOut(stage: WorkloadStage): Promise<{ most: number; fewest: number }> {
  const seen = { most: 0, fewest: Number.POSITIVE_INFINITY };
  for (let quiet = 0, revision = 0; quiet < 2; ) {
    await stage.settle();
    const pods = (await stage.pods()).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const ready = pods.filter(({ status }) =>
      status?.conditions?.some((one) => one.type === "Ready" && one.status === "True"),
    );
    seen.most = Math.max(seen.most, pods.length);
    seen.fewest = Math.min(seen.fewest, ready.length);
    await stage.start(pods.filter(({ spec }) => (spec?.nodeName ?? "") === "").slice(0, 1));
    await stage.endTerminating();
    const now = await stage.revision();
    quiet = now === revision ? quiet + 1 : 0;
    revision = now;
  }
  return seen;
}

async function running(stage: WorkloadStage, replicas: number, spec: object = {}): Promise<void> {
  await stage.create(DEPLOYMENTS, deployment(replicas, spec));
  await stage.settle();
  await stage.start();
  await stage.settle();
}

const strategy = (maxSurge: unknown, maxUnavailable: unknown) => ({
  strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } },
});
const RECREATE = { strategy: { type: "Recreate" } };

type Row = readonly [title: string, story: (stage: WorkloadStage) => Promise<unknown>, want: unknown];

const table: readonly Row[] = [
  [
    "creates a ReplicaSet with the hash in its name, labels, selector and pods",
    async (stage) => {
      await stage.create(DEPLOYMENTS, deployment(2));
      const [set] = (await stage.admin.list<ReplicaSet>(RS, "default")) as readonly [ReplicaSet];
      const hash = set.metadata.labels?.["pod-template-hash"] ?? "";
      const [pod] = await stage.pods();
      return [
        set.metadata.name === `web-${hash}`,
        set.spec?.selector.matchLabels?.["pod-template-hash"] === hash,
        pod?.metadata.labels?.["pod-template-hash"] === hash,
        set.metadata.ownerReferences?.[0]?.kind,
        await sets(stage),
      ];
    },
    [true, true, true, "Deployment", ["nginx x2 r1"]],
  ],
  [
    "notes its size and revision, and records the event",
    async (stage) => {
      await stage.create(DEPLOYMENTS, deployment(4));
      const [set] = await stage.admin.list<ReplicaSet>(RS, "default");
      const { annotations } = (await get(stage)).metadata;
      return [set?.metadata.annotations, annotations, stage.events()[0]?.replace(/web-\w+/, "web-x")];
    },
    [
      {
        "deployment.kubernetes.io/desired-replicas": "4",
        "deployment.kubernetes.io/max-replicas": "5",
        "deployment.kubernetes.io/revision": "1",
      },
      { "deployment.kubernetes.io/revision": "1" },
      "Normal ScalingReplicaSet Scaled up replica set web-x to 4",
    ],
  ],
  [
    "is progressing and not available before its pods are",
    async (stage) => {
      await stage.create(DEPLOYMENTS, deployment(2));
      return [await condition(stage, "Progressing"), await condition(stage, "Available")];
    },
    [
      'True ReplicaSetUpdated: ReplicaSet "web-x" is progressing.',
      "False MinimumReplicasUnavailable: Deployment does not have minimum availability.",
    ],
  ],
  [
    "is complete and available when its pods are",
    async (stage) => {
      await running(stage, 2);
      const { observedGeneration, replicas, updatedReplicas, readyReplicas, availableReplicas, unavailableReplicas } =
        (await get(stage)).status ?? {};
      return [
        [observedGeneration, replicas, updatedReplicas, readyReplicas, availableReplicas, unavailableReplicas],
        await condition(stage, "Progressing"),
        await condition(stage, "Available"),
      ];
    },
    [
      [1, 2, 2, 2, 2, undefined],
      'True NewReplicaSetAvailable: ReplicaSet "web-x" has successfully progressed.',
      "True MinimumReplicasAvailable: Deployment has minimum availability.",
    ],
  ],
  [
    "a rolling update never has more pods than surge allows, nor fewer than must be available",
    async (stage) => {
      await running(stage, 4);
      await setImage(stage, "nginx:2");
      return [await rollOut(stage), await sets(stage), await condition(stage, "Progressing")];
    },
    [
      { most: 5, fewest: 3 },
      ["nginx x0 r1", "nginx:2 x4 r2"],
      'True NewReplicaSetAvailable: ReplicaSet "web-x" has successfully progressed.',
    ],
  ],
  [
    "without surge it takes old pods away first",
    async (stage) => {
      await running(stage, 3, strategy(0, 1));
      await setImage(stage, "nginx:2");
      return [await rollOut(stage), await sets(stage)];
    },
    [{ most: 3, fewest: 2 }, ["nginx x0 r1", "nginx:2 x3 r2"]],
  ],
  [
    "without unavailability it adds new pods first",
    async (stage) => {
      await running(stage, 3, strategy(1, 0));
      await setImage(stage, "nginx:2");
      return [await rollOut(stage), await sets(stage)];
    },
    [{ most: 4, fewest: 3 }, ["nginx x0 r1", "nginx:2 x3 r2"]],
  ],
  [
    "with all allowed it replaces everything at once",
    async (stage) => {
      await running(stage, 3, strategy("100%", "100%"));
      await setImage(stage, "nginx:2");
      await stage.settle();
      return sets(stage);
    },
    ["nginx x0 r1", "nginx:2 x3 r2"],
  ],
  [
    "stops when new pods do not become available, and keeps enough old ones",
    async (stage) => {
      await running(stage, 4, strategy(1, 1));
      await setImage(stage, "broken");
      await stage.settle();
      await stage.endTerminating();
      await stage.pass(60);
      return [await sets(stage), await condition(stage, "Available")];
    },
    [["nginx x3 r1", "broken x2 r2"], "True MinimumReplicasAvailable: Deployment has minimum availability."],
  ],
  [
    "removes old pods that are not available first",
    async (stage) => {
      await running(stage, 4, strategy(0, 1));
      await stage.setReady((await stage.pods()).slice(0, 1), false);
      await setImage(stage, "nginx:2");
      return stage
        .decisions()
        .find((one) => one.startsWith("scale down"))
        ?.replace(/web-\w+/, "web-x");
    },
    "scale down ReplicaSet default/web-x from 4 to 3: 1 of its 4 pods are not available, and 1 pod may go",
  ],
  [
    "tells the numbers behind each step",
    async (stage) => {
      await running(stage, 3);
      await setImage(stage, "nginx:2");
      await stage.start();
      await stage.settle();
      return stage
        .decisions()
        .filter((one) => /ReplicaSet default\/web-\w+ (?:with|from)/.test(one))
        .slice(1, 3)
        .map((one) => one.replace(/web-\w+/, "web-x"));
    },
    [
      "create ReplicaSet default/web-x with 1 replica as revision 2: none of the 1 ReplicaSets of Deployment default/web has its template",
      "scale down ReplicaSet default/web-x from 3 to 2: 4 pods are available, and 3 must be",
    ],
  ],
  [
    "a second change in the middle of a rollout starts a third set",
    async (stage) => {
      await running(stage, 3);
      await setImage(stage, "nginx:2");
      await setImage(stage, "nginx:3");
      return [await rollOut(stage), await sets(stage)];
    },
    [{ most: 4, fewest: 3 }, ["nginx x0 r1", "nginx:2 x0 r2", "nginx:3 x3 r3"]],
  ],
  [
    "going back to an old template reuses its set with a new revision",
    async (stage) => {
      await running(stage, 2);
      await setImage(stage, "nginx:2");
      await rollOut(stage);
      await setImage(stage, "nginx");
      await rollOut(stage);
      const all = await stage.admin.list<ReplicaSet>(RS, "default");
      const histories = all.map((set) => set.metadata.annotations?.["deployment.kubernetes.io/revision-history"]);
      return [await sets(stage), histories.filter((one) => one !== undefined), (await get(stage)).metadata.annotations];
    },
    [["nginx:2 x0 r2", "nginx x2 r3"], ["1"], { "deployment.kubernetes.io/revision": "3" }],
  ],
  [
    "scales its only set",
    async (stage) => {
      await running(stage, 2);
      await stage.changeSpec(DEPLOYMENTS, "web", { replicas: 5 });
      await stage.settle();
      return [
        await sets(stage),
        (await stage.pods()).length,
        stage
          .events()
          .find((one) => one.includes("from"))
          ?.replace(/web-\w+/, "x"),
      ];
    },
    [["nginx x5 r1"], 5, "Normal ScalingReplicaSet Scaled up replica set x to 5 from 2"],
  ],
  [
    "scales to 0",
    async (stage) => {
      await running(stage, 2);
      await stage.changeSpec(DEPLOYMENTS, "web", { replicas: 0 });
      await stage.settle();
      await stage.endTerminating();
      return [await sets(stage), (await stage.pods()).length];
    },
    [["nginx x0 r1"], 0],
  ],
  [
    "scales all sets by their shares in the middle of a rollout",
    async (stage) => {
      await running(stage, 10, strategy(2, 2));
      await setImage(stage, "broken");
      await stage.settle();
      const before = await sets(stage);
      await stage.changeSpec(DEPLOYMENTS, "web", { replicas: 20 });
      await stage.settle();
      return [before, await sets(stage)];
    },
    [
      ["nginx x8 r1", "broken x4 r2"],
      ["nginx x15 r1", "broken x7 r2"],
    ],
  ],
  [
    "changing size and template at once scales first",
    async (stage) => {
      await running(stage, 2);
      await stage.change(DEPLOYMENTS, "web", (object) => {
        const changed = withImage(object, "nginx:2") as Deployment;
        return { ...changed, spec: { ...changed.spec, replicas: 4 } };
      });
      await stage.settle();
      await rollOut(stage);
      return sets(stage);
    },
    ["nginx x0 r1", "nginx:2 x4 r2"],
  ],
  [
    "a pause stops the rollout, but not scaling",
    async (stage) => {
      await running(stage, 2);
      await stage.changeSpec(DEPLOYMENTS, "web", { paused: true });
      await setImage(stage, "nginx:2");
      await stage.changeSpec(DEPLOYMENTS, "web", { replicas: 3 });
      await stage.settle();
      return [await sets(stage), await condition(stage, "Progressing")];
    },
    [["nginx x3 r1"], "Unknown DeploymentPaused: Deployment is paused"],
  ],
  [
    "goes on when it is resumed",
    async (stage) => {
      await running(stage, 2, { paused: true });
      const paused = await sets(stage);
      await stage.changeSpec(DEPLOYMENTS, "web", { paused: false });
      await rollOut(stage);
      return [paused, await sets(stage), await condition(stage, "Progressing")];
    },
    [[], ["nginx x2 r1"], 'True NewReplicaSetAvailable: ReplicaSet "web-x" has successfully progressed.'],
  ],
  [
    "Recreate starts new pods only when all old ones are gone",
    async (stage) => {
      await running(stage, 2, RECREATE);
      await setImage(stage, "nginx:2");
      await stage.settle();
      const during = [await sets(stage), (await stage.pods()).length];
      await stage.endTerminating();
      await stage.settle();
      return [during, await sets(stage)];
    },
    [
      [["nginx x0 r1"], 2],
      ["nginx x0 r1", "nginx:2 x2 r2"],
    ],
  ],
  [
    "Recreate does not wait for pods that ended by themselves",
    async (stage) => {
      await running(stage, 1, RECREATE);
      await stage.setStatus(await stage.pods(), { phase: "Failed" });
      await stage.settle();
      await stage.start();
      await setImage(stage, "nginx:2");
      await stage.endTerminating();
      await stage.settle();
      return sets(stage);
    },
    ["nginx x0 r1", "nginx:2 x1 r2"],
  ],
  [
    "exceeds its deadline without progress, once",
    async (stage) => {
      await running(stage, 2, { progressDeadlineSeconds: 60 });
      await setImage(stage, "broken");
      await stage.pass(50);
      const before = (await condition(stage, "Progressing")).split(":")[0];
      await stage.pass(20);
      const revision = await stage.revision();
      await stage.pass(3600);
      return [before, await condition(stage, "Progressing"), (await stage.revision()) - revision];
    },
    ["True ReplicaSetUpdated", 'False ProgressDeadlineExceeded: ReplicaSet "web-x" has timed out progressing.', 0],
  ],
  [
    "progress starts the deadline again",
    async (stage) => {
      await running(stage, 3, { progressDeadlineSeconds: 60 });
      await setImage(stage, "nginx:2");
      await stage.pass(50);
      await stage.start();
      await stage.pass(50);
      return (await condition(stage, "Progressing")).split(":")[0];
    },
    "True ReplicaSetUpdated",
  ],
  [
    "recovers after its deadline",
    async (stage) => {
      await running(stage, 1, { progressDeadlineSeconds: 10 });
      await setImage(stage, "broken");
      await stage.pass(30);
      await setImage(stage, "nginx:2");
      await rollOut(stage);
      return [await sets(stage), (await condition(stage, "Progressing")).split(":")[0]];
    },
    [["nginx x0 r1", "broken x0 r2", "nginx:2 x1 r3"], "True NewReplicaSetAvailable"],
  ],
  [
    "without a deadline it has no condition Progressing",
    async (stage) => {
      await running(stage, 1, { progressDeadlineSeconds: 2_147_483_647 });
      return condition(stage, "Progressing");
    },
    "none",
  ],
  [
    "keeps as many old sets as revisionHistoryLimit says",
    async (stage) => {
      await running(stage, 1, { revisionHistoryLimit: 1 });
      for (const image of ["a", "b", "c"]) {
        await stage.pass(1);
        await setImage(stage, image);
        await rollOut(stage);
      }
      return sets(stage);
    },
    ["b x0 r3", "c x1 r4"],
  ],
  [
    "keeps no old set with a limit of 0",
    async (stage) => {
      await running(stage, 1, { revisionHistoryLimit: 0 });
      await setImage(stage, "a");
      await rollOut(stage);
      return sets(stage);
    },
    ["a x1 r2"],
  ],
  [
    "avoids a name that another set has",
    async (stage) => {
      await running(stage, 1);
      const [first] = (await stage.admin.list<ReplicaSet>(RS, "default")) as readonly [ReplicaSet];
      await stage.delete(DEPLOYMENTS, "web", "Orphan");
      // The set stays with another template under the name that the hash gives.
      await stage.change(RS, first.metadata.name ?? "", (set) => withImage(set, "other"));
      await stage.create(DEPLOYMENTS, deployment(1));
      await stage.pass(1);
      const { status } = await get(stage);
      return [status?.collisionCount, (await sets(stage)).map((one) => one.split(" ")[0]).sort()];
    },
    [1, ["nginx", "other"]],
  ],
  [
    "reports a ReplicaSet that cannot be created",
    async (stage) => {
      stage.refuse.why = ({ resource }) =>
        resource === "replicasets" ? statusError(403, "Forbidden", "no more sets", {}) : undefined;
      await stage.create(DEPLOYMENTS, deployment(1));
      return [await condition(stage, "Progressing"), stage.events()[0]?.replace(/web-\w+/, "web-x")];
    },
    [
      'False ReplicaSetCreateError: Failed to create new replica set "web-x": no more sets',
      'Warning ReplicaSetCreateError Failed to create new replica set "web-x": no more sets',
    ],
  ],
  [
    "shows the failure of its set, until it is over",
    async (stage) => {
      stage.refuse.why = ({ resource, operation }) =>
        resource === "pods" && operation === "CREATE" ? statusError(403, "Forbidden", "no more pods", {}) : undefined;
      await stage.create(DEPLOYMENTS, deployment(1));
      await stage.settle();
      const failing = await condition(stage, "ReplicaFailure");
      stage.refuse.why = undefined;
      await stage.pass(60);
      return [failing, await condition(stage, "ReplicaFailure")];
    },
    ["True FailedCreate: no more pods", "none"],
  ],
  [
    "adopts a matching set without a controller",
    async (stage) => {
      await running(stage, 2);
      await stage.delete(DEPLOYMENTS, "web", "Orphan");
      await stage.create(DEPLOYMENTS, deployment(2));
      await stage.settle();
      return [
        await sets(stage),
        (await stage.pods()).length,
        stage
          .decisions()
          .at(-1)
          ?.replace(/web-\w+/, "web-x"),
      ];
    },
    [
      ["nginx x2 r1"],
      2,
      "adopt ReplicaSet default/web-x: it has no controller, and its labels match the selector of Deployment web",
    ],
  ],
  [
    "its sets and pods are deleted with it",
    async (stage) => {
      await running(stage, 2);
      await setImage(stage, "nginx:2");
      await stage.delete(DEPLOYMENTS, "web", "Background");
      for (let i = 0; i < 3; i++) await stage.endTerminating();
      return [await sets(stage), (await stage.pods()).length, stage.errors()];
    },
    [[], 0, []],
  ],
  [
    "copies its annotations and minReadySeconds to the set",
    async (stage) => {
      await running(stage, 1);
      await stage.change(DEPLOYMENTS, "web", (object) => ({
        ...object,
        metadata: {
          ...object.metadata,
          annotations: { ...object.metadata.annotations, "kubernetes.io/change-cause": "why" },
        },
        spec: { ...(object as Deployment).spec, minReadySeconds: 5 },
      }));
      await stage.settle();
      const [set] = await stage.admin.list<ReplicaSet>(RS, "default");
      return [set?.metadata.annotations?.["kubernetes.io/change-cause"], set?.spec?.minReadySeconds, await sets(stage)];
    },
    ["why", 5, ["nginx x1 r1"]],
  ],
  [
    "waits for minReadySeconds in a rollout",
    async (stage) => {
      await running(stage, 1, { minReadySeconds: 30, ...strategy(1, 0) });
      await stage.pass(60);
      await setImage(stage, "nginx:2");
      await stage.start();
      await stage.settle();
      const early = await sets(stage);
      await stage.pass(60);
      return [early, await sets(stage)];
    },
    [
      ["nginx x1 r1", "nginx:2 x1 r2"],
      ["nginx x0 r1", "nginx:2 x1 r2"],
    ],
  ],
  [
    "has no conflicts of its own making",
    async (stage) => {
      await running(stage, 3);
      await setImage(stage, "nginx:2");
      await rollOut(stage);
      return stage.on.facts.flatMap((fact) => (fact.kind === "error" ? [fact.message] : []));
    },
    [],
  ],
];

describe("Deployment", () => {
  for (const [title, story, want] of table) {
    test(title, async () => {
      await using stage = await WorkloadStage.open();
      expect(await story(stage)).toEqual(want);
    });
  }

  test("each decision to write leads to a write", async () => {
    await using stage = await WorkloadStage.open();
    await running(stage, 3);
    await setImage(stage, "nginx:2");
    await rollOut(stage);
    const { facts } = stage.on;
    const effects = new Set(facts.flatMap(({ kind, causedBy }) => (kind === "request" ? [causedBy] : [])));
    const decisions = facts.filter(
      (fact) => fact.kind === "decision" && /^(?:write|scale|create|update) /.test(fact.what),
    );
    expect(decisions.length).toBeGreaterThan(20);
    expect(decisions.filter(({ id }) => !effects.has(id))).toEqual([]);
  });
});
