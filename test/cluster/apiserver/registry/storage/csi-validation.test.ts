import { expect, test } from "vitest";
import { openTableLab, refusal, refusalIfAny } from "../table-lab.js";

const SOURCE = { persistentVolumeName: "v" };
const LONG = "a".repeat(257);
const ONE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const storage = (kind: string, fields: object) => ({
  apiVersion: "storage.k8s.io/v1",
  kind,
  metadata: { name: "x" },
  ...fields,
});
const attachment = (spec: object) => storage("VolumeAttachment", { spec: { attacher: "d", nodeName: "n", ...spec } });
const driver = (spec: object) => storage("CSIDriver", { spec });
const node = (...drivers: object[]) => storage("CSINode", { spec: { drivers } });
const capacity = (fields: object) => storage("CSIStorageCapacity", { storageClassName: "c", ...fields });

const VALID: readonly [resource: string, body: object][] = [
  ["volumeattachments", attachment({ source: SOURCE })],
  [
    "csidrivers",
    driver({ fsGroupPolicy: "File", tokenRequests: [{ audience: "" }], volumeLifecycleModes: ["Ephemeral"] }),
  ],
  ["csinodes", node({ name: "d", nodeID: "1", topologyKeys: ["zone"] })],
  ["csistoragecapacities", capacity({ capacity: "1Gi" })],
];

test.each(VALID)("valid %s", async (resource, body) => {
  expect(await refusalIfAny((await openTableLab()).create(resource, body))).toBeUndefined();
});

const INVALID: readonly [resource: string, body: object, problem: string][] = [
  ["volumeattachments", attachment({ source: {} }), `spec.source: Required value: ${ONE}`],
  ["volumeattachments", attachment({ source: { ...SOURCE, inlineVolumeSpec: {} } }), `spec.source: Forbidden: ${ONE}`],
  [
    "volumeattachments",
    attachment({ source: SOURCE, nodeName: "N" }),
    `spec.nodeName: Invalid value: "N": ${SUBDOMAIN}`,
  ],
  [
    "csidrivers",
    driver({ fsGroupPolicy: "All" }),
    'spec.fsGroupPolicy: Unsupported value: "All": supported values: "File", "None", "ReadWriteOnceWithFSType"',
  ],
  [
    "csidrivers",
    driver({ tokenRequests: [{ audience: "a" }, { audience: "a" }] }),
    'spec.tokenRequests[1].audience: Duplicate value: "a"',
  ],
  [
    "csidrivers",
    driver({ tokenRequests: [{ audience: "a", expirationSeconds: 1 }] }),
    "spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes",
  ],
  ["csinodes", node({ name: "d", nodeID: "" }), "spec.drivers[0].nodeID: Required value"],
  [
    "csinodes",
    node({ name: "d", nodeID: "1" }, { name: "d", nodeID: "2" }),
    'spec.drivers[1].name: Duplicate value: "d"',
  ],
  [
    "csinodes",
    node({ name: "d", nodeID: LONG }),
    `spec.drivers[0].nodeID: Invalid value: "${LONG}": must be 256 characters or less`,
  ],
  [
    "csistoragecapacities",
    capacity({ capacity: "-1" }),
    'capacity: Invalid value: "-1": must be greater than or equal to 0',
  ],
];

test.each(INVALID)("invalid %s %#", async (resource, body, problem) => {
  const status = await refusal((await openTableLab()).create(resource, body));
  expect(status.message?.replace(/^[^ ]+ "x" is invalid: /, "")).toBe(problem);
});

test("the spec of a VolumeAttachment stays", async () => {
  const lab = await openTableLab();
  const created = await lab.create("volumeattachments", attachment({ source: SOURCE }));
  const changed = { ...created, spec: { attacher: "e", nodeName: "n", source: SOURCE } };
  expect((await refusal(lab.put("volumeattachments", "x", changed))).message).toMatch(/field is immutable$/);
});

test("a PodTemplate needs a container's name", async () => {
  const template = { spec: { containers: [{ image: "x" }], restartPolicy: "Always", dnsPolicy: "ClusterFirst" } };
  const body = { apiVersion: "v1", kind: "PodTemplate", metadata: { name: "x" }, template };
  expect((await refusal((await openTableLab()).create("podtemplates", body))).message).toContain(
    "template.spec.containers[0].name: Required value",
  );
});
