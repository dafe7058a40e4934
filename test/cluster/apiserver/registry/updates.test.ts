import assert from "node:assert/strict";
import { describe, test } from "vitest";
import type { KubeObject, Status } from "../../../../src/staging/apimachinery/api/meta.js";
import { fields, items } from "../../../support/fields.js";
import { MISSING_RECORDINGS, recorded } from "../../../support/recordings.js";
import { openTableLab, refusalIfAny, type TableLab } from "./table-lab.js";

/** Updates that a real server refused: the same change must be refused here with the same message. */

type Change = (spec: Readonly<Record<string, unknown>>) => Record<string, unknown>;

/** `pods: update: x`: what the recorder changed in the pod's spec. */
const POD_CHANGES: readonly [item: string, change: Change][] = [
  ["update: container name may not", (spec) => ({ ...spec, containers: [{ ...first(spec.containers), name: "d" }] })],
  ["update: command may not", (spec) => ({ ...spec, containers: [{ ...first(spec.containers), command: ["x"] }] })],
  ["update: nodeName may not", (spec) => ({ ...spec, nodeName: "pd-2" })],
  ["update: restartPolicy may not", (spec) => ({ ...spec, restartPolicy: "Never" })],
  ["update: a toleration may not be removed", (spec) => ({ ...spec, tolerations: [] })],
  ["update: activeDeadlineSeconds may not grow", (spec) => ({ ...spec, activeDeadlineSeconds: 1000 })],
  [
    "update: a container may not be added",
    (spec) => ({ ...spec, containers: [...items(spec.containers), { name: "d", image: "x" }] }),
  ],
  ["update: terminationGracePeriodSeconds may not", (spec) => ({ ...spec, terminationGracePeriodSeconds: 5 })],
];

function first(list: unknown): Readonly<Record<string, unknown>> {
  return fields(items(list)[0]);
}

async function podLab(): Promise<{ lab: TableLab; pod: KubeObject }> {
  const lab = await openTableLab();
  const containers = [{ name: "c", image: "busybox:1.36" }];
  const tolerations = [{ key: "x", operator: "Exists" }];
  const spec = { nodeName: "pd-1", containers, activeDeadlineSeconds: 100, tolerations };
  const pod = await lab.create("pods", { apiVersion: "v1", kind: "Pod", metadata: { name: "min" }, spec });
  return { lab, pod };
}

/** Without the diff: ours shows whole lists, and this pod's service account volume has another name. */
function firstLines(status: Status | undefined): string[] {
  return [
    status?.message ?? "",
    ...(status?.details?.causes ?? []).map((one) => `${one.reason} ${one.field}: ${one.message}`),
  ].map((text) => text.split("\n")[0] ?? "");
}

describe.skipIf(MISSING_RECORDINGS !== undefined)("a pod's spec cannot change", () => {
  for (const [item, change] of POD_CHANGES) {
    test(item, async () => {
      const want = recorded("pods").find((one) => one.name === item)?.response.body as Status | undefined;
      const { lab, pod } = await podLab();
      const got = await refusalIfAny(lab.put("pods", "min", { ...pod, spec: change(fields(pod.spec)) }));
      assert.deepEqual(firstLines(got), firstLines(want));
    });
  }

  test("the diff of one changed field equals the real server's", async () => {
    const want = recorded("pods").find((one) => one.name === "update: nodeName may not")?.response.body as Status;
    const { lab, pod } = await podLab();
    const got = await refusalIfAny(lab.put("pods", "min", { ...pod, spec: { ...fields(pod.spec), nodeName: "pd-2" } }));
    assert.deepEqual(got, want);
  });
});

const ALLOWED: readonly [what: string, change: Change][] = [
  ["another image", (spec) => ({ ...spec, containers: [{ ...first(spec.containers), image: "busybox:1.37" }] })],
  [
    "one more toleration",
    (spec) => ({ ...spec, tolerations: [...items(spec.tolerations), { key: "a", operator: "Exists" }] }),
  ],
  ["a shorter deadline", (spec) => ({ ...spec, activeDeadlineSeconds: 10 })],
  ["nothing", (spec) => spec],
];

for (const [what, change] of ALLOWED) {
  test(`a pod can get ${what}`, async () => {
    const { lab, pod } = await podLab();
    assert.equal(await refusalIfAny(lab.put("pods", "min", { ...pod, spec: change(fields(pod.spec)) })), undefined);
  });
}

