import assert from "node:assert/strict";
import { test } from "vitest";
import type { V1Pod } from "../../../src/apimachinery/api/pod.js";
import { parsePorts, resolvePorts } from "../../../src/client-go/portforward/ports.js";
import { LabError } from "../../../src/util/errors.js";

const POD: V1Pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web", namespace: "default", uid: "u1" },
  spec: {
    containers: [
      { name: "app", ports: [{ name: "http", containerPort: 80 }, { containerPort: 81 }] },
      { name: "side", ports: [{ name: "metrics", containerPort: 9090 }] },
    ],
  },
  status: { phase: "Running" },
};

const PORTS: readonly (readonly [text: string, want: readonly [local: number, remote: number] | RegExp])[] = [
  ["80", [80, 80]],
  ["8080:80", [8080, 80]],
  [":80", [0, 80]],
  ["0:80", [0, 80]],
  ["8080:http", [8080, 80]],
  ["http", [80, 80]],
  [":metrics", [0, 9090]],
  ["8080:nosuch", /the pod web has no port named nosuch: It has: http \(80\), metrics \(9090\)\./],
  ["0", /"0" is not a valid port argument/],
  ["8080:65536", /is not a valid port argument/],
  ["65536:80", /is not a valid port argument/],
  ["http:80", /is not a valid port argument/],
  ["8080:HTTP", /is not a valid port argument/],
  ["", /"" is not a valid port argument/],
  ["8080:", /is not a valid port argument/],
];

for (const [text, want] of PORTS) {
  test(`ports of port-forward: ${JSON.stringify(text)}`, () => {
    const read = () => resolvePorts(parsePorts([text]), POD);
    if (!(want instanceof RegExp)) return assert.deepEqual(read(), [{ local: want[0], remote: want[1] }]);
    assert.throws(read, (error) => error instanceof LabError && want.test(`${error.message}: ${error.hint}`));
  });
}
