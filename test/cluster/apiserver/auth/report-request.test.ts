import assert from "node:assert/strict";
import { test } from "vitest";
import { reportRequest } from "../../../../src/cluster/apiserver/auth/report-request.js";
import { createRegistry } from "../../../../src/cluster/apiserver/registry/generic/create-registry.js";
import { resourcesFor } from "../../../../src/cluster/apiserver/registry/table.js";
import { MemoryStorage } from "../../../../src/cluster/apiserver/storage/memory.js";
import { statusError } from "../../../../src/staging/apimachinery/errors.js";
import { FakeClock, FakeRandom } from "../../../support/fake-clock.js";
import { only, recordingTrace } from "../../../support/trace.js";

const clock = new FakeClock();
const kubeVersion = "1.25";
const storage = new MemoryStorage({ clock });
const registry = createRegistry({
  storage,
  clock,
  random: new FakeRandom(),
  trace: recordingTrace(clock).trace,
  admission: [],
  kubeVersion,
  definitions: resourcesFor(kubeVersion),
});
const USER = { username: "system:serviceaccount:kube-system:replicaset-controller", groups: [] };
const POD = { metadata: { uid: "u", resourceVersion: "7" } };
const pods = { resource: "pods", namespace: "default" } as const;

type Write = Parameters<typeof reportRequest>[2];

const table: readonly (readonly [string, Write, () => unknown, string])[] = [
  ["a creation", { verb: "create", ...pods }, () => POD, "POST /api/v1/namespaces/default/pods 201 u@7"],
  ["a change", { verb: "update", ...pods, name: "a" }, () => POD, "PUT /api/v1/namespaces/default/pods/a 200 u@7"],
  [
    "a part of an object in a group",
    { verb: "update", resource: "deployments.apps", namespace: "default", name: "web", subresource: "status" },
    () => POD,
    "PUT /apis/apps/v1/namespaces/default/deployments/web/status 200 u@7",
  ],
  [
    "an object without namespace",
    { verb: "delete", resource: "nodes", namespace: undefined, name: "n1" },
    () => true,
    "DELETE /api/v1/nodes/n1 200",
  ],
  [
    "it is gone already",
    { verb: "delete", ...pods, name: "a" },
    () => false,
    "DELETE /api/v1/namespaces/default/pods/a 404 NotFound",
  ],
  [
    "gone before the change",
    { verb: "update", ...pods, name: "a" },
    () => undefined,
    "PUT /api/v1/namespaces/default/pods/a 404 NotFound",
  ],
  [
    "a refusal",
    { verb: "create", ...pods },
    () => {
      throw statusError(409, "AlreadyExists", 'pods "a" already exists', {});
    },
    'POST /api/v1/namespaces/default/pods 409 AlreadyExists: pods "a" already exists',
  ],
  [
    "a defect",
    { verb: "create", ...pods },
    () => {
      throw new Error("boom");
    },
    "POST /api/v1/namespaces/default/pods boom",
  ],
];
for (const [name, request, act, want] of table) {
  test(`${name}: ${want}`, async () => {
    const { trace, events } = recordingTrace(clock);
    await reportRequest({ registry, trace }, USER, request, async () => act()).catch(() => undefined);
    const seen = only(events, "request").map(({ method, path, status, version, outcome, failure }) =>
      [method, path, status, version ?? outcome ?? failure].filter((one) => one !== undefined).join(" "),
    );
    assert.deepEqual(seen, [want]);
  });
}

test("a change that changes nothing is no request", async () => {
  const { trace, events } = recordingTrace(clock);
  await reportRequest({ registry, trace }, USER, { verb: "update", ...pods, name: "a" }, async (skip) => {
    skip(true);
    return POD;
  });
  assert.deepEqual(events, []);
});

test("a trace with bodies has the object that was written, without secrets, as of a request over a network", async () => {
  const { trace, events } = recordingTrace(clock, true);
  const secret = { kind: "Secret", ...POD, data: { password: "aHVudGVyMg==" } };
  const write: Write = { verb: "create", resource: "secrets", namespace: "default" };
  await reportRequest({ registry, trace }, USER, write, async () => secret);
  const [body] = only(events, "request").map(({ responseBody }) => JSON.stringify(responseBody));
  assert.match(body ?? "", /"resourceVersion":"7"/);
  assert.doesNotMatch(body ?? "", /aHVudGVyMg/);
});
