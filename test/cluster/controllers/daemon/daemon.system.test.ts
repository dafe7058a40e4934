import { describe, expect, test } from "vitest";
import { type DaemonSet, targetNodeName } from "../../../../src/cluster/controllers/daemon/util/daemonset-util.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { isTerminating, type PodObject } from "../../../../src/staging/apimachinery/api/objects.js";
import { statusError } from "../../../../src/staging/apimachinery/errors.js";
import { podTemplate, WorkloadStage } from "../support/workload-stage.js";

const DS = "daemonsets.apps";

function daemonSet(spec: object = {}, metadata: object = {}): object {
  const selector = { matchLabels: { app: "web" } };
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "ds", ...metadata },
    spec: { selector, template: podTemplate(), ...spec },
  };
}

const rolling = (rollingUpdate: object) => ({ updateStrategy: { type: "RollingUpdate", rollingUpdate } });
const ON_DELETE = { updateStrategy: { type: "OnDelete" } };
const SSD = { template: { ...podTemplate(), spec: { ...podTemplate().spec, nodeSelector: { disk: "ssd" } } } };

async function addNode(stage: WorkloadStage, name: string, labels: object = {}): Promise<void> {
  await stage.admin.create("nodes", undefined, {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels },
  } as KubeObject);
  await stage.settle();
}

async function addNodes(stage: WorkloadStage, count: number): Promise<void> {
  for (let i = 1; i <= count; i++) await addNode(stage, `n${i}`);
}

async function changeNode(stage: WorkloadStage, name: string, change: (node: KubeObject) => object): Promise<void> {
  await stage.admin.modify("nodes", undefined, name, (node) => ({ ...node, ...change(node) }));
  await stage.settle();
}

const taint = (stage: WorkloadStage, name: string, key: string, effect: string) =>
  changeNode(stage, name, (node) => ({ spec: { ...(node.spec as object), taints: [{ key, effect }] } }));

const get = (stage: WorkloadStage) => stage.get<DaemonSet>(DS, "ds");

async function alive(stage: WorkloadStage): Promise<PodObject[]> {
  return (await stage.pods()).filter((pod) => !isTerminating(pod));
}

/** The node and image of each pod that is not being deleted: `n1 nginx`. */
async function pods(stage: WorkloadStage): Promise<string[]> {
  const all = await alive(stage);
  return all.map((pod) => `${targetNodeName(pod)} ${pod.spec?.containers[0]?.image}`).sort();
}

/** Plays the scheduler and the kubelet for pods without a node, and the kubelet for those that end. */
async function play(stage: WorkloadStage): Promise<void> {
  await stage.endTerminating();
  for (const pod of await alive(stage)) {
    if ((pod.spec?.nodeName ?? "") === "") await stage.start([pod], targetNodeName(pod));
  }
  await stage.settle();
}

/** Creates a set on so many nodes, and starts its pods. */
async function running(stage: WorkloadStage, nodeCount: number, spec: object = {}): Promise<void> {
  await addNodes(stage, nodeCount);
  await stage.create(DS, daemonSet(spec));
  await play(stage);
}

/** desired/current/ready/updated/available, and those that are wrong: `2/2/2/2/2 -0 ?0 g1`. */
async function status(stage: WorkloadStage): Promise<string> {
  const { status: all } = await get(stage);
  const names = [
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
  ] as const;
  const counts = names.map((name) => all?.[name] ?? 0).join("/");
  return `${counts} -${all?.numberUnavailable ?? 0} ?${all?.numberMisscheduled} g${all?.observedGeneration ?? 0}`;
}

async function setImage(stage: WorkloadStage, image: string): Promise<void> {
  await stage.change(DS, "ds", (object) => {
    const { spec } = object as DaemonSet;
    const podSpec = spec?.template.spec;
    const containers = (podSpec?.containers ?? []).map((one) => ({ ...one, image }));
    return { ...object, spec: { ...spec, template: { ...spec?.template, spec: { ...podSpec, containers } } } };
  });
}

