import assert from "node:assert/strict";
import { test } from "vitest";
import { checkBody } from "../../../../src/staging/client-go/rest/api-object.js";

const NODES = "/api/v1/nodes";
const metadata = {};

const table: readonly (readonly [path: string, body: unknown, isRight: boolean])[] = [
  [NODES, "{{{{", false],
  [NODES, null, false],
  [NODES, [], false],
  [NODES, {}, false],
  [NODES, { kind: 5, metadata }, false],
  [NODES, { kind: "NodeList", metadata, items: {} }, false],
  [NODES, { kind: "NodeList", metadata, items: [null] }, false],
  [NODES, { kind: "NodeList", metadata, items: [{}] }, false],
  [NODES, { kind: "NodeList", metadata, items: null }, true],
  [NODES, { kind: "NodeList", metadata, items: [{ metadata }] }, true],
  [`${NODES}/n1`, { kind: "Node" }, false],
  [`${NODES}/n1`, { kind: "Node", metadata }, true],
  [`${NODES}/n1`, { kind: "Status", status: "Success" }, true],
  ["/apis/authorization.k8s.io/v1/subjectaccessreviews", { kind: "SubjectAccessReview", status: {} }, true],
  ["/apis", { kind: "APIGroupList", groups: [] }, true],
  ["/api/v1/namespaces/default/pods/p/log", "a line", true],
  ["/api/v1/nodes/n1/proxy/metrics", "a 1", true],
  ["/version", null, false],
  ["/version", { gitVersion: "v1.25.0" }, true],
  ["/healthz", "ok", true],
];

for (const [path, body, isRight] of table) {
  test(`a 200 for ${path} with ${JSON.stringify(body)} is ${isRight ? "used" : "refused"}`, () => {
    const check = (status: number) => checkBody({ method: "GET", path }, { status, headers: {}, body });
    if (isRight) check(200);
    else
      assert.throws(() => check(200), {
        code: "CLUSTER_NOT_TRUSTED",
        message: `the response to GET ${path} is not an API object`,
      });
    check(404);
  });
}
