import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { decodeWalking } from "../../../../src/staging/apimachinery/scheme/decode.js";
import { decodeProtobufBody, encodeProtobuf } from "../../../../src/staging/apimachinery/scheme/protobuf/envelope.js";
import type { KindRef } from "../../../../src/staging/apimachinery/scheme/schema.js";
import { MISSING_RECORDINGS } from "../../../support/recordings.js";

const FILE = "../shared/recordings/apiserver-v1.25/kubectl-protobuf.json";

interface Recorded {
  readonly name: string;
  readonly requests: readonly { readonly path: string; readonly body?: { readonly base64: string } }[];
}

function recordedBodies(): { name: string; path: string; bytes: Buffer }[] {
  if (!existsSync(FILE)) return [];
  const { items } = JSON.parse(readFileSync(FILE, "utf8")) as { items: Recorded[] };
  return items.flatMap(({ name, requests }) =>
    requests.flatMap(({ path, body }) =>
      body?.base64 === undefined ? [] : [{ name, path, bytes: Buffer.from(body.base64, "base64") }],
    ),
  );
}

const kindOf = (apiVersion: string, kind: string): KindRef => {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  return { group, version, kind, schema: kind };
};

const EMPTY_META = { creationTimestamp: null };

/** The JSON form of kubectl's bodies, by the end of the path. */
const WANTED: Readonly<Record<string, { kind: KindRef; content: object }>> = {
  selfsubjectaccessreviews: {
    kind: kindOf("authorization.k8s.io/v1", "SelfSubjectAccessReview"),
    content: {
      metadata: EMPTY_META,
      spec: { resourceAttributes: { namespace: "default", verb: "list", resource: "pods" } },
      status: { allowed: false },
    },
  },
  selfsubjectrulesreviews: {
    kind: kindOf("authorization.k8s.io/v1", "SelfSubjectRulesReview"),
    content: {
      metadata: EMPTY_META,
      spec: { namespace: "default" },
      status: { resourceRules: null, nonResourceRules: null, incomplete: false },
    },
  },
  configmaps: {
    kind: kindOf("v1", "ConfigMap"),
    content: { metadata: { name: "pb", ...EMPTY_META }, data: { a: "b" } },
  },
  secrets: {
    kind: kindOf("v1", "Secret"),
    content: { metadata: { name: "pb", ...EMPTY_META }, data: { a: "Yg==" }, type: "Opaque" },
  },
  serviceaccounts: { kind: kindOf("v1", "ServiceAccount"), content: { metadata: { name: "pb", ...EMPTY_META } } },
  token: {
    kind: kindOf("authentication.k8s.io/v1", "TokenRequest"),
    content: {
      metadata: EMPTY_META,
      spec: { audiences: null, expirationSeconds: 3600, boundObjectRef: null },
      status: { token: "", expirationTimestamp: null },
    },
  },
};