/** The revisions by number, with the image of each: `1 nginx`. */
async function revisions(stage: WorkloadStage): Promise<string[]> {
  const all = await stage.admin.list<KubeObject & { revision: number; data: { spec: DaemonSet["spec"] } }>(
    "controllerrevisions.apps",
    "default",
  );
  const sorted = [...all].sort((a, b) => a.revision - b.revision);
  return sorted.map(({ revision, data }) => `${revision} ${data.spec?.template.spec?.containers[0]?.image}`);
}

const nameless = (text: string) => text.replace(/ds-\w+/g, "ds-x");
const events = (stage: WorkloadStage) => stage.events().map(nameless);
const decisions = (stage: WorkloadStage) => stage.decisions().map(nameless);
const last = (stage: WorkloadStage) => decisions(stage).at(-1);

type Row = readonly [title: string, story: (stage: WorkloadStage) => Promise<unknown>, want: unknown];

const PLACES: readonly Row[] = [
  [
    "each node gets a pod, and the trace says which and why",
    async (stage) => {
      await addNodes(stage, 2);
      await stage.create(DS, daemonSet());
      return [await pods(stage), decisions(stage)];
    },
    [
      ["n1 nginx", "n2 nginx"],
      [
        "create ControllerRevision default/ds-x as revision 1: none of the 0 revisions of DaemonSet default/ds has its template",
        "create 2 pods for DaemonSet default/ds: nodes n1, n2: it fits, and has no pod",
      ],
    ],
  ],
  [
    "without nodes there is nothing to do",
    async (stage) => {
      await stage.create(DS, daemonSet());
      return [await pods(stage), await status(stage)];
    },
    [[], "0/0/0/0/0 -0 ?0 g1"],
  ],
  [
    "a node that comes later gets a pod",
    async (stage) => {
      await running(stage, 1);
      await addNode(stage, "n2");
      return [await pods(stage), last(stage)];
    },
    [["n1 nginx", "n2 nginx"], "create 1 pod for DaemonSet default/ds: node n2: it fits, and has no pod"],
  ],
  [
    "its pods have an owner, labels of the revision, and a name",
    async (stage) => {
      await addNodes(stage, 1);
      const { metadata: owner } = await stage.create(DS, daemonSet());
      const [pod] = await stage.pods();
      const [reference] = pod?.metadata.ownerReferences ?? [];
      const { "controller-revision-hash": hash, ...labels } = pod?.metadata.labels ?? {};
      const [revision] = await stage.admin.list("controllerrevisions.apps", "default");
      return [
        /^ds-[a-z0-9]{5}$/.test(pod?.metadata.name ?? ""),
        labels,
        revision?.metadata.name === `ds-${hash}`,
        reference?.uid === owner.uid && reference?.controller,
      ];
    },
    [true, { app: "web", "pod-template-generation": "1" }, true, true],
  ],
  [
    "an event is recorded for each pod",
    async (stage) => {
      await running(stage, 2);
      return events(stage);
    },
    ["Normal SuccessfulCreate Created pod: ds-x", "Normal SuccessfulCreate Created pod: ds-x"],
  ],
  [
    "only nodes that the selector matches get one",
    async (stage) => {
      await addNode(stage, "n1", { disk: "ssd" });
      await addNode(stage, "n2");
      await stage.create(DS, daemonSet(SSD));
      return [await pods(stage), await status(stage)];
    },
    [["n1 nginx"], "1/1/0/1/0 -1 ?0 g1"],
  ],
  [
    "a node's new label brings a pod, and its loss takes it away",
    async (stage) => {
      await running(stage, 1, SSD);
      const before = await pods(stage);
      await changeNode(stage, "n1", ({ metadata }) => ({ metadata: { ...metadata, labels: { disk: "ssd" } } }));
      await play(stage);
      const labelled = await pods(stage);
      await changeNode(stage, "n1", ({ metadata }) => ({ metadata: { ...metadata, labels: { disk: "hdd" } } }));
      return [before, labelled, await pods(stage), last(stage)];
    },
    [
      [],
      ["n1 nginx"],
      [],
      "delete pod default/ds-x: it must not run on node n1: it does not match the node selector or the node affinity of the template",
    ],
  ],
  [
    "NoSchedule leaves a running pod, which is misscheduled then",
    async (stage) => {
      await running(stage, 2);
      await taint(stage, "n1", "db", "NoSchedule");
      return [await pods(stage), await status(stage)];
    },
    [["n1 nginx", "n2 nginx"], "1/1/1/1/1 -0 ?1 g1"],
  ],
  [
    "NoExecute takes it away",
    async (stage) => {
      await running(stage, 1);
      await taint(stage, "n1", "db", "NoExecute");
      return [await pods(stage), last(stage)];
    },
    [
      [],
      "delete pod default/ds-x: it must not run on node n1: it has the taint db:NoExecute, which the pods do not tolerate",
    ],
  ],
  [
    "a cordon changes nothing",
    async (stage) => {
      await running(stage, 1);
      const before = decisions(stage).length;
      await taint(stage, "n1", "node.kubernetes.io/unschedulable", "NoSchedule");
      return [await pods(stage), await status(stage), decisions(stage).length - before];
    },
    [["n1 nginx"], "1/1/1/1/1 -0 ?0 g1", 0],
  ],
  [
    "a heartbeat of a node starts no sync",
    async (stage) => {
      await running(stage, 1);
      const before = stage.on.requests();
      await stage.admin.modify(
        "nodes",
        undefined,
        "n1",
        (node) => ({ ...node, status: { phase: "Running" } }),
        "status",
      );
      await stage.settle();
      return stage.on.requests() - before;
    },
    0,
  ],
  [
    "a deleted pod is replaced when it is gone",
    async (stage) => {
      await running(stage, 1);
      const [pod] = await stage.pods();
      await stage.delete("pods", pod?.metadata.name ?? "");
      const meanwhile = await pods(stage);
      await play(stage);
      return [meanwhile, await pods(stage), await status(stage)];
    },
    [[], ["n1 nginx"], "1/1/1/1/1 -0 ?0 g1"],
  ],
  [
    "an orphan with the labels is adopted, and one pod of a node stays",
    async (stage) => {
      await addNodes(stage, 1);
      const orphan = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "a", labels: { app: "web" } },
        spec: { ...podTemplate().spec, nodeName: "n1" },
      };
      await stage.create("pods", orphan);
      await stage.create(DS, daemonSet(ON_DELETE));
      const { metadata } = await stage.get<PodObject>("pods", "a");
      return [metadata.ownerReferences?.[0]?.name, await pods(stage), await status(stage)];
    },
    ["ds", ["n1 nginx"], "1/1/0/0/0 -1 ?0 g1"],
  ],
  [
    "a pod with other labels is released and replaced",
    async (stage) => {
      await running(stage, 1);
      const [pod] = await stage.pods();
      const labels = { app: "other" };
      await stage.change("pods", pod?.metadata.name ?? "", (one) => ({
        ...one,
        metadata: { ...one.metadata, labels },
      }));
      const released = await stage.get("pods", pod?.metadata.name ?? "");
      return [released.metadata.ownerReferences, await pods(stage)];
    },
    [undefined, ["n1 nginx", "n1 nginx"]],
  ],
  [
    "a pod that waits for a node that is gone is deleted",
    async (stage) => {
      await addNodes(stage, 1);
      await stage.create(DS, daemonSet());
      await stage.admin.delete("nodes", undefined, "n1");
      await addNode(stage, "n2");
      return [await pods(stage), last(stage)];
    },
    [["n2 nginx"], "delete pod default/ds-x: it waits for node n1, which does not exist"],
  ],
  [
    "a set that is deleted does nothing more",
    async (stage) => {
      await running(stage, 1);
      const finalizers = ["test/wait"];
      await stage.change(DS, "ds", (one) => ({ ...one, metadata: { ...one.metadata, finalizers } }));
      await stage.delete(DS, "ds");
      await addNode(stage, "n2");
      return pods(stage);
    },
    ["n1 nginx"],
  ],
];

