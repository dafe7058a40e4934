import { describe, expect, test } from "vitest";
import type { StatefulSet } from "../../../../src/cluster/controllers/statefulset/identity.js";
import { nameOf, type PodObject } from "../../../../src/staging/apimachinery/api/objects.js";
import { StatusError, statusError } from "../../../../src/staging/apimachinery/errors.js";
import { podTemplate, WorkloadStage } from "../support/workload-stage.js";
import { counts, decided, play, REVISIONS, revisions, running, STS, setImage, shown, statefulSet } from "./stage.js";

const PARALLEL = { podManagementPolicy: "Parallel" };
const partition = (value: number) => ({
  updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: value } },
});
const quota = () => statusError(403, "Forbidden", 'pods "web-0" is forbidden: exceeded quota: few', {});

async function pod(stage: WorkloadStage, name: string): Promise<PodObject> {
  return stage.get<PodObject>("pods", name);
}

function orphan(name: string, labels: object = { app: "web" }): object {
  return { apiVersion: "v1", kind: "Pod", metadata: { name, labels }, spec: podTemplate().spec };
}

async function relabel(stage: WorkloadStage, name: string, labels: Record<string, string>): Promise<void> {
  await stage.change("pods", name, (object) => ({ ...object, metadata: { ...object.metadata, labels } }));
}

type Row = readonly [title: string, story: (stage: WorkloadStage) => Promise<unknown>, want: unknown];

const creation: readonly Row[] = [
  [
    "creates the first pod only, and says why",
    async (stage) => {
      await stage.create(STS, statefulSet(3));
      return [await shown(stage), await counts(stage), decided(stage, 3)];
    },
    [
      "web-0 nginx",
      "1/0/0 current 1 updated 1",
      [
        "create ControllerRevision default/web-HASH as revision 1: none of the 0 revisions of StatefulSet default/web has its template",
        "create pod default/web-0 of revision web-HASH: StatefulSet default/web has 0 of 3 replicas",
        "wait for pod default/web-0 to be running and ready: with OrderedReady nothing else changes before that",
      ],
    ],
  ],
  [
    "creates each next pod when the ones before it are running and ready",
    async (stage) => {
      await stage.create(STS, statefulSet(3));
      const seen = [];
      for (let i = 0; i < 3; i++) {
        await stage.start();
        seen.push((await stage.pods()).length);
      }
      return [seen, await counts(stage), stage.decisions().filter((text) => text.startsWith("wait")).length];
    },
    [[2, 3, 3], "3/3/3 current 3 updated 3", 3],
  ],
  [
    "gives a pod its name, labels, host name, subdomain and owner",
    async (stage) => {
      const { metadata: owner } = await stage.create(STS, statefulSet(1));
      const { metadata, spec } = await pod(stage, "web-0");
      const { labels = {}, generateName, ownerReferences } = metadata;
      const { status } = await stage.get<StatefulSet>(STS, "web");
      return [
        [spec?.hostname, spec?.subdomain, spec?.enableServiceLinks, generateName],
        [labels["app"], labels["statefulset.kubernetes.io/pod-name"]],
        labels["controller-revision-hash"] === status?.updateRevision,
        ownerReferences?.map(({ kind, uid, controller }) => [kind, uid === owner.uid, controller]),
      ];
    },
    [["web-0", "svc", true, "web-"], ["web", "web-0"], true, [["StatefulSet", true, true]]],
  ],
  [
    "waits again if a pod is no longer ready",
    async (stage) => {
      await running(stage, 2);
      await stage.setReady([await pod(stage, "web-0")], false);
      await stage.changeSpec(STS, "web", { replicas: 3 });
      const before = (await stage.pods()).length;
      await stage.setReady([await pod(stage, "web-0")], true);
      return [before, (await stage.pods()).length];
    },
    [2, 3],
  ],
  [
    "creates all pods at once if the policy is Parallel",
    async (stage) => {
      await stage.create(STS, statefulSet(3, PARALLEL));
      return [await shown(stage), await counts(stage)];
    },
    ["web-0 nginx, web-1 nginx, web-2 nginx", "3/0/0 current 3 updated 3"],
  ],
  [
    "creates none with replicas 0, and says that it has seen the set",
    async (stage) => {
      await stage.create(STS, statefulSet(0));
      const { status } = await stage.get<StatefulSet>(STS, "web");
      return [await counts(stage), status?.observedGeneration, status?.collisionCount, await revisions(stage)];
    },
    ["0/0/0 current 0 updated 0", 1, 0, "1:nginx"],
  ],
  [
    "records upstream's events",
    async (stage) => {
      await running(stage, 1);
      await stage.changeSpec(STS, "web", { replicas: 0 });
      return stage.events();
    },
    [
      "Normal SuccessfulCreate create Pod web-0 in StatefulSet web successful",
      "Normal SuccessfulDelete delete Pod web-0 in StatefulSet web successful",
    ],
  ],
  [
    "waits for minReadySeconds before the next pod",
    async (stage) => {
      await stage.create(STS, statefulSet(2, { minReadySeconds: 10 }));
      await stage.start();
      const before = [await counts(stage), decided(stage)];
      await stage.pass(9);
      const almost = (await stage.pods()).length;
      await stage.pass(2);
      return [before, almost, await counts(stage)];
    },
    [
      [
        "1/1/0 current 1 updated 1",
        "wait for pod default/web-0 to be available: ready for 10 s: with OrderedReady nothing else changes before that",
      ],
      1,
      "2/1/1 current 2 updated 2",
    ],
  ],
  [
    "counts parallel pods as available after minReadySeconds",
    async (stage) => {
      await running(stage, 2, { ...PARALLEL, minReadySeconds: 10 });
      const before = await counts(stage);
      await stage.pass(11);
      return [before, await counts(stage)];
    },
    ["2/2/0 current 2 updated 2", "2/2/2 current 2 updated 2"],
  ],
];

