import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "vitest";
import type { ResourceDefinition, TableColumn } from "../../../../src/cluster/apiserver/registry/rest/definition.js";
import { RESOURCES } from "../../../../src/cluster/apiserver/registry/table.js";
import type { KubeObject } from "../../../../src/staging/apimachinery/api/meta.js";
import { humanDuration } from "../../../../src/staging/apimachinery/duration.js";
import { MISSING_RECORDINGS, recorded } from "../../../support/recordings.js";

const NOW_MS = Date.parse("2026-11-20T12:28:13Z");

function rowOf(resource: string, group = ""): ResourceDefinition {
  const found = RESOURCES.find((row) => row.resource === resource && row.group === group);
  assert.ok(found, `no row for ${resource} in group "${group}"`);
  return found;
}

function cellsOf(resource: string, object: Omit<KubeObject, "apiVersion" | "kind">, group = ""): unknown[] {
  const { kind, table } = rowOf(resource, group);
  return table?.cells({ apiVersion: "v1", kind, ...object } as KubeObject, NOW_MS) ?? [];
}

/** `/apis/storage.k8s.io/v1/csidrivers?x` -> [group, resource] */
function resourceOf(path: string): [group: string, resource: string] {
  const [plain = ""] = path.split("?");
  const parts = plain.split("/").filter((part) => part !== "");
  const isCore = parts[0] === "api";
  const rest = parts.slice(isCore ? 2 : 3);
  const at = rest[0] === "namespaces" && rest.length > 2 ? 2 : 0;
  return [isCore ? "" : (parts[1] ?? ""), rest[at] ?? ""];
}

interface RecordedTable {
  readonly kind: string;
  readonly columnDefinitions?: readonly (TableColumn | string)[];
  readonly rows?: readonly { readonly cells: readonly unknown[]; readonly conditions?: unknown }[];
}

const tables = recorded("tables").flatMap((item) => {
  const body = item.response.body as RecordedTable;
  return body.kind === "Table" ? [{ item, body }] : [];
});

const withoutDescription = ({ name, type, format, priority }: TableColumn) => ({ name, type, format, priority });

describe.skipIf(MISSING_RECORDINGS !== undefined)("tables equal the real server's", () => {
  const seen = new Set<string>();
  for (const { item, body } of tables) {
    const [group, resource] = resourceOf(item.request.path);
    const columns = body.columnDefinitions;
    if (!Array.isArray(columns) || seen.has(`${group}/${resource}`) || columns.some((one) => typeof one === "string"))
      continue;
    seen.add(`${group}/${resource}`);
    test(`columns of ${resource} in group "${group}"`, () => {
      const own = rowOf(resource, group).table?.columns ?? [];
      assert.deepEqual(own.map(withoutDescription), (columns as TableColumn[]).map(withoutDescription));
    });
  }

  for (const { name, object, cells, conditions } of podRows()) {
    test(`pod ${name}: ${cells[2]}`, () => {
      const { table } = rowOf("pods");
      assert.deepEqual(table?.cells(object, NOW_MS), cells);
      assert.deepEqual(table?.conditions?.(object) ?? [], conditions);
    });
  }
});

interface PodStory {
  readonly spec: Record<string, unknown>;
  readonly status: Record<string, unknown>;
  readonly delete?: boolean;
}

/** The pods of the recorded rows: a note contains the request, the recorder adds the rest. */
function podRows() {
  const body = tables.find(({ item }) => item.name === "pods in every state")?.body;
  if (body === undefined) return [];
  const file = JSON.parse(readFileSync("../shared/recordings/apiserver-v1.25/tables.json", "utf8")) as {
    items: { name: string; pods?: Record<string, PodStory> }[];
  };
  const stories = file.items.find((item) => item.name === "the statuses behind the rows")?.pods ?? {};
  const time = new Date(NOW_MS).toISOString();
  return (body.rows ?? []).map(({ cells, conditions = [] }) => {
    const name = String(cells[0]);
    const story = stories[name] ?? { spec: {}, status: {} };
    const spec = { containers: [{ name: "c", image: "x" }], nodeName: "tb-ready", ...story.spec };
    const object: KubeObject = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, creationTimestamp: time, ...(story.delete === true ? { deletionTimestamp: time } : {}) },
      spec,
      status: { phase: "Pending", ...story.status },
    };
    return { name, object, cells, conditions };
  });
}

const READY = { type: "Ready", status: "True" };
const NODE_INFO = {
  kubeletVersion: "v1.25.0",
  osImage: "lab",
  kernelVersion: "5.10",
  containerRuntimeVersion: "containerd://1.6.20",
};
const created = { creationTimestamp: new Date(NOW_MS - 1000).toISOString() };

