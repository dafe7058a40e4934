import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { createActionHandlers } from "../../../../src/cluster/apiserver/registry/action-handlers.js";
import type { KubeObject, Status } from "../../../../src/staging/apimachinery/api/meta.js";
import { Trace } from "../../../../src/trace/trace.js";
import { fields, items } from "../../../support/fields.js";
import { MISSING_RECORDINGS, recorded } from "../../../support/recordings.js";
import { contextOf, openTableLab, refusal, type TableLab } from "./table-lab.js";

interface Call {
  readonly name?: string;
  readonly body?: unknown;
  readonly query?: string;
}

async function openActionLab() {
  const lab = await openTableLab();
  const tokens = {
    deps: { apiAudiences: ["https://kubernetes.default.svc"] },
    issue: async () => ({ token: "signed", expirationTimestamp: "2026-01-01T01:00:00Z" }),
  };
  const handlers = createActionHandlers({
    clock: lab.clock,
    trace: new Trace(lab.clock),
    kubeVersion: "1.25",
    tokens,
    admission: lab.admission,
    components: [],
  });
  const call = (key: string, { name, body, query = "" }: Call) => {
    const handler = handlers.get(key);
    assert.ok(handler, `no handler for ${key}`);
    return handler({
      context: contextOf(),
      registry: lab.registry,
      namespace: "default",
      name,
      body: body as KubeObject | undefined,
      query: new URLSearchParams(query),
    });
  };
  return { lab, call };
}

async function createPod(lab: TableLab, name: string, spec: Record<string, unknown> = {}): Promise<KubeObject> {
  const containers = [{ name: "c", image: "x" }];
  const body = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: "a" } },
    spec: { containers, ...spec },
  };
  return lab.create("pods", body);
}

function wanted(topic: string, name: string): Status {
  const item = recorded(topic).find((one) => one.name === name);
  assert.ok(item, `no item ${name}`);
  return item.response.body as Status;
}

const bindingTo = (name: string, nodeName: string, kind = "Node") => ({
  apiVersion: "v1",
  kind: "Binding",
  metadata: { name, annotations: { from: "binding" } },
  target: { apiVersion: "v1", kind, name: nodeName },
});

test("a binding sets the node, the condition and the annotations, once", async () => {
  const { lab, call } = await openActionLab();
  await createPod(lab, "b1");
  const answer = await call("POST pods/binding", { name: "b1", body: bindingTo("b1", "pd-1") });
  assert.deepEqual([answer.code, answer.body.status], [201, "Success"]);
  const pod = await lab.registry.store("pods").get("default", "b1");
  assert.equal(fields(pod.spec).nodeName, "pd-1");
  assert.deepEqual(pod.metadata.annotations, { from: "binding" });
  const condition = {
    type: "PodScheduled",
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  assert.deepEqual(items(fields(pod.status).conditions), [condition]);
  const again = await refusal(call("POST bindings", { body: bindingTo("b1", "pd-2") }));
  assert.equal(
    again.message,
    'Operation cannot be fulfilled on pods/binding "b1": pod b1 is already assigned to node "pd-1"',
  );
});

describe.skipIf(MISSING_RECORDINGS !== undefined)("refused like by the real server", () => {
  test("a binding to an object that is not a node", async () => {
    const { lab, call } = await openActionLab();
    await createPod(lab, "b3");
    const got = await refusal(call("POST pods/binding", { name: "b3", body: bindingTo("b3", "x", "Pod") }));
    assert.deepEqual(got, wanted("pods", "binding: target is no node"));
  });

  test("a token with too short a lifetime", async () => {
    const { call } = await openActionLab();
    const body = { metadata: {}, spec: { audiences: [], expirationSeconds: 60 } };
    const got = await refusal(call("POST serviceaccounts/token", { name: "default", body }));
    assert.deepEqual(got, wanted("auth", "admin: token valid for too short a time"));
  });
});

test("a token request returns a token bound to its pod; not to a pod of another account or uid", async () => {
  const { lab, call } = await openActionLab();
  const pod = await createPod(lab, "p", { nodeName: "n" });
  const request = (uid: string | undefined) => ({
    metadata: {},
    spec: { audiences: [], expirationSeconds: 3607, boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "p", uid } },
  });
  const { code, body } = await call("POST serviceaccounts/token", { name: "default", body: request(pod.metadata.uid) });
  assert.deepEqual([code, fields(body.status).token], [201, "signed"]);
  assert.deepEqual(fields((body as KubeObject).spec).audiences, ["https://kubernetes.default.svc"]);
  const wrong = await refusal(call("POST serviceaccounts/token", { name: "default", body: request("other") }));
  assert.equal(wrong.code, 409);
  await lab.create("serviceaccounts", { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "another" } });
  const another = await refusal(
    call("POST serviceaccounts/token", { name: "another", body: request(pod.metadata.uid) }),
  );
  assert.equal(another.code, 400);
});