const FAILURES: readonly Row[] = [
  [
    "a failed pod is replaced, with events",
    async (stage) => {
      await running(stage, 1);
      const [failed] = await stage.pods();
      await stage.setStatus(await stage.pods(), { phase: "Failed" });
      const [pod, ...others] = await stage.pods();
      return [pod?.metadata.name !== failed?.metadata.name, others, events(stage).slice(1)];
    },
    [
      true,
      [],
      [
        "Warning FailedDaemonPod Found failed daemon pod default/ds-x on node n1, will try to kill it",
        "Normal SuccessfulDelete Deleted pod: ds-x",
        "Normal SuccessfulCreate Created pod: ds-x",
      ],
    ],
  ],
  [
    "the next failed pod of the node is left for a second, and the one after it for two",
    async (stage) => {
      await running(stage, 1);
      const waits: number[] = [];
      for (let round = 0; round < 4; round++) {
        const before = await stage.pods();
        await stage.setStatus(before, { phase: "Failed" });
        const isLeft = async () => (await stage.pods())[0]?.metadata.uid === before[0]?.metadata.uid;
        let seconds = 0;
        for (; (await isLeft()) && seconds < 60; seconds++) await stage.pass(1);
        waits.push(seconds);
      }
      const why = decisions(stage).find((one) => one.startsWith("leave"));
      return [waits, why];
    },
    [
      [0, 1, 2, 4],
      "leave the failed pod default/ds-x for 1s: pods of DaemonSet default/ds fail on node n1, and each is left twice as long",
    ],
  ],
  [
    "a pod that succeeded is deleted, too",
    async (stage) => {
      await running(stage, 1);
      await stage.setStatus(await stage.pods(), { phase: "Succeeded" });
      return [await pods(stage), events(stage)[1]];
    },
    [
      ["n1 nginx"],
      "Normal SucceededDaemonPod Found succeeded daemon pod default/ds-x on node n1, will try to delete it",
    ],
  ],
  [
    "what the API server refuses is an event and in the status, and tried again",
    async (stage) => {
      await addNodes(stage, 2);
      stage.refuse.why = ({ resource, operation }) =>
        resource === "pods" && operation === "CREATE" ? statusError(403, "Forbidden", "no pods today") : undefined;
      await stage.create(DS, daemonSet());
      const refused = [await status(stage), events(stage)[0], stage.errors()[0]];
      stage.refuse.why = undefined;
      await stage.pass(1);
      return [...refused, await pods(stage)];
    },
    [
      "2/0/0/0/0 -2 ?0 g1",
      "Warning FailedCreate Error creating: no pods today",
      "daemonset: default/ds: no pods today",
      ["n1 nginx", "n2 nginx"],
    ],
  ],
  [
    "a pod that cannot be deleted is an event, and tried again",
    async (stage) => {
      await running(stage, 1);
      stage.refuse.why = ({ resource, operation }) =>
        resource === "pods" && operation === "DELETE" ? statusError(403, "Forbidden", "keep it") : undefined;
      await taint(stage, "n1", "db", "NoExecute");
      const refused = events(stage)[1];
      stage.refuse.why = undefined;
      await stage.pass(1);
      return [refused, await pods(stage)];
    },
    ["Warning FailedDelete Error deleting: keep it", []],
  ],
  [
    "a conflict in the status is resolved at once",
    async (stage) => {
      await addNodes(stage, 1);
      let refusals = 1;
      stage.refuse.why = ({ resource, subresource }) =>
        resource === "daemonsets" && subresource === "status" && refusals-- > 0
          ? statusError(409, "Conflict", "old version")
          : undefined;
      await stage.create(DS, daemonSet());
      return [await status(stage), stage.errors()];
    },
    ["1/1/0/1/0 -1 ?0 g1", []],
  ],
  [
    "of several pods on a node the oldest stays",
    async (stage) => {
      await running(stage, 1);
      const [{ metadata, spec }] = (await stage.pods()) as readonly [PodObject];
      await stage.pass(5);
      const { labels, ownerReferences } = metadata;
      await stage.create("pods", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "a", labels, ownerReferences },
        spec,
      });
      return [(await alive(stage)).map((pod) => pod.metadata.name === metadata.name), last(stage)];
    },
    [[true], "delete pod default/a: node n1 has an older pod"],
  ],
];

