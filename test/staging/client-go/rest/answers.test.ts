import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { refusal } from "../../../../src/staging/client-go/rest/answers.js";

const status = (code: number, message: string) => ({ kind: "Status", apiVersion: "v1", metadata: {}, code, message });

describe("the hint of a refusal", () => {
  const table: readonly [string, number, unknown, RegExp][] = [
    [
      "a missing right",
      403,
      status(403, 'pods is forbidden: User "jane" cannot list resource "pods" in API group ""'),
      /kubectl auth can-i/,
    ],
    ["a path", 403, status(403, 'forbidden: User "jane" cannot get path "/metrics"'), /kubectl auth can-i/],
    [
      "CertificateSubjectRestriction",
      403,
      status(403, "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"),
      /by admission/,
    ],
    [
      "NodeRestriction",
      403,
      status(403, 'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"'),
      /by admission/,
    ],
    ["a 404 of another server", 404, "404 page not found", /check the server's address/],
    ["a 404 of an API server", 404, status(404, 'pods "p" not found'), /-v 4 shows what was sent/],
  ];
  for (const [what, code, body, hint] of table) {
    test(`${what}: ${hint.source}`, () => {
      const error = refusal({ status: code, headers: {}, body }, "GET /x", "certificate jane");
      assert.match(error.hint, hint);
    });
  }
});