const NODES: readonly [string, KubeObject["metadata"], Record<string, unknown>, Record<string, unknown>, unknown[]][] =
  [
    [
      "without any status",
      {},
      {},
      {},
      ["Unknown", "<none>", "1s", "", "<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"],
    ],
    [
      "ready, with roles of both kinds",
      {
        labels: {
          "node-role.kubernetes.io/worker": "",
          "node-role.kubernetes.io/control-plane": "",
          "kubernetes.io/role": "old",
        },
      },
      {},
      { conditions: [READY], nodeInfo: NODE_INFO, addresses: [{ type: "InternalIP", address: "127.0.0.1" }] },
      [
        "Ready",
        "control-plane,old,worker",
        "1s",
        "v1.25.0",
        "127.0.0.1",
        "<none>",
        "lab",
        "5.10",
        "containerd://1.6.20",
      ],
    ],
    [
      "unknown and cordoned, with an external address",
      {},
      { unschedulable: true },
      {
        conditions: [{ type: "Ready", status: "Unknown" }],
        nodeInfo: NODE_INFO,
        addresses: [{ type: "ExternalIP", address: "203.0.113.7" }],
      },
      [
        "NotReady,SchedulingDisabled",
        "<none>",
        "1s",
        "v1.25.0",
        "<none>",
        "203.0.113.7",
        "lab",
        "5.10",
        "containerd://1.6.20",
      ],
    ],
  ];

for (const [what, metadata, spec, status, cells] of NODES) {
  test(`node ${what}`, () => {
    assert.deepEqual(cellsOf("nodes", { metadata: { name: "n", ...created, ...metadata }, spec, status }), [
      "n",
      ...cells,
    ]);
  });
}

const CSRS: readonly [conditions: string[], certificate: string, cell: string][] = [
  [[], "", "Pending"],
  [["Approved"], "", "Approved"],
  [["Denied"], "", "Denied"],
  [["Approved"], "Y2VydA==", "Approved,Issued"],
  [["Approved", "Failed"], "", "Approved,Failed"],
  [["Failed"], "", "Pending,Failed"],
];

for (const [types, certificate, cell] of CSRS) {
  test(`a CSR with [${types.join(" ")}]${certificate === "" ? "" : " and a certificate"} is ${cell}`, () => {
    const csr = {
      metadata: { name: "c", ...created },
      spec: { signerName: "example.com/s", username: "jane", expirationSeconds: 3600 },
      status: { conditions: types.map((type) => ({ type, status: "True" })), certificate },
    };
    const cells = cellsOf("certificatesigningrequests", csr, "certificates.k8s.io");
    assert.deepEqual(cells, ["c", "1s", "example.com/s", "jane", "60m", cell]);
  });
}

const ENDPOINT = [{ ip: "10.0.0.1" }];
for (const [subsets, cell] of [
  [undefined, "<none>"],
  [[], "<none>"],
  [[{ notReadyAddresses: ENDPOINT, ports: [{ port: 80 }] }], ""],
  [[{ addresses: ENDPOINT }], "10.0.0.1"],
  [[{ addresses: ENDPOINT, ports: [{ port: 80 }, { port: 81 }] }], "10.0.0.1:80,10.0.0.1:81"],
  [
    [{ addresses: [...ENDPOINT, { ip: "fd00::1" }], ports: [{ port: 80 }, { port: 81 }] }],
    "10.0.0.1:80,[fd00::1]:80,10.0.0.1:81 + 1 more...",
  ],
] as const) {
  test(`endpoints with the subsets ${JSON.stringify(subsets)}: "${cell}"`, () => {
    assert.equal(cellsOf("endpoints", { metadata: { name: "e" }, subsets } as never)[1], cell);
  });
}

test("an event shows its series, its source and its object in lower case", () => {
  const at = (secondsAgo: number) => new Date(NOW_MS - secondsAgo * 1000).toISOString();
  const event = {
    metadata: { name: "e.1" },
    involvedObject: { kind: "Pod", name: "a.b" },
    reason: "Scheduled",
    type: "Normal",
    message: " done\n",
    source: {},
    firstTimestamp: null,
    lastTimestamp: null,
    eventTime: at(313),
    reportingComponent: "default-scheduler",
    reportingInstance: "default-scheduler-vm",
  };
  const source = "default-scheduler, default-scheduler-vm";
  const first = ["5m13s", "Normal", "Scheduled", "pod/a.b", "", source, "done", "5m13s", 1, "e.1"];
  assert.deepEqual(cellsOf("events", event), first);
  const repeated = { ...event, series: { count: 7, lastObservedTime: at(5) } };
  assert.deepEqual(cellsOf("events", repeated), ["5s", ...first.slice(1, 8), 7, "e.1"]);
});

const AGES: readonly [seconds: number, text: string][] = [
  [-5, "<invalid>"],
  [-1, "0s"],
  [119, "119s"],
  [120, "2m"],
  [313, "5m13s"],
  [10_799, "179m"],
  [10_800, "3h"],
  [28_740, "7h59m"],
  [86_400, "24h"],
  [172_800, "2d"],
  [691_200, "8d"],
  [176_400, "2d1h"],
  [63_072_000, "2y"],
  [63_158_400, "2y1d"],
  [252_288_000, "8y"],
];

for (const [seconds, text] of AGES) {
  test(`an age of ${seconds} s is shown as ${text}`, () => assert.equal(humanDuration(seconds * 1000), text));
}