describe.skipIf(MISSING_RECORDINGS)("protobuf bodies as kubectl sends them", () => {
  for (const { name, path, bytes } of recordedBodies()) {
    const last = path.split("?")[0]?.split("/").at(-1) ?? "";
    const wanted = WANTED[last];
    if (wanted === undefined) continue;
    test(`${name}: decoded`, () => {
      const { kind, group, version } = wanted.kind;
      const apiVersion = group === "" ? version : `${group}/${version}`;
      expect(decodeProtobufBody(bytes, wanted.kind).object).toEqual({ kind, apiVersion, ...wanted.content });
    });
  }

  test("an approval keeps the request, the identity and the condition", () => {
    const bodies = recordedBodies().filter(({ path }) => path.endsWith("/approval"));
    expect(bodies.length).toBeGreaterThan(0);
    for (const { bytes } of bodies) {
      const { object } = decodeProtobufBody(bytes, kindOf("certificates.k8s.io/v1", "CertificateSigningRequest"));
      expect(object).toMatchObject({
        metadata: { name: "pb", uid: expect.stringMatching(/^[0-9a-f-]{36}$/), resourceVersion: expect.any(String) },
        spec: { signerName: expect.stringContaining("/"), usages: expect.any(Array), username: expect.any(String) },
        status: { conditions: [{ type: "Approved", status: "True", reason: "KubectlApprove" }] },
      });
      expect(object.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      // Nothing is lost: encoding gives the same bytes.
      expect(encodeProtobuf(object)?.toString("hex")).toBe(bytes.toString("hex"));
    }
  });
});

describe("protobuf", () => {
  const table: [string, object][] = [
    ["Node", nodeWithEverything()],
    ["Lease", { spec: { renewTime: "2024-05-06T07:08:09.123456Z", leaseDurationSeconds: 40, holderIdentity: "" } }],
    ["Pod", podWithUnions()],
    [
      "PodDisruptionBudget",
      { spec: { minAvailable: "50%", maxUnavailable: 3 }, status: { disruptedPods: { a: "2024-01-01T00:00:00Z" } } },
    ],
    ["CertificateSigningRequest", { spec: { request: "AAEC/w==", signerName: "a/b", extra: { k: ["x", "y"] } } }],
    ["ControllerRevision", { data: { any: ["thing", 1] }, revision: -3 }],
    ["Status", { status: "Failure", code: 404, details: { name: "x", kind: "nodes", causes: [{ field: "f" }] } }],
  ];
  const apiVersions: Readonly<Record<string, string>> = {
    Lease: "coordination.k8s.io/v1",
    PodDisruptionBudget: "policy/v1",
    CertificateSigningRequest: "certificates.k8s.io/v1",
    ControllerRevision: "apps/v1",
  };
  for (const [kind, content] of table) {
    test(`${kind}: survives a round trip`, () => {
      const apiVersion = apiVersions[kind] ?? "v1";
      const object = decodeWalking(kind, { kind, apiVersion, ...content }, { unknown: false, keys: 0 });
      const bytes = encodeProtobuf(object);
      expect(bytes?.subarray(0, 4).toString()).toBe("k8s\0");
      expect(decodeProtobufBody(bytes ?? Buffer.alloc(0), kindOf(apiVersion, kind)).object).toEqual(object);
    });
  }

  test("lists are encoded item by item, tables not at all", () => {
    expect(
      encodeProtobuf({ kind: "LeaseList", apiVersion: "coordination.k8s.io/v1", metadata: {}, items: [{}] }),
    ).toBeDefined();
    expect(encodeProtobuf({ kind: "Table", apiVersion: "meta.k8s.io/v1" })).toBeUndefined();
  });

  const node = kindOf("v1", "Node");
  const refused: [string, Buffer, string][] = [
    [
      "JSON",
      Buffer.from('{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "ln-2"}}'),
      'the object provided is unrecognized (must be of type Node): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({"apiVersion": "v1", "kind": " ...)',
    ],
    ["nothing", Buffer.alloc(0), "the object provided is unrecognized (must be of type Node): empty data (<empty>)"],
    [
      "a torn envelope",
      Buffer.from("k8s\0\x0a\x7f"),
      "the object provided is unrecognized (must be of type Node): unexpected EOF (6b3873000a7f)",
    ],
    [
      "another kind",
      encodeProtobuf({ kind: "Pod", apiVersion: "v1", metadata: {} }) ?? Buffer.alloc(0),
      'Pod in version "v1" cannot be handled as a Node: converting (v1.Pod) to (core.Node): unknown conversion',
    ],
  ];
  for (const [what, bytes, message] of refused) {
    test(`refused: ${what}`, () => {
      expect(() => decodeProtobufBody(bytes, node)).toThrow(expect.objectContaining({ code: 400, message }));
    });
  }
});

function nodeWithEverything(): object {
  return {
    metadata: {
      name: "n",
      labels: { b: "2", a: "1" },
      ownerReferences: [{ apiVersion: "v1", kind: "X", name: "x", uid: "u", controller: false }],
    },
    spec: {
      podCIDRs: ["10.0.0.0/24"],
      unschedulable: true,
      taints: [{ key: "k", effect: "NoExecute", timeAdded: "2024-01-01T00:00:00Z" }],
    },
    status: {
      capacity: { cpu: "2", memory: "4Gi" },
      conditions: [{ type: "Ready", status: "True", lastHeartbeatTime: "2024-01-01T00:00:00Z" }],
      images: [{ names: ["a:1"], sizeBytes: 5_000_000_000 }],
    },
  };
}

function podWithUnions(): object {
  return {
    metadata: { name: "p" },
    spec: {
      containers: [
        {
          name: "c",
          image: "x",
          livenessProbe: { httpGet: { port: "http" } },
          readinessProbe: { tcpSocket: { port: 80 } },
        },
      ],
      volumes: [
        { name: "v", configMap: { name: "cm" } },
        { name: "e", emptyDir: { sizeLimit: "1Gi" } },
      ],
      securityContext: { supplementalGroups: [1, 2], runAsUser: 0 },
    },
  };
}
