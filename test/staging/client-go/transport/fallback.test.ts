import assert from "node:assert/strict";
import { test } from "vitest";
import { backendProblem } from "../../../../src/staging/client-go/transport/fallback.js";

const table = [
  [
    '500 Get "https://n:10250/x": remote error: tls: handshake failure',
    "CLUSTER_UNREACHABLE",
    /CSR for .*kubelet-serving/,
  ],
  ["500 error dialing backend: remote error: tls: internal error", "CLUSTER_UNREACHABLE", /CSR for .*kubelet-serving/],
  ["500 x509: certificate signed by unknown authority", "CLUSTER_NOT_TRUSTED", /does not trust/],
  ["500 error dialing backend: dial tcp 10.0.0.1:10250: connection refused", "CLUSTER_UNREACHABLE", /does it run\?/],
  ["500 etcdserver: request timed out", undefined, /^$/],
] as const;
for (const [message, code, hint] of table) {
  test(`what to do about: ${message}`, () => {
    const problem = backendProblem("the log", message);
    assert.equal(problem?.code, code);
    assert.match(problem?.hint ?? "", hint);
  });
}
