import { describe, expect, test } from "vitest";
import { MirrorClient } from "../../../src/kubelet/pod/mirror-client.js";
import { CONFIG_HASH_ANNOTATION } from "../../../src/kubelet/types/pod-update.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { MIRROR_POD_ANNOTATION } from "../../../src/staging/apimachinery/corev1/pod-references.js";
import { LabError } from "../../../src/util/errors.js";
import { FakeClock } from "../../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../../support/memory-client.js";
import { only, recordingTrace } from "../../support/trace.js";
import { makePod } from "../podworkers/pods.js";

const POD = makePod("s-n1", {
  uid: "static",
  source: "file",
  metadata: { annotations: { [CONFIG_HASH_ANNOTATION]: "h" } },
});
const mirror = (metadata: Partial<V1Pod["metadata"]> = {}, hash = "h") =>
  makePod("s-n1", { uid: "mirror", metadata: { ...metadata, annotations: { [MIRROR_POD_ANNOTATION]: hash } } });
const { signal } = new AbortController();
const NODE = { status: 200, body: { kind: "Node", metadata: { name: "n1", uid: "node-uid" } } };

function start(answers: Partial<Record<"GET" | "POST" | "DELETE", MemoryAnswer | Error>> = {}) {
  const client = new MemoryClient(
    ({ method }) => answers[method as "GET"] ?? (method === "GET" ? NODE : { status: 200, body: {} }),
  );
  const { trace, events } = recordingTrace(new FakeClock());
  return { client, facts: events, mirrors: new MirrorClient({ client, trace }, "n1") };
}

const GET_NODE = "GET /api/v1/nodes/n1";
const POST = "POST /api/v1/namespaces/default/pods";
const DELETE = "DELETE /api/v1/namespaces/default/pods/s-n1";

describe("reconcile", () => {
  const table: [string, V1Pod | undefined, string, string[]][] = [
    ["there is none", undefined, "created", [GET_NODE, POST]],
    ["it is right", mirror(), "unchanged", []],
    ["the static pod has changed", mirror({}, "old"), "created", [DELETE, GET_NODE, POST]],
    ["somebody deletes it", mirror({ deletionTimestamp: "2026-01-01T00:00:00Z" }), "created", [DELETE, GET_NODE, POST]],
  ];
  for (const [what, existing, want, lines] of table) {
    test(`${what}: ${want}`, async () => {
      const { client, mirrors } = start();
      expect(await mirrors.reconcile(POD, existing, signal)).toEqual({ type: want });
      expect(client.lines).toEqual(lines);
    });
  }

  test("each decision gives its reason", async () => {
    const { mirrors, facts } = start();
    const whys = () => only(facts.splice(0), "decision").map(({ what, why }) => `${what.split(" ")[0]}: ${why}`);
    const created = "create: of the static pod with hash h";
    await mirrors.reconcile(POD, undefined, signal);
    expect(whys()).toEqual([`${created}: there is none yet`]);
    await mirrors.reconcile(POD, undefined, signal);
    expect(whys()).toEqual([`${created}: the previous one was deleted`]);
    await mirrors.reconcile(POD, mirror({}, "old"), signal);
    const changed = "its static pod has changed: the mirror pod shows hash old, the static pod has h";
    const again = `${created}: the previous one was deleted to replace it`;
    expect(whys()).toEqual([`replace: ${changed}`, `delete: ${changed}`, again]);
    await mirrors.reconcile(POD, mirror({ deletionTimestamp: "2026-01-01T00:00:00Z" }), signal);
    const deleting = "it is being deleted, and its static pod still runs";
    expect(whys()).toEqual([`replace: ${deleting}`, `delete: ${deleting}`, again]);
    await mirrors.deleteMirrorPod("s-n1_default", undefined, "its static pod is gone from all sources", signal);
    expect(whys()).toEqual(["delete: its static pod is gone from all sources"]);
    // After its end the next one of the name is a first one.
    await mirrors.reconcile(POD, undefined, signal);
    expect(whys()).toEqual([`${created}: there is none yet`]);
  });

  test("the old one is deleted at once, and only that one", async () => {
    const { client, mirrors } = start();
    await mirrors.reconcile(POD, mirror({}, "old"), signal);
    expect(client.requests[0]?.body).toEqual({ gracePeriodSeconds: 0, preconditions: { uid: "mirror" } });
  });

  test("another pod has its name (409), or none does (404): nothing is created before a watch event", async () => {
    for (const status of [409, 404]) {
      const { client, mirrors } = start({ DELETE: { status, body: {} } });
      expect(await mirrors.reconcile(POD, mirror({}, "old"), signal)).toEqual({ type: "unchanged" });
      expect(client.lines).toEqual([DELETE]);
    }
  });
});

describe("createMirrorPod", () => {
  test("carries the hash and belongs to the node", async () => {
    const { client, mirrors } = start();
    await mirrors.createMirrorPod(POD, "there is none yet", signal);
    expect(client.requests[1]?.body).toMatchObject({
      kind: "Pod",
      metadata: {
        name: "s-n1",
        annotations: { [MIRROR_POD_ANNOTATION]: "h", [CONFIG_HASH_ANNOTATION]: "h" },
        ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "n1", uid: "node-uid", controller: true }],
      },
      spec: POD.spec,
    });
  });

  const failures: [string, Parameters<typeof start>[0], string][] = [
    ["the node is not there", { GET: { status: 404, body: {} } }, "the node n1 cannot be read"],
    [
      "the node is being removed",
      { GET: { status: 200, body: { metadata: { uid: "u", deletionTimestamp: "2026-01-01T00:00:00Z" } } } },
      "is being removed",
    ],
    [
      "a pod of that name is there",
      { POST: { status: 409, body: { kind: "Status", reason: "AlreadyExists" } } },
      "AlreadyExists",
    ],
    ["the API server is gone", { GET: new LabError("CLUSTER_UNREACHABLE", "connection refused", "") }, "refused"],
  ];
  for (const [what, answers, why] of failures) {
    test(`${what}: a failure is reported, not thrown`, async () => {
      const { client, mirrors, facts } = start(answers);
      expect(await mirrors.createMirrorPod(POD, "there is none yet", signal)).toMatchObject({
        type: "failed",
        why: expect.stringContaining(why),
      });
      // An existing pod is not an error: it may be the mirror pod from before a restart.
      const decisions = only(facts, "decision").map(({ what }) => what.split(" ", 1)[0]);
      const isThere = why === "AlreadyExists";
      const isAsked = client.requests.some(({ method }) => method === "POST");
      expect(decisions).toEqual([...(isAsked ? ["create"] : []), ...(isThere ? ["leave"] : [])]);
      expect(only(facts, "error")).toHaveLength(isThere ? 0 : 1);
    });
  }
});

describe("deleteMirrorPod", () => {
  test("of an orphan any uid will do", async () => {
    const { client, mirrors } = start();
    expect(await mirrors.deleteMirrorPod("s-n1_default", undefined, "it is an orphan", signal)).toEqual({
      type: "deleted",
    });
    expect(client.requests[0]?.body).toEqual({ gracePeriodSeconds: 0 });
  });
  for (const name of ["", "s", "_default", "s_", "a_b_c"]) {
    test(`${JSON.stringify(name)} is not a full name`, async () => {
      const { client, mirrors } = start();
      expect(await mirrors.deleteMirrorPod(name, undefined, "it is an orphan", signal)).toMatchObject({
        type: "failed",
      });
      expect(client.lines).toEqual([]);
    });
  }
});