const scaling: readonly Row[] = [
  [
    "adds pods in their order",
    async (stage) => {
      await running(stage, 1);
      await stage.changeSpec(STS, "web", { replicas: 3 });
      const before = await shown(stage);
      await play(stage);
      return [before, await shown(stage)];
    },
    ["web-0 nginx, web-1 nginx", "web-0 nginx, web-1 nginx, web-2 nginx"],
  ],
  [
    "deletes the highest ordinal first, and waits until it is gone",
    async (stage) => {
      await running(stage, 3);
      await stage.changeSpec(STS, "web", { replicas: 1 });
      const seen = [await shown(stage), decided(stage, 2)];
      await stage.endTerminating();
      seen.push(await shown(stage));
      await stage.endTerminating();
      return [...seen, await shown(stage), await counts(stage)];
    },
    [
      "web-0 nginx, web-1 nginx, web-2 nginx -",
      [
        "delete pod default/web-2: StatefulSet default/web wants 1 replicas",
        "wait for pod default/web-2 to terminate: the set is scaled down one pod at a time",
      ],
      "web-0 nginx, web-1 nginx -",
      "web-0 nginx",
      "1/1/1 current 1 updated 1",
    ],
  ],
  [
    "deletes all pods at once if the policy is Parallel",
    async (stage) => {
      await running(stage, 3, PARALLEL);
      await stage.changeSpec(STS, "web", { replicas: 1 });
      return [await shown(stage), await counts(stage)];
    },
    ["web-0 nginx, web-1 nginx -, web-2 nginx -", "3/3/3 current 1 updated 1"],
  ],
  [
    "deletes no pod while a lower one is not ready",
    async (stage) => {
      await running(stage, 3);
      await stage.setReady([await pod(stage, "web-0")], false);
      await stage.changeSpec(STS, "web", { replicas: 1 });
      const before = await shown(stage);
      await stage.setReady([await pod(stage, "web-0")], true);
      return [before, await shown(stage)];
    },
    ["web-0 nginx, web-1 nginx, web-2 nginx", "web-0 nginx, web-1 nginx, web-2 nginx -"],
  ],
  [
    "deletes an unhealthy pod only if it is the first one",
    async (stage) => {
      await running(stage, 3);
      await stage.setReady([await pod(stage, "web-1"), await pod(stage, "web-2")], false);
      await stage.changeSpec(STS, "web", { replicas: 1 });
      const before = [await shown(stage), decided(stage)];
      await stage.setReady([await pod(stage, "web-1")], true);
      return [...before, await shown(stage)];
    },
    [
      "web-0 nginx, web-1 nginx, web-2 nginx",
      "wait for pod default/web-1 to be running and ready: pod default/web-2 is deleted when all others are",
      "web-0 nginx, web-1 nginx, web-2 nginx -",
    ],
  ],
  [
    "does not create a pod again that was scaled away, and reuses its name later",
    async (stage) => {
      await running(stage, 2);
      const { metadata } = await pod(stage, "web-1");
      await stage.changeSpec(STS, "web", { replicas: 1 });
      await play(stage);
      await stage.changeSpec(STS, "web", { replicas: 2 });
      return [await shown(stage), (await pod(stage, "web-1")).metadata.uid === metadata.uid];
    },
    ["web-0 nginx, web-1 nginx", false],
  ],
];

