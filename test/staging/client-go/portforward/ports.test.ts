import assert from "node:assert/strict";
import { test } from "vitest";
import type { V1Pod } from "../../../../src/staging/apimachinery/api/pod.js";
import { parsePorts, resolvePorts, resolveServicePorts } from "../../../../src/staging/client-go/portforward/ports.js";
import { LabError } from "../../../../src/util/errors.js";

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

const SERVICE = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "front" },
  spec: {
    clusterIP: "10.96.0.7",
    ports: [
      { name: "web", port: 8000, targetPort: "http" },
      { name: "raw", port: 8001, targetPort: 81 },
      { name: "same", port: 8002 },
      { name: "lost", port: 8003, targetPort: "nosuch" },
      { name: "dns", port: 53, protocol: "UDP" },
      { name: "both-udp", port: 54, protocol: "UDP" },
      { name: "both", port: 54, targetPort: 81 },
    ],
  },
};
const HEADLESS = { ...SERVICE, spec: { ...SERVICE.spec, clusterIP: "None" } };

const SERVICE_PORTS: readonly (readonly [
  text: string,
  service: typeof SERVICE,
  want: readonly [number, number] | RegExp,
])[] = [
  ["8000", SERVICE, [8000, 80]],
  ["9000:8001", SERVICE, [9000, 81]],
  ["web", SERVICE, [8000, 80]],
  [":raw", SERVICE, [0, 81]],
  ["8002", SERVICE, [8002, 8002]],
  ["54", SERVICE, [54, 81]],
  ["8001", HEADLESS, [8001, 8001]],
  ["80", SERVICE, /the service front does not have a service port 80: It has: web \(8000\), raw/],
  ["http", SERVICE, /the service front does not have a named port http/],
  ["8003", SERVICE, /the pod web has no port named nosuch, to which port 8003 of the service leads/],
  ["53", SERVICE, /UDP protocol is not supported for 53/],
];

for (const [text, service, want] of SERVICE_PORTS) {
  test(`ports of port-forward: ${text} of a service${service === HEADLESS ? " without a cluster IP" : ""}`, () => {
    const read = () => resolveServicePorts(parsePorts([text]), service, POD);
    if (!(want instanceof RegExp)) return assert.deepEqual(read(), [{ local: want[0], remote: want[1] }]);
    assert.throws(read, (error) => error instanceof LabError && want.test(`${error.message}: ${error.hint}`));
  });
}
