import assert from "node:assert/strict";
import { afterAll, beforeAll, describe, test } from "vitest";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { StatusError } from "../../../../src/staging/apimachinery/errors.js";
import type { UserInfo } from "../../../../src/staging/server/authentication/user.js";
import { type AuthLab, bootstrapTokenSecret, startAuth, user } from "./fixtures.js";
import { type RecordedItem, recordedAuth } from "./recorded-auth.js";

const REVIEW_PATH = /^\/apis\/(authorization|authentication)\.k8s\.io\/v1\/(\w+reviews)$/;
const USERS: Readonly<Record<string, UserInfo>> = {
  admin: user("admin", "system:masters", "system:authenticated"),
  "bootstrap-token": user(
    "system:bootstrap:abcdef",
    "system:bootstrappers",
    "system:bootstrappers:kubeadm:default-node-token",
    "system:authenticated",
  ),
  "bootstrap token nogrps": user("system:bootstrap:nogrps", "system:bootstrappers", "system:authenticated"),
  "node:au-a": user("system:node:au-a", "system:nodes", "system:authenticated"),
};

let lab: AuthLab;
beforeAll(async () => {
  lab = await startAuth({ withKubeadmJoin: false });
  lab.registry.put("secrets", bootstrapTokenSecret("abcdef"));
});
afterAll(async () => {
  await lab.auth.close();
});

async function post(
  review: string,
  who: UserInfo,
  body: unknown,
  namespace?: string,
): Promise<{ status: number; body: unknown }> {
  const handler = lab.auth.handlers.get(`POST ${review}`) ?? assert.fail(`no handler for ${review}`);
  try {
    const { code, body: answer } = await handler({
      context: { user: who, warnings: [] },
      registry: lab.registry,
      namespace,
      name: undefined,
      body: body as KubeObject,
      query: new URLSearchParams(),
    });
    return { status: code, body: answer };
  } catch (error) {
    if (error instanceof StatusError) return { status: error.code, body: error.status };
    throw error;
  }
}

/** The form on the wire, without managedFields. */
function comparable(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, field) => (key === "managedFields" ? undefined : field)));
}

const isReviewed = ({ as, request, response }: RecordedItem) =>
  request.method === "POST" &&
  REVIEW_PATH.test(request.path) &&
  USERS[as] !== undefined &&
  request.headers["impersonate-user"] === undefined &&
  response.status !== 403 && // the authorizer refused it before the handler
  response.status !== 404; // SelfSubjectReview is not served by v1.25

const items = recordedAuth()?.filter(isReviewed);

describe.skipIf(items === undefined)("reviews as recorded (skipped where the recordings are missing)", () => {
  test("there are 24 of them", () => {
    assert.equal(items?.length, 24);
  });

  for (const { name, as, request, response } of items ?? []) {
    test(name, async () => {
      const [, group, resource] = REVIEW_PATH.exec(request.path) ?? [];
      const answer = await post(`${resource}.${group}.k8s.io`, USERS[as] ?? assert.fail(), request.body);
      const want = comparable({ status: response.status, body: response.body });
      assert.deepEqual(comparable(answer), want);
    });
  }
});

const access = (kind: string, spec: unknown, namespace?: string) => ({
  apiVersion: "authorization.k8s.io/v1",
  kind,
  metadata: namespace === undefined ? {} : { namespace },
  spec,
});
const inA = { namespace: "a", verb: "get", resource: "pods" };

describe("cases outside the recording", () => {
  const table = [
    // body namespace, path namespace, attributes, answer
    ["a", "a", { resourceAttributes: inA }, 201, ""],
    ["b", "a", { resourceAttributes: { ...inA, namespace: "b" } }, 400, "must match namespace: a"],
    [
      "a",
      "a",
      { resourceAttributes: { ...inA, namespace: "b" } },
      422,
      'Invalid value: "b": must match metadata.namespace',
    ],
    ["a", "a", { nonResourceAttributes: { path: "/x", verb: "get" } }, 422, "disallowed on this kind of request"],
  ] as const;
  for (const [inBody, inPath, attributes, status, message] of table) {
    test(`LocalSubjectAccessReview ${JSON.stringify(attributes)} in ${inBody} of ${inPath} answers ${status}`, async () => {
      const body = access("LocalSubjectAccessReview", { user: "x", ...attributes }, inBody);
      const answer = await post("localsubjectaccessreviews.authorization.k8s.io", user("admin"), body, inPath);
      assert.equal(answer.status, status);
      assert.ok(JSON.stringify(answer.body).replaceAll('\\"', '"').includes(message), JSON.stringify(answer.body));
    });
  }

  test("both kinds of attributes at once are refused", async () => {
    const spec = { resourceAttributes: inA, nonResourceAttributes: { path: "/x", verb: "get" } };
    const answer = await post(
      "selfsubjectaccessreviews.authorization.k8s.io",
      user("x"),
      access("SelfSubjectAccessReview", spec),
    );
    assert.equal(answer.status, 422);
    assert.match(JSON.stringify(answer.body), /cannot be specified in combination with resourceAttributes/);
  });

  test("SelfSubjectRulesReview needs a namespace, and reports that a node's list is incomplete", async () => {
    const body = access("SelfSubjectRulesReview", {});
    const resource = "selfsubjectrulesreviews.authorization.k8s.io";
    assert.equal((await post(resource, user("x"), body)).status, 400);
    const answer = await post(resource, user("system:node:n", "system:nodes"), access("", { namespace: "a" }));
    const { status } = answer.body as { status: Record<string, unknown> };
    assert.equal(status["incomplete"], true);
    assert.equal(status["evaluationError"], "node authorizer does not support user rule resolution");
  });

  test("SelfSubjectReview returns the user", async () => {
    const who: UserInfo = { username: "jane", uid: "u1", groups: ["g"], extra: { k: ["v"] } };
    const answer = await post("selfsubjectreviews.authentication.k8s.io", who, {
      apiVersion: "authentication.k8s.io/v1",
      kind: "SelfSubjectReview",
      metadata: {},
    });
    assert.deepEqual((answer.body as { status: unknown }).status, {
      userInfo: { username: "jane", uid: "u1", groups: ["g"], extra: { k: ["v"] } },
    });
  });
});
