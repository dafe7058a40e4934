import type { NodeObject } from "../../../../src/staging/apimachinery/api/node.js";
import type { PodObject, Service } from "../../../../src/staging/apimachinery/api/objects.js";

/** Services, pods and nodes for the tests of endpoints. */

export interface PodOptions {
  readonly ip?: string;
  readonly ready?: boolean;
  readonly phase?: string;
  readonly terminating?: boolean;
  readonly node?: string;
  readonly hostname?: string;
  readonly subdomain?: string;
  /** the container's ports */
  readonly ports?: readonly object[];
  readonly labels?: Readonly<Record<string, string>>;
  /** when its readiness changed, RFC 3339 */
  readonly since?: string;
}

export function pod(name: string, options: PodOptions = {}): PodObject {
  const {
    ip = "10.0.0.1",
    ready = true,
    phase = "Running",
    node = "n1",
    labels = { app: "web" },
    ports = [],
  } = options;
  const { hostname, subdomain, terminating = false, since } = options;
  const condition = {
    type: "Ready",
    status: ready ? "True" : "False",
    ...(since === undefined ? {} : { lastTransitionTime: since }),
  };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: "default",
      uid: `uid-${name}`,
      labels,
      ...(terminating ? { deletionTimestamp: "2026-01-01T00:00:30Z" } : {}),
    },
    spec: {
      containers: [{ name: "c", image: "x", ports }],
      nodeName: node,
      ...(hostname === undefined ? {} : { hostname }),
      ...(subdomain === undefined ? {} : { subdomain }),
    },
    status: { phase, ...(ip === "" ? {} : { podIP: ip, podIPs: [{ ip }] }), conditions: [condition] },
  } as PodObject;
}

export function service(spec: object = {}, metadata: object = {}): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: "web",
      namespace: "default",
      uid: "uid-web",
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...metadata,
    },
    spec: {
      selector: { app: "web" },
      clusterIP: "10.96.0.7",
      ipFamilies: ["IPv4"],
      ports: [{ port: 80, targetPort: 8080, protocol: "TCP" }],
      ...spec,
    },
  } as Service;
}

export function node(name: string, labels: Readonly<Record<string, string>> = {}): NodeObject {
  return { apiVersion: "v1", kind: "Node", metadata: { name, labels } } as NodeObject;
}