const replacement: readonly Row[] = [
  [
    "replaces a failed pod at once, with an event",
    async (stage) => {
      await running(stage, 2);
      const { metadata } = await pod(stage, "web-0");
      await stage.setStatus([await pod(stage, "web-0")], { phase: "Failed", conditions: [] });
      return [
        await shown(stage),
        (await pod(stage, "web-0")).metadata.uid === metadata.uid,
        stage.events().slice(-3),
        await counts(stage),
      ];
    },
    [
      "web-0 nginx, web-1 nginx",
      false,
      [
        "Warning RecreatingFailedPod StatefulSet default/web is recreating failed Pod web-0",
        "Normal SuccessfulDelete delete Pod web-0 in StatefulSet web successful",
        "Normal SuccessfulCreate create Pod web-0 in StatefulSet web successful",
      ],
      "2/1/1 current 2 updated 2",
    ],
  ],
  [
    "waits until a deleted pod is gone, then creates it again",
    async (stage) => {
      await running(stage, 3);
      await stage.delete("pods", "web-1");
      const before = [await shown(stage), await counts(stage), decided(stage)];
      await stage.endTerminating();
      return [...before, await shown(stage)];
    },
    [
      "web-0 nginx, web-1 nginx -, web-2 nginx",
      "3/3/3 current 2 updated 2",
      "wait for pod default/web-1 to terminate: only then it is created again",
      "web-0 nginx, web-1 nginx, web-2 nginx",
    ],
  ],
  [
    "adopts a pod that has its labels and one of its names, and gives it its label",
    async (stage) => {
      await stage.create("pods", orphan("web-0"));
      await stage.start();
      const { metadata: owner } = await stage.create(STS, statefulSet(1, { updateStrategy: { type: "OnDelete" } }));
      const { metadata } = await pod(stage, "web-0");
      const label = metadata.labels?.["statefulset.kubernetes.io/pod-name"];
      return [metadata.ownerReferences?.[0]?.uid === owner.uid, label, stage.events(), await counts(stage)];
    },
    [
      true,
      "web-0",
      ["Normal SuccessfulUpdate update Pod web-0 in StatefulSet web successful"],
      "1/1/1 current 0 updated 0",
    ],
  ],
  [
    "does not adopt a pod with its labels and another name",
    async (stage) => {
      await stage.create("pods", orphan("other-0"));
      await stage.create(STS, statefulSet(1));
      return [(await pod(stage, "other-0")).metadata.ownerReferences, await shown(stage)];
    },
    [undefined, "other-0 nginx, web-0 nginx"],
  ],
  [
    "releases a pod whose labels no longer match, and waits until its name is free",
    async (stage) => {
      await running(stage, 1);
      await relabel(stage, "web-0", { app: "other" });
      const released = [(await pod(stage, "web-0")).metadata.ownerReferences, await counts(stage)];
      await stage.admin.delete("pods", "default", "web-0", { gracePeriodSeconds: 0 });
      await stage.pass(60);
      return [...released, (await pod(stage, "web-0")).metadata.labels?.["app"], stage.errors()];
    },
    [undefined, "0/0/0 current 0 updated 0", "web", []],
  ],
  [
    "mends the label of a pod",
    async (stage) => {
      await running(stage, 1);
      const { labels = {} } = (await pod(stage, "web-0")).metadata;
      const { "statefulset.kubernetes.io/pod-name": name = "", ...others } = labels;
      await relabel(stage, "web-0", others);
      return [
        name,
        (await pod(stage, "web-0")).metadata.labels?.["statefulset.kubernetes.io/pod-name"],
        decided(stage),
      ];
    },
    ["web-0", "web-0", "update pod default/web-0: its label or its claims do not fit its name"],
  ],
];