const UPDATES: readonly Row[] = [
  [
    "a rolling update replaces one node's pod after the other",
    async (stage) => {
      await running(stage, 3);
      await setImage(stage, "nginx:2");
      const steps = [await pods(stage)];
      for (let i = 0; i < 3; i++) {
        await play(stage);
        steps.push(await pods(stage));
      }
      return [steps, await status(stage)];
    },
    [
      [
        ["n2 nginx", "n3 nginx"],
        ["n1 nginx:2", "n3 nginx"],
        ["n1 nginx:2", "n2 nginx:2"],
        ["n1 nginx:2", "n2 nginx:2", "n3 nginx:2"],
      ],
      "3/3/3/3/3 -0 ?0 g2",
    ],
  ],
  [
    "maxUnavailable as a percentage of the wanted nodes",
    async (stage) => {
      await running(stage, 4, rolling({ maxUnavailable: "50%" }));
      await setImage(stage, "nginx:2");
      return [await pods(stage), last(stage)];
    },
    [
      ["n3 nginx", "n4 nginx"],
      "delete pod default/ds-x: it has an old template; 0 nodes are without an available pod, and maxUnavailable is 2",
    ],
  ],
  [
    "an old pod that is not available goes at once, whatever is unavailable",
    async (stage) => {
      await running(stage, 3);
      await stage.setReady(await stage.pods(), false);
      await setImage(stage, "nginx:2");
      return [await pods(stage), last(stage)];
    },
    [[], "delete pod default/ds-x: it has an old template and is not available"],
  ],
  [
    "a new pod that does not get ready holds the update up",
    async (stage) => {
      await running(stage, 2);
      await setImage(stage, "nginx:2");
      await stage.endTerminating();
      await stage.pass(600);
      return [await pods(stage), await status(stage)];
    },
    [["n1 nginx:2", "n2 nginx"], "2/2/1/1/1 -1 ?0 g2"],
  ],
  [
    "minReadySeconds: a ready pod is not available before",
    async (stage) => {
      await running(stage, 2, { minReadySeconds: 10 });
      const early = await status(stage);
      await stage.pass(11);
      const late = await status(stage);
      await setImage(stage, "nginx:2");
      await play(stage);
      await stage.pass(5);
      const waiting = await pods(stage);
      await stage.pass(6);
      return [early, late, waiting, await pods(stage)];
    },
    ["2/2/2/2/0 -2 ?0 g1", "2/2/2/2/2 -0 ?0 g1", ["n1 nginx:2", "n2 nginx"], ["n1 nginx:2"]],
  ],
  [
    "maxSurge: the new pod comes beside the old one, which goes when it is available",
    async (stage) => {
      await running(stage, 2, rolling({ maxSurge: 1, maxUnavailable: 0 }));
      await setImage(stage, "nginx:2");
      const surging = [await pods(stage), last(stage)];
      const [created] = (await alive(stage)).filter(({ spec }) => (spec?.nodeName ?? "") === "");
      await stage.start(created === undefined ? [] : [created], "n1");
      return [...surging, await pods(stage), decisions(stage).find((one) => one.startsWith("delete"))];
    },
    [
      ["n1 nginx", "n1 nginx:2", "n2 nginx"],
      "create 1 pod for DaemonSet default/ds: node n1: its pod has an old template; 0 nodes have two pods, and maxSurge is 1",
      ["n1 nginx:2", "n2 nginx", "n2 nginx:2"],
      "delete pod default/ds-x: it has an old template, and pod ds-x is available",
    ],
  ],
  [
    "maxSurge: beside an old pod that is not available a new one always comes, and the old one goes",
    async (stage) => {
      await running(stage, 3, rolling({ maxSurge: 1, maxUnavailable: 0 }));
      await stage.setReady(await stage.pods(), false);
      await setImage(stage, "nginx:2");
      return pods(stage);
    },
    ["n1 nginx:2", "n2 nginx:2", "n3 nginx:2"],
  ],
  [
    "maxSurge: an ending pod need not be gone before the next",
    async (stage) => {
      await running(stage, 1, rolling({ maxSurge: 1, maxUnavailable: 0 }));
      const [pod] = await stage.pods();
      await stage.delete("pods", pod?.metadata.name ?? "");
      return [await pods(stage), last(stage)];
    },
    [["n1 nginx"], "create 1 pod for DaemonSet default/ds: node n1: it fits, and its pods end: the set may surge"],
  ],
  [
    "OnDelete: only pods that are deleted get the new template",
    async (stage) => {
      await running(stage, 2, ON_DELETE);
      await setImage(stage, "nginx:2");
      const before = [await pods(stage), await status(stage)];
      const [pod] = await stage.pods();
      await stage.delete("pods", pod?.metadata.name ?? "");
      await play(stage);
      return [...before, (await pods(stage)).map((one) => one.slice(3)).sort()];
    },
    [["n1 nginx", "n2 nginx"], "2/2/2/0/2 -0 ?0 g2", ["nginx", "nginx:2"]],
  ],
];

