import { describe, expect, test } from "vitest";
import { makeNode, makePod } from "./fixtures.js";
import { Lab } from "./lab.js";

const CLAIMS = "persistentvolumeclaims";
const NOT_HELPFUL = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
const POD = makePod("p", { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }] });
const SELECTED_NODE = "volume.kubernetes.io/selected-node";
const BOUND = { "pv.kubernetes.io/bind-completed": "yes" };

function claim(spec: object = {}, metadata: object = {}) {
  const all = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec };
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "data", ...metadata }, spec: all };
}

function volume(nodeName?: string) {
  const requirement = { key: "kubernetes.io/hostname", operator: "In", values: [nodeName] };
  const required = { nodeSelectorTerms: [{ matchExpressions: [requirement] }] };
  const all = { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/data" } };
  const spec = nodeName === undefined ? all : { ...all, nodeAffinity: { required } };
  return { apiVersion: "v1", kind: "PersistentVolume", metadata: { name: "pv" }, spec };
}

async function open(kubeVersion = "1.25"): Promise<Lab> {
  const lab = await Lab.open({ kubeVersion });
  for (const name of ["n1", "n2"]) await lab.addNode(makeNode(name));
  return lab;
}

function addClass(lab: Lab, provisioner: string) {
  const volumeBindingMode = "WaitForFirstConsumer";
  const storageClass = { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name: "local" } };
  return lab.admin.create("storageclasses.storage.k8s.io", undefined, {
    ...storageClass,
    provisioner,
    volumeBindingMode,
  });
}

/** As the controller that binds claims does. */
async function bindClaim(lab: Lab): Promise<void> {
  await lab.admin.modify(CLAIMS, "default", "data", (one) => ({
    ...one,
    metadata: { ...one.metadata, annotations: { ...one.metadata.annotations, ...BOUND } },
    spec: { ...(one["spec"] as object), volumeName: "pv" },
  }));
  await lab.pass();
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
      await addClass(lab, "kubernetes.io/no-provisioner");
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

  test("asks for a volume on the node, and the next pods do not wait for it", async () => {
    await using lab = await open();
    await addClass(lab, "example.com/folders");
    await lab.admin.create(CLAIMS, "default", claim({ storageClassName: "local" }));
    await lab.addPod(POD);
    await lab.addPod(makePod("other"));
    const asked = await lab.admin.get(CLAIMS, "default", "data");
    const node = asked?.metadata.annotations?.[SELECTED_NODE];
    expect(node).toMatch(/^n[12]$/);
    expect([await lab.nodeOf("p"), await lab.nodeOf("other")]).toEqual([undefined, expect.stringMatching(/^n[12]$/)]);
    await bindClaim(lab);
    expect(await lab.nodeOf("p")).toBe(node);
  });

  test("waits again when the provisioner gives its claim up", async () => {
    await using lab = await open();
    await addClass(lab, "example.com/folders");
    await lab.admin.create(CLAIMS, "default", claim({ storageClassName: "local" }));
    await lab.addPod(POD);
    await lab.admin.modify(CLAIMS, "default", "data", ({ metadata, ...rest }) => {
      const { [SELECTED_NODE]: _node, ...annotations } = metadata.annotations ?? {};
      return { ...rest, metadata: { ...metadata, annotations } } as typeof rest & { metadata: typeof metadata };
    });
    await lab.pass();
    expect(await lab.whyNot("p")).toBe(
      'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"',
    );
  });

  test("takes an available volume of the node, and two pods never get the same", async () => {
    await using lab = await open();
    await addClass(lab, "kubernetes.io/no-provisioner");
    const inClass = volume("n2");
    await lab.admin.create("persistentvolumes", undefined, {
      ...inClass,
      spec: { ...inClass.spec, storageClassName: "local" },
    });
    await lab.admin.modify(
      "persistentvolumes",
      undefined,
      "pv",
      (one) => ({ ...one, status: { phase: "Available" } }),
      "status",
    );
    for (const name of ["data", "more"]) {
      await lab.admin.create(CLAIMS, "default", claim({ storageClassName: "local" }, { name }));
    }
    await lab.addPod(POD);
    await lab.addPod(makePod("second", { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "more" } }] }));
    const taken = await lab.admin.get("persistentvolumes", undefined, "pv");
    expect((taken as { spec?: object })?.spec).toMatchObject({ claimRef: { name: "data" } });
    expect(await lab.whyNot("second")).toContain("2 node(s) didn't find available persistent volumes to bind");
    await bindClaim(lab);
    expect(await lab.nodeOf("p")).toBe("n2");
  });
});