const updates: readonly Row[] = [
  [
    "replaces the highest ordinal first",
    async (stage) => {
      await running(stage, 3);
      await setImage(stage, "nginx:2");
      const before = [await shown(stage), decided(stage, 2), await counts(stage)];
      await stage.endTerminating();
      const waits = [await shown(stage), await counts(stage)];
      await stage.start();
      return [before, waits, await shown(stage)];
    },
    [
      [
        "web-0 nginx, web-1 nginx, web-2 nginx -",
        [
          "delete pod default/web-2: its revision is web-HASH, not web-HASH",
          "wait for pod default/web-2 to terminate: only then it is created again",
        ],
        "3/3/3 current 2 updated 0",
      ],
      ["web-0 nginx, web-1 nginx, web-2 nginx:2", "3/2/2 current 2 updated 1"],
      "web-0 nginx, web-1 nginx -, web-2 nginx:2",
    ],
  ],
  [
    "makes the new revision the current one when all pods have it and are ready",
    async (stage) => {
      await running(stage, 3);
      const before = (await stage.get<StatefulSet>(STS, "web")).status?.currentRevision;
      await setImage(stage, "nginx:2");
      const during = (await stage.get<StatefulSet>(STS, "web")).status;
      await play(stage);
      const { status } = await stage.get<StatefulSet>(STS, "web");
      return [
        during?.currentRevision === before && during?.updateRevision !== before,
        status?.currentRevision === during?.updateRevision,
        await shown(stage),
        await counts(stage),
        await revisions(stage),
      ];
    },
    [true, true, "web-0 nginx:2, web-1 nginx:2, web-2 nginx:2", "3/3/3 current 3 updated 3", "1:nginx 2:nginx:2"],
  ],
  [
    "stops at the partition",
    async (stage) => {
      await running(stage, 3, partition(2));
      await setImage(stage, "nginx:2");
      const why = decided(stage, 2)[0];
      await play(stage);
      return [await shown(stage), await counts(stage), why];
    },
    [
      "web-0 nginx, web-1 nginx, web-2 nginx:2",
      "3/3/3 current 2 updated 1",
      "delete pod default/web-2: its revision is web-HASH, not web-HASH, and the partition is 2",
    ],
  ],
  [
    "creates a pod below the partition from the current revision",
    async (stage) => {
      await running(stage, 3, partition(2));
      await setImage(stage, "nginx:2");
      await play(stage);
      await stage.delete("pods", "web-0");
      await stage.delete("pods", "web-2");
      await play(stage);
      const before = await shown(stage);
      await stage.changeSpec(STS, "web", partition(0));
      await play(stage);
      return [before, await shown(stage)];
    },
    ["web-0 nginx, web-1 nginx, web-2 nginx:2", "web-0 nginx:2, web-1 nginx:2, web-2 nginx:2"],
  ],
  [
    "replaces no pod with OnDelete until somebody deletes it",
    async (stage) => {
      await running(stage, 2, { updateStrategy: { type: "OnDelete" } });
      await setImage(stage, "nginx:2");
      await play(stage);
      const before = await shown(stage);
      await stage.delete("pods", "web-0");
      await play(stage);
      return [before, await shown(stage), await counts(stage)];
    },
    ["web-0 nginx, web-1 nginx", "web-0 nginx:2, web-1 nginx", "2/2/2 current 1 updated 1"],
  ],
  [
    "replaces parallel pods one by one, too",
    async (stage) => {
      await running(stage, 3, PARALLEL);
      await setImage(stage, "nginx:2");
      const before = await shown(stage);
      await play(stage);
      return [before, await shown(stage)];
    },
    ["web-0 nginx, web-1 nginx, web-2 nginx -", "web-0 nginx:2, web-1 nginx:2, web-2 nginx:2"],
  ],
  [
    "stays with a pod that does not become ready, even after the template is as before",
    async (stage) => {
      await running(stage, 2);
      await setImage(stage, "broken");
      await stage.endTerminating();
      await setImage(stage, "nginx");
      await stage.pass(60);
      const stuck = await shown(stage);
      await stage.delete("pods", "web-1");
      await play(stage);
      return [stuck, await shown(stage), await revisions(stage)];
    },
    ["web-0 nginx, web-1 broken", "web-0 nginx, web-1 nginx", "2:broken 3:nginx"],
  ],
  [
    "gives an old revision a new number when its template comes back",
    async (stage) => {
      await running(stage, 1);
      await setImage(stage, "nginx:2");
      await setImage(stage, "nginx:3");
      await setImage(stage, "nginx");
      const why = stage.decisions().find((text) => text.startsWith("make"));
      return [await revisions(stage), why?.replace(/web-[a-z0-9]{6,}/, "web-HASH")];
    },
    [
      "2:nginx:2 3:nginx:3 4:nginx",
      "make ControllerRevision default/web-HASH revision 4, it was 1: StatefulSet default/web has its template again",
    ],
  ],
  [
    "keeps revisionHistoryLimit old revisions, and those in use",
    async (stage) => {
      await running(stage, 1, { revisionHistoryLimit: 1 });
      for (const image of ["nginx:2", "nginx:3", "nginx:4"]) {
        await setImage(stage, image);
        await play(stage);
      }
      const why = stage.decisions().find((text) => text.startsWith("delete ControllerRevision"));
      return [await revisions(stage), why?.replace(/web-[a-z0-9]{6,}/, "web-HASH")];
    },
    [
      "3:nginx:3 4:nginx:4",
      "delete ControllerRevision default/web-HASH, revision 1: StatefulSet default/web has 2 old revisions, and revisionHistoryLimit is 1",
    ],
  ],
  [
    "deletes no revision that a pod still has",
    async (stage) => {
      await running(stage, 2, { revisionHistoryLimit: 0, updateStrategy: { type: "OnDelete" } });
      for (const image of ["nginx:2", "nginx:3"]) await setImage(stage, image);
      return revisions(stage);
    },
    "1:nginx 3:nginx:3",
  ],
  [
    "counts a collision if another revision has the name",
    async (stage) => {
      await stage.create(STS, statefulSet(0));
      const [taken] = await stage.admin.list(REVISIONS, "default");
      await stage.delete(STS, "web");
      await stage.settle();
      const { name } = taken?.metadata ?? {};
      await stage.create(REVISIONS, {
        apiVersion: "apps/v1",
        kind: "ControllerRevision",
        metadata: { name },
        data: {},
        revision: 1,
      });
      await stage.create(STS, statefulSet(0));
      const { status } = await stage.get<StatefulSet>(STS, "web");
      return [
        status?.collisionCount,
        status?.updateRevision === name,
        stage.decisions().filter((one) => one.startsWith("count")).length,
      ];
    },
    [1, false, 1],
  ],
  [
    "copies the set's annotations to its revisions, for the history",
    async (stage) => {
      await stage.create(STS, statefulSet(0, {}, { "kubernetes.io/change-cause": "first" }));
      return (await stage.admin.list(REVISIONS, "default"))[0]?.metadata.annotations;
    },
    { "kubernetes.io/change-cause": "first" },
  ],
  [
    "adopts pods and revisions that an orphaning deletion left",
    async (stage) => {
      await running(stage, 2);
      await stage.delete(STS, "web", "Orphan");
      const left = [await shown(stage), await revisions(stage)];
      const pods = await stage.pods();
      const { metadata: owner } = await stage.create(STS, statefulSet(2));
      const [revision] = await stage.admin.list(REVISIONS, "default");
      return [
        left,
        revision?.metadata.ownerReferences?.[0]?.uid === owner.uid,
        (await stage.pods()).map(({ metadata }) => metadata.uid).join() ===
          pods.map(({ metadata }) => metadata.uid).join(),
        await counts(stage),
        await revisions(stage),
      ];
    },
    [["web-0 nginx, web-1 nginx", "1:nginx"], true, true, "2/2/2 current 2 updated 2", "1:nginx"],
  ],
];