const HISTORY: readonly Row[] = [
  [
    "each template is a revision",
    async (stage) => {
      await running(stage, 1);
      await setImage(stage, "nginx:2");
      return revisions(stage);
    },
    ["1 nginx", "2 nginx:2"],
  ],
  [
    "an older template makes its revision the newest",
    async (stage) => {
      await running(stage, 1);
      await setImage(stage, "nginx:2");
      await setImage(stage, "nginx");
      return [await revisions(stage), decisions(stage).filter((one) => one.startsWith("make"))];
    },
    [
      ["2 nginx:2", "3 nginx"],
      [
        "make ControllerRevision default/ds-x revision 3: DaemonSet default/ds has its template again; it was revision 1",
      ],
    ],
  ],
  [
    "a rollback does not touch the pods that have the template still",
    async (stage) => {
      await running(stage, 3);
      const before = new Set((await stage.pods()).map(({ metadata }) => metadata.uid));
      await setImage(stage, "nginx:bad");
      await stage.endTerminating();
      await setImage(stage, "nginx");
      await play(stage);
      const kept = (await alive(stage)).filter(({ metadata }) => before.has(metadata.uid));
      return [await pods(stage), kept.length];
    },
    [["n1 nginx", "n2 nginx", "n3 nginx"], 2],
  ],
  [
    "revisions beyond the limit go, the oldest first",
    async (stage) => {
      await running(stage, 1, { revisionHistoryLimit: 1 });
      for (const image of ["nginx:2", "nginx:3", "nginx:4"]) {
        await setImage(stage, image);
        await play(stage);
        await play(stage);
      }
      return [await revisions(stage), decisions(stage).filter((one) => one.includes("revisionHistoryLimit"))];
    },
    [
      ["3 nginx:3", "4 nginx:4"],
      [1, 2].map(
        (revision) =>
          `delete ControllerRevision default/ds-x, revision ${revision}: DaemonSet default/ds has 2 old revisions, and revisionHistoryLimit is 1`,
      ),
    ],
  ],
  [
    "a revision that a pod has stays",
    async (stage) => {
      await running(stage, 1, { ...ON_DELETE, revisionHistoryLimit: 0 });
      await setImage(stage, "nginx:2");
      await setImage(stage, "nginx:3");
      return revisions(stage);
    },
    ["1 nginx", "3 nginx:3"],
  ],
  [
    "a name that is taken is counted as a collision, and another hash is found",
    async (stage) => {
      await running(stage, 1);
      const [revision] = await stage.admin.list<KubeObject>("controllerrevisions.apps", "default");
      await stage.delete(DS, "ds", "Orphan");
      await stage.pass(1);
      await stage.delete("controllerrevisions.apps", revision?.metadata.name ?? "");
      const { ownerReferences: _, labels: __, uid: ___, resourceVersion: ____, ...metadata } = revision?.metadata ?? {};
      await stage.admin.create("controllerrevisions.apps", "default", {
        ...revision,
        metadata,
        data: { other: 1 },
      } as KubeObject);
      await stage.create(DS, daemonSet());
      await stage.pass(1);
      return [
        (await get(stage)).status?.collisionCount,
        (await stage.admin.list("controllerrevisions.apps", "default")).length,
      ];
    },
    [1, 2],
  ],
  [
    "of two revisions with one template the newer stays, and pods get its hash",
    async (stage) => {
      await running(stage, 1);
      const [revision] = await stage.admin.list<KubeObject & { revision: number }>(
        "controllerrevisions.apps",
        "default",
      );
      const { uid: _, resourceVersion: __, ...metadata } = revision?.metadata ?? {};
      const labels = { ...metadata.labels, "controller-revision-hash": "copy" };
      const copy = { ...revision, metadata: { ...metadata, name: "ds-copy", labels }, revision: 7 } as KubeObject;
      await stage.admin.create("controllerrevisions.apps", "default", copy);
      await stage.changeSpec(DS, "ds", { minReadySeconds: 1 });
      const left = await stage.admin.list("controllerrevisions.apps", "default");
      const [pod] = await stage.pods();
      return [left.map((one) => one.metadata.name), pod?.metadata.labels?.["controller-revision-hash"], last(stage)];
    },
    [["ds-copy"], "copy", "delete ControllerRevision default/ds-x: it has the same template as default/ds-x"],
  ],
  [
    "after a deletion with orphans a new set with the template adopts pods and revisions",
    async (stage) => {
      await running(stage, 2);
      await stage.delete(DS, "ds", "Orphan");
      await stage.pass(1);
      const orphans = (await stage.pods()).map(({ metadata }) => metadata.ownerReferences);
      await stage.create(DS, daemonSet());
      await stage.pass(1);
      return [orphans, await status(stage), await revisions(stage)];
    },
    [[undefined, undefined], "2/2/2/2/2 -0 ?0 g1", ["1 nginx"]],
  ],
  [
    "a deletion takes pods and revisions along",
    async (stage) => {
      await running(stage, 2);
      await stage.delete(DS, "ds", "Background");
      await stage.pass(1);
      await stage.endTerminating();
      return [await pods(stage), await revisions(stage)];
    },
    [[], []],
  ],
];

