import assert from "node:assert/strict";
import { test } from "vitest";
import { Face } from "../../../server/support.js";

const PODS = "/api/v1/namespaces/default/pods";

function pod(spec: object) {
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec };
}

const container = (more: object = {}) => ({ name: "c", image: "busybox:1.35", ...more });
const init = (more: object = {}) => ({ name: "i", image: "busybox:1.35", ...more });
const ALWAYS = { restartPolicy: "Always" };

async function create(kubeVersion: string, spec: object) {
  await using face = await Face.open({ kubeVersion });
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
  await face.ask("/api/v1/namespaces/default/serviceaccounts", { method: "POST", body: account });
  return await face.ask(PODS, { method: "POST", body: pod(spec) });
}

const kept = [
  ["1.25", undefined],
  ["1.28", undefined],
  ["1.29", "Always"],
  ["1.32", "Always"],
] as const;
for (const [kubeVersion, want] of kept) {
  test(`v${kubeVersion}: an init container's restartPolicy Always is stored as ${want}`, async () => {
    const { status, body } = await create(kubeVersion, { initContainers: [init(ALWAYS)], containers: [container()] });
    assert.equal(status, 201, body.message);
    assert.equal(body.spec.initContainers[0].restartPolicy, want);
  });
}

const refused = [
  [
    "of a container that is not an init container",
    { containers: [container(ALWAYS)] },
    /spec\.containers\[0\]\.restartPolicy: Forbidden: may not be set for non-init containers/,
  ],
  [
    "of another value",
    { initContainers: [init({ restartPolicy: "Never" })], containers: [container()] },
    /spec\.initContainers\[0\]\.restartPolicy: Unsupported value: "Never": supported values: "Always"/,
  ],
] as const;
for (const [name, spec, want] of refused) {
  test(`v1.29 refuses a restartPolicy ${name}`, async () => {
    const { status, body } = await create("1.29", spec);
    assert.equal(status, 422);
    assert.match(body.message, want);
  });
}

const exec = { exec: { command: ["true"] } };
const watched = { startupProbe: exec, readinessProbe: exec, livenessProbe: exec, lifecycle: { preStop: exec } };

test("a sidecar can have probes and hooks, in releases with sidecars", async () => {
  const spec = { initContainers: [init({ ...ALWAYS, ...watched })], containers: [container()] };
  const { status, body } = await create("1.29", spec);
  assert.equal(status, 201, body.message);
  assert.equal(body.spec.initContainers[0].startupProbe.periodSeconds, 10);
  assert.equal((await create("1.25", spec)).status, 422);
});

test("a sidecar's probes are checked like a container's", async () => {
  const startupProbe = { ...exec, periodSeconds: -1 };
  const spec = { initContainers: [init({ ...ALWAYS, startupProbe })], containers: [container()] };
  const { status, body } = await create("1.29", spec);
  assert.equal(status, 422);
  assert.match(body.message, /spec\.initContainers\[0\]\.startupProbe\.periodSeconds: Invalid value: -1/);
});

test("an ordinary init container cannot have them", async () => {
  const { status, body } = await create("1.29", { initContainers: [init(watched)], containers: [container()] });
  assert.equal(status, 422);
  for (const field of Object.keys(watched)) {
    assert.match(
      body.message,
      new RegExp(`spec\\.initContainers\\[0\\]\\.${field}: Forbidden: may not be set for init containers`),
    );
  }
});

for (const [name, more, want] of [
  ["a finished sidecar restarts", ALWAYS, 200],
  ["a finished init container does not restart", {}, 422],
] as const) {
  test(`v1.29: in a pod that never restarts ${name}`, async () => {
    await using face = await Face.open({ kubeVersion: "1.29" });
    const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
    await face.ask("/api/v1/namespaces/default/serviceaccounts", { method: "POST", body: account });
    const spec = { restartPolicy: "Never", initContainers: [init(more)], containers: [container()] };
    const { body: created } = await face.ask(PODS, { method: "POST", body: pod(spec) });
    const put = (state: object) => {
      const one = { name: "i", image: "", imageID: "", ready: false, restartCount: 0, state };
      const body = { ...created, metadata: { name: "p" }, status: { initContainerStatuses: [one] } };
      return face.ask(`${PODS}/p/status`, { method: "PUT", body });
    };
    assert.equal((await put({ terminated: { exitCode: 1 } })).status, 200);
    assert.equal((await put({ running: {} })).status, want);
  });
}
