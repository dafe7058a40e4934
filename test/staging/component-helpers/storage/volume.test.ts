import { describe, expect, test } from "vitest";
import {
  boundToClaim,
  type Claim,
  defaultClassOf,
  findMatchingVolume,
  type StorageClass,
  type Volume,
  whyUnsatisfied,
} from "../../../../src/staging/component-helpers/storage/volume.js";

const NODE = { metadata: { name: "n1", labels: { "kubernetes.io/hostname": "n1" } } };

function claim(spec: object = {}): Claim {
  const requests = { storage: "2Gi" };
  const all = { accessModes: ["ReadWriteOnce"], resources: { requests }, storageClassName: "manual", ...spec };
  const metadata = { name: "data", namespace: "default", uid: "u1", resourceVersion: "7" };
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata, spec: all } as Claim;
}

function volume(name: string, size: string, spec: object = {}, phase = "Available", labels = {}): Volume {
  const all = { capacity: { storage: size }, accessModes: ["ReadWriteOnce"], storageClassName: "manual", ...spec };
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name, labels },
    spec: all,
    status: { phase },
  } as Volume;
}

const onNode = (name: string) => {
  const term = { matchExpressions: [{ key: "kubernetes.io/hostname", operator: "In", values: [name] }] };
  return { nodeAffinity: { required: { nodeSelectorTerms: [term] } } };
};
const ref = (name: string, uid?: string) => ({ claimRef: { name, namespace: "default", uid } });
const MANY = { accessModes: ["ReadWriteOnce", "ReadWriteMany"] };

type Row = readonly [
  title: string,
  volumes: readonly Volume[],
  found: string | undefined,
  search?: object,
  spec?: object,
];

const rows: readonly Row[] = [
  ["the smallest that is large enough", [volume("a", "10Gi"), volume("b", "1Gi"), volume("c", "3Gi")], "c"],
  ["the one with fewer access modes, though it is larger", [volume("a", "2Gi", MANY), volume("b", "9Gi")], "b"],
  ["none of another class", [volume("a", "2Gi", { storageClassName: "fast" })], undefined],
  ["none of another volume mode", [volume("a", "2Gi", { volumeMode: "Block" })], undefined],
  ["none that is not available", [volume("a", "2Gi", {}, "Released"), volume("b", "2Gi", {}, "Pending")], undefined],
  ["none without the access mode", [volume("a", "2Gi")], undefined, {}, { accessModes: ["ReadWriteMany"] }],
  ["the one that names the claim", [volume("a", "2Gi"), volume("b", "9Gi", ref("data"))], "b"],
  ["none that names another claim", [volume("a", "2Gi", ref("other"))], undefined],
  ["none that names an earlier claim of the name", [volume("a", "2Gi", ref("data", "u0"))], undefined],
  ["none without a node while the class waits for a pod", [volume("a", "2Gi")], undefined, { delayBinding: true }],
  ["but the one that names the claim", [volume("a", "2Gi", ref("data"))], "a", { delayBinding: true }],
  [
    "the one that the node reaches",
    [volume("a", "2Gi", onNode("n2")), volume("b", "9Gi", onNode("n1"))],
    "b",
    { node: NODE },
  ],
  ["none that another pod has got", [volume("a", "2Gi")], undefined, { node: NODE, excluded: new Set(["a"]) }],
  [
    "the one with the labels",
    [volume("a", "2Gi"), volume("b", "9Gi", {}, "Available", { disk: "ssd" })],
    "b",
    {},
    { selector: { matchLabels: { disk: "ssd" } } },
  ],
];

describe("the volume for a claim", () => {
  for (const [title, volumes, found, search = {}, spec = {}] of rows) {
    test(title, () => {
      const best = findMatchingVolume(claim(spec), volumes, { delayBinding: false, ...search });
      expect(best?.metadata.name).toBe(found);
    });
  }
});

const refused: readonly (readonly [Volume, string | undefined])[] = [
  [volume("a", "1Gi"), "requested PV is too small"],
  [volume("a", "2Gi", { storageClassName: "fast" }), "storageClassName does not match"],
  [volume("a", "2Gi", { volumeMode: "Block" }), "incompatible volumeMode"],
  [volume("a", "2Gi", { accessModes: ["ReadOnlyMany"] }), "incompatible accessMode"],
  [volume("a", "2Gi"), undefined],
];

test("a chosen volume that cannot serve the claim", () => {
  for (const [one, why] of refused) expect(whyUnsatisfied(one, claim())).toBe(why);
});

test("a volume names its claim; one that its user bound keeps no mark of the controller", () => {
  const bound = boundToClaim(volume("a", "2Gi"), claim());
  expect(bound.spec?.claimRef).toMatchObject({ name: "data", namespace: "default", uid: "u1" });
  expect(bound.metadata.annotations).toEqual({ "pv.kubernetes.io/bound-by-controller": "yes" });
  expect(boundToClaim(bound, claim())).toBe(bound);
  expect(boundToClaim(volume("a", "2Gi", ref("data")), claim()).metadata.annotations).toBeUndefined();
});

test("of several default classes the newest counts", () => {
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  const made = (name: string, creationTimestamp: string, rest = { annotations }) =>
    ({ metadata: { name, creationTimestamp, ...rest }, provisioner: "p" }) as unknown as StorageClass;
  const classes = [made("old", "2026-01-01T00:00:00Z"), made("new", "2026-02-01T00:00:00Z")];
  const other = made("other", "2026-03-01T00:00:00Z", { annotations: {} as typeof annotations });
  expect(defaultClassOf([...classes, other])?.metadata.name).toBe("new");
  expect(defaultClassOf([other])).toBeUndefined();
});
