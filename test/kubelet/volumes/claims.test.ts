import { expect, test } from "vitest";
import { createVolumeSpec } from "../../../src/kubelet/volumes/claims.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import type { KubeClient, KubeRequest } from "../../../src/staging/client-go/rest/client.js";

const SIGNAL = new AbortController().signal;
const POD = { metadata: { name: "p", namespace: "ns", uid: "u" }, spec: {} } as unknown as V1Pod;
const CLAIM_PATH = "/api/v1/namespaces/ns/persistentvolumeclaims/c";
const VOLUME_PATH = "/api/v1/persistentvolumes/pv";
const BOUND = { metadata: { uid: "c1" }, spec: { volumeName: "pv" }, status: { phase: "Bound" } };
const PV = { spec: { accessModes: ["ReadWriteOnce"], claimRef: { uid: "c1" }, hostPath: { path: "/data" } } };

/** A server with these objects; everything else is a 404. */
function serverWith(objects: Readonly<Record<string, object>>): Pick<KubeClient, "request"> {
  return {
    async request<T>({ path }: KubeRequest) {
      const body = objects[path];
      if (body !== undefined) return { status: 200, body: body as T, headers: {} };
      const message = `${path.split("/").slice(-2).join(" ")} not found`;
      return { status: 404, body: { kind: "Status", message } as T, headers: {} };
    },
  };
}

type Row = readonly [title: string, objects: Readonly<Record<string, object>>, result: unknown, volume?: object];

const rows: readonly Row[] = [
  ["a claim that is not there", {}, "failed to fetch PVC from API server: persistentvolumeclaims c not found"],
  ["one that is not bound", { [CLAIM_PATH]: { ...BOUND, status: { phase: "Pending" } } }, "PVC is not bound"],
  [
    "one that is being deleted",
    { [CLAIM_PATH]: { ...BOUND, metadata: { uid: "c1", deletionTimestamp: "2026-01-01T00:00:00Z" } } },
    "PVC is being deleted",
  ],
  [
    "a volume that is not there",
    { [CLAIM_PATH]: BOUND },
    'failed to get PV "pv" from API server: persistentvolumes pv not found',
  ],
  [
    "a volume of another claim",
    { [CLAIM_PATH]: BOUND, [VOLUME_PATH]: { spec: { ...PV.spec, claimRef: { uid: "c0" } } } },
    'found PV object "pv" but its pvc.UID is not that of the claim',
  ],
  [
    "a path of the node",
    { [CLAIM_PATH]: BOUND, [VOLUME_PATH]: PV },
    { name: "pv", source: { name: "data", hostPath: { path: "/data" } }, readOnly: false },
  ],
  [
    "a local volume that the pod only reads",
    { [CLAIM_PATH]: BOUND, [VOLUME_PATH]: { spec: { ...PV.spec, hostPath: undefined, local: { path: "/mnt/d" } } } },
    { name: "pv", source: { name: "data", local: { path: "/mnt/d" } }, readOnly: true },
    { persistentVolumeClaim: { claimName: "c", readOnly: true } },
  ],
];

for (const [title, objects, result, volume = { persistentVolumeClaim: { claimName: "c" } }] of rows) {
  test(`the volume of a claim: ${title}`, async () => {
    const spec = createVolumeSpec({ client: serverWith(objects) }, POD, { name: "data", ...volume }, SIGNAL);
    if (typeof result === "string") await expect(spec).rejects.toThrow(`error processing PVC ns/c: ${result}`);
    else expect(await spec).toEqual(result);
  });
}

test("the claim of an ephemeral volume must be its pod's", async () => {
  const path = "/api/v1/namespaces/ns/persistentvolumeclaims/p-data";
  const spec = createVolumeSpec(
    { client: serverWith({ [path]: BOUND }) },
    POD,
    { name: "data", ephemeral: {} },
    SIGNAL,
  );
  await expect(spec).rejects.toThrow("PVC ns/p-data was not created for pod ns/p (pod is not owner)");
});

test("a kubelet without an API server knows no claims", async () => {
  const volume = { name: "data", persistentVolumeClaim: { claimName: "c" } };
  await expect(createVolumeSpec({}, POD, volume, SIGNAL)).rejects.toThrow("this kubelet has no API server");
});