const MIRROR = "kubernetes.io/config.mirror";
const MIRROR_CHANGES: readonly [
  what: string,
  before: string | undefined,
  after: string | undefined,
  refusal: string,
][] = [
  ["added", undefined, "abc", "may not add mirror pod annotation"],
  ["changed", "abc", "abd", "may not remove or update mirror pod annotation"],
  ["removed", "abc", undefined, "may not remove or update mirror pod annotation"],
];

for (const [what, before, after, refusal] of MIRROR_CHANGES) {
  test(`the mirror annotation cannot be ${what}`, async () => {
    const lab = await openTableLab();
    const annotations = (value: string | undefined) =>
      value === undefined ? {} : { annotations: { [MIRROR]: value } };
    const body = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "m", ...annotations(before) },
      spec: { nodeName: "n", containers: [{ name: "c", image: "x" }] },
    };
    const { metadata, ...pod } = await lab.create("pods", body);
    const { annotations: _dropped, ...rest } = metadata;
    const got = await refusalIfAny(lab.put("pods", "m", { ...pod, metadata: { ...rest, ...annotations(after) } }));
    assert.equal(got?.message, `Pod "m" is invalid: metadata.annotations[${MIRROR}]: Forbidden: ${refusal}`);
  });
}

test("a status patch keeps spec and owners, makes podIPs follow podIP, and can set any phase", async () => {
  const { lab, pod } = await podLab();
  const changed = {
    ...pod,
    metadata: { ...pod.metadata, ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n", uid: "u" }] },
    spec: { ...fields(pod.spec), nodeName: "elsewhere" },
    status: { phase: "Dancing", podIP: "10.0.0.2", podIPs: [{ ip: "10.0.0.1" }] },
  };
  const written = await lab.put("pods", "min", changed, { subresource: "status" });
  assert.equal(written.metadata.ownerReferences, undefined);
  assert.deepEqual(written.spec, pod.spec);
  assert.deepEqual(written.status, { phase: "Dancing", podIP: "10.0.0.2", podIPs: [{ ip: "10.0.0.2" }] });
});

test("two addresses of one family are refused like by the real server", async () => {
  const { lab, pod } = await podLab();
  const status = { podIP: "10.244.9.10", podIPs: [{ ip: "10.244.9.10" }, { ip: "10.244.9.9" }] };
  const got = await refusalIfAny(lab.put("pods", "min", { ...pod, status }, { subresource: "status" }));
  const list = '[]core.PodIP{core.PodIP{IP:"10.244.9.10"}, core.PodIP{IP:"10.244.9.9"}}';
  const why = "may specify no more than one IP for each IP family";
  assert.equal(got?.message, `Pod "min" is invalid: status.podIPs: Invalid value: ${list}: ${why}`);
});

const NODE_CHANGES: readonly [what: string, change: Change, refusal: string][] = [
  [
    "another pod CIDR",
    (spec) => ({ ...spec, podCIDR: "10.9.0.0/24", podCIDRs: ["10.9.0.0/24"] }),
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
  ],
  [
    "another provider ID",
    (spec) => ({ ...spec, providerID: "other" }),
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
  ],
];

for (const [what, change, refusal] of NODE_CHANGES) {
  test(`a node cannot get ${what}`, async () => {
    const lab = await openTableLab();
    const spec = { podCIDR: "10.1.0.0/24", providerID: "one" };
    const node = await lab.create("nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "n" }, spec });
    assert.deepEqual(fields(node.spec).podCIDRs, ["10.1.0.0/24"]);
    const got = await refusalIfAny(lab.put("nodes", "n", { ...node, spec: change(fields(node.spec)) }));
    assert.equal(got?.message, `Node "n" is invalid: ${refusal}`);
  });
}

test("a POST keeps a node's status, a PUT does not, /status changes only the status", async () => {
  const lab = await openTableLab();
  const conditions = [{ type: "Ready", status: "True", lastHeartbeatTime: null, lastTransitionTime: null }];
  const statusOf = (node: KubeObject) => items(fields(node.status).conditions).map((one) => fields(one).status);
  const node = await lab.create("nodes", {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n" },
    status: { conditions },
  });
  assert.deepEqual(statusOf(node), ["True"]);
  const changed = {
    ...node,
    spec: { unschedulable: true },
    status: { conditions: [{ ...conditions[0], status: "False" }] },
  };
  const put = await lab.put("nodes", "n", changed);
  assert.deepEqual([statusOf(put), fields(put.spec).unschedulable], [["True"], true]);
  const status = { conditions: [{ ...conditions[0], status: "Unknown" }] };
  const patched = await lab.put("nodes", "n", { ...put, spec: {}, status }, { subresource: "status" });
  assert.deepEqual([statusOf(patched), fields(patched.spec).unschedulable], [["Unknown"], true]);
});