const failures: readonly Row[] = [
  [
    "reports a pod that is refused, and tries again later",
    async (stage) => {
      stage.refuse.why = ({ resource, operation }) =>
        resource === "pods" && operation === "CREATE" ? quota() : undefined;
      await stage.create(STS, statefulSet(2));
      const before = [stage.events()[0], await counts(stage)];
      stage.refuse.why = undefined;
      await stage.pass(60);
      return [...before, await shown(stage)];
    },
    [
      'Warning FailedCreate create Pod web-0 in StatefulSet web failed error: pods "web-0" is forbidden: exceeded quota: few',
      "0/0/0 current 0 updated 0",
      "web-0 nginx",
    ],
  ],
  [
    "reports a deletion that is refused",
    async (stage) => {
      await running(stage, 1);
      stage.refuse.why = ({ resource, operation }) =>
        resource === "pods" && operation === "DELETE" ? statusError(403, "Forbidden", "not now", {}) : undefined;
      await stage.changeSpec(STS, "web", { replicas: 0 });
      return [stage.events()[1], await counts(stage)];
    },
    ["Warning FailedDelete delete Pod web-0 in StatefulSet web failed error: not now", "1/1/1 current 1 updated 1"],
  ],
  [
    "reports a revision that is refused: no pod is created",
    async (stage) => {
      stage.refuse.why = ({ resource }) => (resource === "controllerrevisions" ? quota() : undefined);
      await stage.create(STS, statefulSet(1));
      return [await shown(stage), stage.errors()[0]];
    },
    ["", 'statefulset: default/web: pods "web-0" is forbidden: exceeded quota: few'],
  ],
  [
    "is quiet about a namespace that is being terminated",
    async (stage) => {
      const cause = { reason: "NamespaceTerminating", message: "it is being terminated", field: "metadata.namespace" };
      const terminating = statusError(403, "Forbidden", "no new content", { causes: [cause] });
      stage.refuse.why = ({ resource }) => (resource === "pods" ? new StatusError(terminating.status) : undefined);
      await stage.create(STS, statefulSet(2));
      return [stage.events(), stage.errors()];
    },
    [[], []],
  ],
  [
    "creates nothing for a set that is being deleted, and keeps its status right",
    async (stage) => {
      await running(stage, 2);
      const finalizers = ["example.com/wait"];
      await stage.change(STS, "web", (set) => ({ ...set, metadata: { ...set.metadata, finalizers } }));
      await stage.admin.delete(STS, "default", "web", {});
      await stage.admin.delete("pods", "default", "web-1", { gracePeriodSeconds: 0 });
      await stage.settle();
      return [(await stage.pods()).some((one) => nameOf(one) === "web-1"), await counts(stage)];
    },
    [false, "1/1/1 current 1 updated 1"],
  ],
  [
    "leaves the pods of a set that was replaced to the garbage collector",
    async (stage) => {
      await running(stage, 1);
      const { metadata } = await pod(stage, "web-0");
      await stage.delete(STS, "web");
      await stage.create(STS, statefulSet(1));
      await play(stage);
      await stage.pass(60);
      return [(await pod(stage, "web-0")).metadata.uid === metadata.uid, await shown(stage)];
    },
    [false, "web-0 nginx"],
  ],
];

