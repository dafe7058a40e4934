import assert from "node:assert/strict";
import type { Answer as DnsRecord, RecordType } from "dns-packet";
import { test } from "vitest";
import { answerQuestion, type DnsAnswer } from "../../../src/cluster/dns/answer.js";
import { type ClusterView, endpointsOf, type Service } from "../../../src/cluster/dns/cluster-view.js";
import { FakeRandom } from "../../support/fake-clock.js";

const HTTP = { name: "http", port: 80, protocol: "TCP" };
const METRICS = { name: "metrics", port: 9090, protocol: "TCP" };

function service(name: string, spec: object, namespace = "default"): Service {
  return { apiVersion: "v1", kind: "Service", metadata: { name, namespace }, spec } as Service;
}

const ip = (clusterIP: string, ports: object[] = [HTTP]) => ({ clusterIP, clusterIPs: [clusterIP], ports });

const SERVICES = [
  service("web", ip("10.96.0.7", [HTTP, METRICS])),
  service(
    "dns",
    ip("10.96.0.8", [
      { name: "dns", port: 53, protocol: "UDP" },
      { name: "dns-tcp", port: 53, protocol: "TCP" },
    ]),
  ),
  service("db", ip("None")),
  service("bare", ip("None", [])),
  service("empty", ip("None")),
  service("ext", { type: "ExternalName", externalName: "db.example.org" }),
  service("alias", { type: "ExternalName", externalName: "web.default.svc.cluster.local." }),
  service("gone", { type: "ExternalName", externalName: "nobody.default.svc.cluster.local" }),
  service("loop", { type: "ExternalName", externalName: "loop.default.svc.cluster.local" }),
  service("dual", { clusterIP: "10.96.0.9", clusterIPs: ["10.96.0.9", "fd00::9"], ports: [HTTP] }),
  service("web", ip("10.96.1.7"), "other"),
  service("kube-dns", ip("10.96.0.10"), "kube-system"),
];

function slice(name: string, ports: object[] | null, ...endpoints: object[]) {
  const metadata = { name: `${name}-1`, namespace: "default", labels: { "kubernetes.io/service-name": name } };
  const object = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata,
    addressType: "IPv4",
    endpoints,
    ports,
  };
  return endpointsOf(object as unknown as Parameters<typeof endpointsOf>[0]);
}

const ENDPOINTS = [
  ...slice(
    "db",
    [{ name: "http", port: 8080, protocol: "TCP" }],
    { addresses: ["10.244.0.1"], hostname: "db-0", conditions: { ready: true } },
    { addresses: ["10.244.0.2"], hostname: "db-1" },
    { addresses: ["10.244.0.3"], conditions: { ready: true } },
    { addresses: ["10.244.0.4"], hostname: "db-3", conditions: { ready: false } },
  ),
  ...slice("bare", null, { addresses: ["10.244.0.5"] }),
  ...slice("web", [{ name: "http", port: 8080, protocol: "TCP" }], { addresses: ["10.244.0.6"] }),
];

const view: ClusterView = {
  hasNamespace: (name) => ["default", "other", "kube-system"].includes(name),
  service: (namespace, name) =>
    SERVICES.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
  endpointsOf: (namespace, name) => ENDPOINTS.filter((one) => one.service === `${namespace}/${name}`),
  serviceByIp: (address) => SERVICES.find(({ spec }) => spec?.clusterIPs?.includes(address)),
  endpointsByIp: (address) => ENDPOINTS.filter((one) => one.ip === address),
};

function ask(type: RecordType, name: string): DnsAnswer {
  // 0.99 shuffles nothing.
  const deps = { view, zone: "cluster.local", random: new FakeRandom(0.99), serial: 1 };
  return answerQuestion(deps, { type, name, class: "IN" });
}

function short(record: DnsRecord): string {
  if (record.type === "SRV") {
    const { priority, weight, port, target } = record.data;
    return `SRV ${priority} ${weight} ${port} ${target}`;
  }
  return "data" in record && typeof record.data === "string" ? `${record.type} ${record.data}` : record.type;
}

const text = ({ rcode, answers }: DnsAnswer) => (answers.length === 0 ? rcode : answers.map(short).join(", "));

