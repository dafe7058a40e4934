import assert from "node:assert/strict";
import { test } from "vitest";
import { TokenManager, type TokenWish } from "../../../src/kubelet/volumes/token-manager.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { FakeClock, FakeRandom } from "../../support/fake-clock.js";
import { type MemoryAnswer, MemoryClient } from "../../support/memory-client.js";
import { recordingTrace } from "../../support/trace.js";

const SIGNAL = new AbortController().signal;
const WISH: TokenWish = { audiences: [], expirationSeconds: 3600 };
const POD: V1Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "ns", uid: "u" },
  spec: { serviceAccountName: "robot", containers: [] },
  status: {},
};

function setUp(random = 0) {
  const clock = new FakeClock();
  let serial = 0;
  let refusal: MemoryAnswer | undefined;
  const client = new MemoryClient(({ body }) => {
    if (refusal !== undefined) return refusal;
    const { spec } = body as { spec: { expirationSeconds: number } };
    const expirationTimestamp = new Date(clock.now() + spec.expirationSeconds * 1000).toISOString();
    return { status: 201, body: { spec, status: { token: `secret-${++serial}`, expirationTimestamp } } };
  });
  const { trace, events } = recordingTrace(clock, true);
  const manager = new TokenManager({ client, clock, random: new FakeRandom(random), trace });
  const get = (wish = WISH) => manager.getServiceAccountToken(POD, wish, SIGNAL);
  return { clock, client, manager, events, get, refuse: (answer: MemoryAnswer | undefined) => (refusal = answer) };
}

test("tokens: requested with TokenRequest, bound to the pod; no trace contains one", async () => {
  const { client, get, events } = setUp();
  assert.deepEqual(await get({ audiences: ["vault"], expirationSeconds: 600 }), { outcome: "ok", token: "secret-1" });
  assert.deepEqual(client.requests, [
    {
      method: "POST",
      path: "/api/v1/namespaces/ns/serviceaccounts/robot/token",
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: {
          audiences: ["vault"],
          expirationSeconds: 600,
          boundObjectRef: { kind: "Pod", apiVersion: "v1", name: "p", uid: "u" },
        },
      },
    },
  ]);
  assert.equal(events.length, 1);
  assert.doesNotMatch(JSON.stringify(events), /secret-/);
});

const refreshes: readonly (readonly [number, number, number, string])[] = [
  // expirationSeconds, chance, age in s, what happens
  [3600, 0, 2879, "kept"],
  [3600, 0, 2881, "replaced"],
  [3600, 0.99, 2869, "kept"],
  [3600, 0.99, 2871, "replaced"],
  [200_000, 0, 86_399, "kept"],
  [200_000, 0, 86_401, "replaced"],
];
for (const [expirationSeconds, random, age, want] of refreshes) {
  test(`tokens: of ${expirationSeconds} s, ${age} s old (chance ${random}): ${want}`, async () => {
    const { clock, get, client } = setUp(random);
    await get({ audiences: [], expirationSeconds });
    await clock.advance(age * 1000);
    await get({ audiences: [], expirationSeconds });
    assert.equal(client.requests.length, want === "kept" ? 1 : 2);
  });
}

test("tokens: refused", async () => {
  const { get, refuse } = setUp();
  refuse({ status: 404, body: { kind: "Status", message: 'serviceaccounts "robot" not found' } });
  const message = 'failed to fetch token: serviceaccounts "robot" not found';
  assert.deepEqual(await get(), { outcome: "failed", message });
});

test("tokens: one that cannot be replaced is used until it is over", async () => {
  const { clock, get, refuse } = setUp();
  await get();
  refuse({ status: 500, body: "broken" });
  await clock.advance(3_000_000);
  assert.deepEqual(await get(), { outcome: "ok", token: "secret-1" });
  await clock.advance(601_000);
  const gone = await get();
  assert.deepEqual(gone, { outcome: "failed", message: "failed to fetch token: broken" });
});

test("tokens: a pod's are forgotten with it", async () => {
  const { manager, get } = setUp();
  await get();
  await get({ audiences: ["x"], expirationSeconds: 600 });
  assert.equal(manager.size, 2);
  manager.deleteServiceAccountToken("other");
  assert.equal(manager.size, 2);
  manager.deleteServiceAccountToken("u");
  assert.equal(manager.size, 0);
});