const TABLES = { nodes: PLACES, failures: FAILURES, updates: UPDATES, revisions: HISTORY };

describe.each(Object.entries(TABLES))("DaemonSet: %s", (_name, table) => {
  test.each(table)("%s", async (_title, story, want) => {
    await using stage = await WorkloadStage.open();
    expect(await story(stage)).toEqual(want);
  });
});

test("a DaemonSet acts as its own service account", async () => {
  await using stage = await WorkloadStage.open();
  await stage.admin.delete(
    "clusterrolebindings.rbac.authorization.k8s.io",
    undefined,
    "system:controller:daemon-set-controller",
  );
  await addNodes(stage, 1);
  await stage.create(DS, daemonSet());
  expect(stage.errors()[0]).toContain('User "system:serviceaccount:kube-system:daemon-set-controller" cannot');
});

test("each write follows from the decision, and the decision from the watch event", async () => {
  await using stage = await WorkloadStage.open();
  await running(stage, 1);
  await addNode(stage, "n2");
  const { facts } = stage.on;
  const decision = facts.findLast((fact) => fact.kind === "decision" && fact.what.startsWith("create 1 pod"));
  const watched = facts.find(({ id }) => id === decision?.causedBy);
  expect(watched).toMatchObject({ kind: "watch", type: "ADDED", resource: "nodes", object: "n2" });
  const request = facts.findLast(
    (fact) => fact.kind === "request" && fact.actor === "controller" && fact.path?.endsWith("/pods"),
  );
  expect(request?.causedBy).toBe(decision?.id);
});
