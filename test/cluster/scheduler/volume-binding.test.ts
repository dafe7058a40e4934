import { describe, expect, test } from "vitest";
import { makeNode, makePod } from "./fixtures.js";
import { Lab } from "./lab.js";

const CLAIMS = "persistentvolumeclaims";
const NOT_HELPFUL = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
const POD = makePod("p", { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }] });
const BOUND = { "pv.kubernetes.io/bind-completed": "yes" };

function claim(spec: object = {}, metadata: object = {}) {
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "data", ...metadata }, spec };
}

function volume(nodeName?: string) {
  const requirement = { key: "kubernetes.io/hostname", operator: "In", values: [nodeName] };
  const required = { nodeSelectorTerms: [{ matchExpressions: [requirement] }] };
  const spec = nodeName === undefined ? {} : { nodeAffinity: { required } };
  return { apiVersion: "v1", kind: "PersistentVolume", metadata: { name: "pv" }, spec };
}

async function open(kubeVersion = "1.25"): Promise<Lab> {
  const lab = await Lab.open({ kubeVersion });
  for (const name of ["n1", "n2"]) await lab.addNode(makeNode(name));
  return lab;
}

async function setPhase(lab: Lab, phase: string): Promise<void> {
  await lab.admin.modify(CLAIMS, "default", "data", (one) => ({ ...one, status: { phase } }), "status");
}

type Row = readonly [title: string, prepare: (lab: Lab) => Promise<unknown>, message: string | undefined];

const table: readonly Row[] = [
  ["a claim that does not exist", async () => {}, '2 persistentvolumeclaim "data" not found'],
  [
    "a claim that no volume is bound to",
    (lab) => lab.admin.create(CLAIMS, "default", claim()),
    "2 pod has unbound immediate PersistentVolumeClaims",
  ],
  [
    "a claim that names a volume and is not bound yet",
    (lab) => lab.admin.create(CLAIMS, "default", claim({ volumeName: "pv" })),
    "2 pod has unbound immediate PersistentVolumeClaims",
  ],
  [
    "a claim that is being deleted",
    async (lab) => {
      await lab.admin.create(CLAIMS, "default", claim({}, { finalizers: ["kubernetes.io/pvc-protection"] }));
      await lab.admin.delete(CLAIMS, "default", "data");
    },
    '2 persistentvolumeclaim "data" is being deleted',
  ],
  [
    "a claim whose volume is lost",
    async (lab) => {
      await lab.admin.create(CLAIMS, "default", claim({ volumeName: "pv" }, { annotations: BOUND }));
      await setPhase(lab, "Lost");
    },
    '2 persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
  ],
  [
    "a claim that waits for its first pod",
    async (lab) => {
      const metadata = { name: "local" };
      const storageClass = { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata, provisioner: "none" };
      const volumeBindingMode = "WaitForFirstConsumer";
      await lab.admin.create("storageclasses.storage.k8s.io", undefined, { ...storageClass, volumeBindingMode });
      await lab.admin.create(CLAIMS, "default", claim({ storageClassName: "local" }));
    },
    "2 node(s) didn't find available persistent volumes to bind",
  ],
  [
    "a claim whose volume does not exist",
    (lab) => lab.admin.create(CLAIMS, "default", claim({ volumeName: "pv" }, { annotations: BOUND })),
    "2 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
  ],
  [
    "a volume that no node reaches",
    async (lab) => {
      await lab.admin.create("persistentvolumes", undefined, volume("n3"));
      await lab.admin.create(CLAIMS, "default", claim({ volumeName: "pv" }, { annotations: BOUND }));
    },
    "2 node(s) had volume node affinity conflict",
  ],
];

describe("a pod with a claim", () => {
  for (const [title, prepare, message] of table) {
    test(`waits: ${title}`, async () => {
      await using lab = await open();
      await prepare(lab);
      await lab.addPod(POD);
      expect(await lab.whyNot("p")).toBe(`0/2 nodes are available: ${message}. ${NOT_HELPFUL}`);
    });
  }

  test("waits for the claim of an ephemeral volume", async () => {
    await using lab = await open();
    await lab.addPod(makePod("p", { volumes: [{ name: "data", ephemeral: {} }] }));
    expect(await lab.whyNot("p")).toContain(
      'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-data"',
    );
  });

  test("since v1.26 the message names the reason once", async () => {
    await using lab = await open("1.26");
    await lab.admin.create(CLAIMS, "default", claim());
    await lab.addPod(POD);
    expect(await lab.whyNot("p")).toBe(
      `0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. ${NOT_HELPFUL}`,
    );
  });

  test("goes to a node that reaches its volume, as soon as the claim is bound", async () => {
    await using lab = await open();
    await lab.admin.create("persistentvolumes", undefined, volume("n2"));
    await lab.admin.create(CLAIMS, "default", claim());
    await lab.addPod(POD);
    expect(await lab.nodeOf("p")).toBeUndefined();
    await lab.admin.modify(CLAIMS, "default", "data", () =>
      claim({ volumeName: "pv" }, { annotations: BOUND, namespace: "default" }),
    );
    await lab.pass(10_000);
    expect(await lab.nodeOf("p")).toBe("n2");
    expect(lab.errors()).toEqual([]);
  });
});