const S = "svc.cluster.local";
const TABLE: readonly [RecordType, string, string][] = [
  ["A", `web.default.${S}`, "A 10.96.0.7"],
  ["A", `WEB.Default.${S}`, "A 10.96.0.7"],
  ["A", `web.other.${S}`, "A 10.96.1.7"],
  ["AAAA", `web.default.${S}`, "NOERROR"],
  ["AAAA", `dual.default.${S}`, "AAAA fd00::9"],
  ["A", `dual.default.${S}`, "A 10.96.0.9"],
  ["TXT", `web.default.${S}`, "NOERROR"],
  ["MX", `web.default.${S}`, "NOERROR"],
  ["A", `nobody.default.${S}`, "NXDOMAIN"],
  ["AAAA", `nobody.default.${S}`, "NXDOMAIN"],
  ["MX", `nobody.default.${S}`, "NXDOMAIN"],
  ["A", `web.nowhere.${S}`, "NXDOMAIN"],
  ["A", `default.${S}`, "NOERROR"],
  ["A", `nowhere.${S}`, "NXDOMAIN"],
  ["A", S, "NOERROR"],
  ["A", "pod.cluster.local", "NOERROR"],
  ["A", "cluster.local", "NOERROR"],
  ["A", "web.cluster.local", "NXDOMAIN"],
  ["A", `a.b.c.web.default.${S}`, "NXDOMAIN"],
  ["A", `db.default.${S}`, "A 10.244.0.1, A 10.244.0.2, A 10.244.0.3"],
  ["A", `bare.default.${S}`, "A 10.244.0.5"],
  ["A", `empty.default.${S}`, "NXDOMAIN"],
  ["A", `db-0.db.default.${S}`, "A 10.244.0.1"],
  ["A", `10-244-0-3.db.default.${S}`, "A 10.244.0.3"],
  ["A", `db-3.db.default.${S}`, "NXDOMAIN"],
  ["A", `10-244-0-6.web.default.${S}`, "A 10.244.0.6"],
  ["SRV", `_http._tcp.web.default.${S}`, `SRV 0 100 80 web.default.${S}`],
  ["SRV", `web.default.${S}`, `SRV 0 50 80 web.default.${S}, SRV 0 50 9090 web.default.${S}`],
  ["SRV", `_dns._udp.dns.default.${S}`, `SRV 0 100 53 dns.default.${S}`],
  ["SRV", `_dns._tcp.dns.default.${S}`, "NXDOMAIN"],
  ["SRV", `_nothing._tcp.web.default.${S}`, "NXDOMAIN"],
  ["A", `_http._tcp.web.default.${S}`, "A 10.96.0.7"],
  [
    "SRV",
    `_http._tcp.db.default.${S}`,
    `SRV 0 33 8080 db-0.db.default.${S}, SRV 0 33 8080 db-1.db.default.${S}, SRV 0 33 8080 10-244-0-3.db.default.${S}`,
  ],
  ["SRV", `bare.default.${S}`, "NOERROR"],
  ["SRV", `ext.default.${S}`, "NOERROR"],
  ["A", `ext.default.${S}`, "CNAME db.example.org"],
  ["CNAME", `ext.default.${S}`, "CNAME db.example.org"],
  ["CNAME", `web.default.${S}`, "NOERROR"],
  ["A", `x.ext.default.${S}`, "NXDOMAIN"],
  ["A", `alias.default.${S}`, `CNAME web.default.${S}, A 10.96.0.7`],
  ["A", `gone.default.${S}`, "NOERROR"],
  ["A", `loop.default.${S}`, "NOERROR"],
  ["A", "10-244-0-9.default.pod.cluster.local", "A 10.244.0.9"],
  ["AAAA", "fd00--9.default.pod.cluster.local", "AAAA fd00::9"],
  ["A", "10-244-0-9.nowhere.pod.cluster.local", "NXDOMAIN"],
  ["A", "web.default.pod.cluster.local", "NXDOMAIN"],
  ["PTR", "7.0.96.10.in-addr.arpa", `PTR web.default.${S}`],
  ["PTR", "1.0.244.10.in-addr.arpa", `PTR db-0.db.default.${S}`],
  ["PTR", "3.0.244.10.in-addr.arpa", "NXDOMAIN"],
  ["PTR", "8.8.8.8.in-addr.arpa", "NXDOMAIN"],
  ["PTR", "96.10.in-addr.arpa", "NXDOMAIN"],
  ["A", "7.0.96.10.in-addr.arpa", "NOERROR"],
  ["PTR", "9.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.d.f.ip6.arpa", `PTR dual.default.${S}`],
  ["SOA", "cluster.local", "SOA"],
  ["NS", "cluster.local", `NS kube-dns.kube-system.${S}`],
  ["NS", `web.default.${S}`, "NOERROR"],
  ["A", "ns.dns.cluster.local", "A 10.96.0.10"],
  ["TXT", "dns-version.cluster.local", "TXT 1.1.0"],
  ["A", "example.org", "SERVFAIL"],
  ["A", "notcluster.local", "SERVFAIL"],
];

for (const [type, name, expected] of TABLE) {
  test(`${type} ${name} -> ${expected}`, () => {
    assert.equal(text(ask(type, name)), expected);
  });
}

test("records live 30 s; what is missing comes with the zone's SOA", () => {
  const [answer] = ask("A", `web.default.${S}`).answers;
  assert.deepEqual(answer, { type: "A", class: "IN", name: `web.default.${S}`, ttl: 30, data: "10.96.0.7" });
  for (const name of [`nobody.default.${S}`, S]) {
    assert.deepEqual(ask("A", name).authorities, [
      {
        type: "SOA",
        class: "IN",
        name: "cluster.local",
        ttl: 30,
        data: {
          mname: "ns.dns.cluster.local",
          rname: "hostmaster.cluster.local",
          serial: 1,
          refresh: 7200,
          retry: 1800,
          expire: 86400,
          minimum: 30,
        },
      },
    ]);
  }
});

test("SRV records bring the addresses of their targets", () => {
  const { additionals } = ask("SRV", `_http._tcp.db.default.${S}`);
  assert.deepEqual(
    additionals.map((one) => `${one.name} ${short(one)}`),
    [
      `db-0.db.default.${S} A 10.244.0.1`,
      `db-1.db.default.${S} A 10.244.0.2`,
      `10-244-0-3.db.default.${S} A 10.244.0.3`,
    ],
  );
});

test("an answer repeats the name as it was asked, and says why", () => {
  const answer = ask("A", `WEB.default.${S}`);
  assert.equal(answer.answers[0]?.name, `WEB.default.${S}`);
  assert.equal(answer.why, "service default/web has the cluster IP 10.96.0.7");
  assert.equal(ask("A", `db.default.${S}`).why, "service default/db is headless: 3 ready endpoints");
  assert.equal(ask("A", `web.nowhere.${S}`).why, "there is no namespace nowhere");
});

test("addresses are in random order", () => {
  const deps = { view, zone: "cluster.local", random: new FakeRandom(0), serial: 1 };
  const { answers } = answerQuestion(deps, { type: "A", name: `db.default.${S}` });
  assert.equal(answers.map(short).join(", "), "A 10.244.0.2, A 10.244.0.3, A 10.244.0.1");
});