for (const [title, rows] of Object.entries({ creation, scaling, replacement, updates, failures })) {
  describe(`StatefulSet: ${title}`, () => {
    for (const [name, story, want] of rows) {
      test(name, async () => {
        await using stage = await WorkloadStage.open();
        expect(await story(stage)).toEqual(want);
      });
    }
  });
}

describe("StatefulSet", () => {
  test("since v1.27 its ordinals can start elsewhere, and since v1.28 pods have their ordinal as a label", async () => {
    await using stage = await WorkloadStage.open({ kubeVersion: "1.28" });
    const updateStrategy = partition(1).updateStrategy;
    await running(stage, 2, { ordinals: { start: 5 }, updateStrategy });
    const { labels } = (await pod(stage, "web-6")).metadata;
    await setImage(stage, "nginx:2");
    await play(stage);
    expect([await shown(stage), labels?.["apps.kubernetes.io/pod-index"]]).toEqual(["web-5 nginx, web-6 nginx:2", "6"]);
    await stage.changeSpec(STS, "web", { ordinals: { start: 4 } });
    await play(stage);
    expect(await shown(stage)).toBe("web-4 nginx, web-5 nginx:2");
    await expect(stage.changeSpec(STS, "web", { ordinals: { start: -1 } })).rejects.toThrow(
      "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0",
    );
    await expect(stage.changeSpec(STS, "web", { serviceName: "other" })).rejects.toThrow(
      "for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy',",
    );
  });

  test("before, it drops their start", async () => {
    await using stage = await WorkloadStage.open({ kubeVersion: "1.25" });
    await running(stage, 1, { ordinals: { start: 5 } });
    expect((await stage.get<StatefulSet>(STS, "web")).spec?.ordinals).toBeUndefined();
    expect((await pod(stage, "web-0")).metadata.labels).not.toHaveProperty("apps.kubernetes.io/pod-index");
  });

  test("in peace it causes no request in an hour", async () => {
    await using stage = await WorkloadStage.open();
    await running(stage, 3);
    await stage.pass(60);
    const requests = stage.on.requests();
    await stage.pass(3600);
    expect(stage.on.requests() - requests).toBe(0);
  });

  test("acts as its own service account", async () => {
    await using stage = await WorkloadStage.open();
    const binding = "system:controller:statefulset-controller";
    await stage.admin.delete("clusterrolebindings.rbac.authorization.k8s.io", undefined, binding);
    await stage.create(STS, statefulSet(1));
    expect(stage.errors()[0]).toContain(
      'User "system:serviceaccount:kube-system:statefulset-controller" cannot create',
    );
  });

  test("its decisions cause the requests, and the watch events cause the decisions", async () => {
    await using stage = await WorkloadStage.open();
    await running(stage, 1);
    await stage.changeSpec(STS, "web", { replicas: 2 });
    const { facts } = stage.on;
    const decision = facts.findLast((fact) => fact.kind === "decision" && fact.what.startsWith("create pod"));
    const request = facts.findLast(
      (fact) => fact.kind === "request" && fact.method === "POST" && fact.path.endsWith("/pods"),
    );
    expect(request?.causedBy).toBe(decision?.id);
    const watched = facts.find(({ id }) => id === decision?.causedBy);
    expect(watched).toMatchObject({ kind: "watch", type: "MODIFIED", resource: "statefulsets", object: "default/web" });
    expect(nameOf(await pod(stage, "web-1"))).toBe("web-1");
  });
});
