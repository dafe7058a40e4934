import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { DnsConfigurer, type DnsOptions, parseResolvConf } from "../../../src/kubelet/network/dns.js";
import { generatePodHostNameAndDomain, nodenameForKernel } from "../../../src/kubelet/network/hostname.js";
import { ensureHostsFile, managedHostsFileContent } from "../../../src/kubelet/network/hosts-file.js";
import type { V1Pod } from "../../../src/staging/apimachinery/api/pod.js";
import { RecordedEvents } from "../../support/recorded-events.js";

const folder = mkdtempSync(join(tmpdir(), "network-"));
const RESOLV_CONF = join(folder, "resolv.conf");
writeFileSync(
  RESOLV_CONF,
  "# ours\nnameserver 192.0.2.53\nsearch corp.example. lab.example\noptions timeout:2 rotate\n",
);

function podOf(spec: object, name = "web-0"): V1Pod {
  const metadata = { name, namespace: "ns", uid: "u" };
  return { apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [], ...spec }, status: {} };
}

async function dnsOf(spec: object, options: Partial<DnsOptions> = {}) {
  const recorder = new RecordedEvents();
  const configurer = new DnsConfigurer(
    { recorder },
    {
      clusterDns: ["10.96.0.10"],
      clusterDomain: "cluster.local",
      resolverConfig: RESOLV_CONF,
      nodeIps: ["192.0.2.1"],
      kubeVersion: "1.25",
      ...options,
    },
  );
  const result = await configurer.getPodDns(podOf({ dnsPolicy: "ClusterFirst", ...spec }));
  const line = result.outcome === "ok" ? Object.values(result.dns).map((list) => list.join(" ")) : [result.message];
  return { line: line.join(" | "), events: recorder.lines };
}

const CLUSTER = "10.96.0.10 | ns.svc.cluster.local svc.cluster.local cluster.local corp.example lab.example | ndots:5";
const HOST = "192.0.2.53 | corp.example lab.example | timeout:2 rotate";
const own = (dnsConfig: object) => ({ dnsConfig });
const many = (count: number) => Array.from({ length: count }, (_, i) => `d${i}.example`);

const dns: readonly (readonly [string, object, Partial<DnsOptions>, string, string?])[] = [
  ["ClusterFirst", {}, {}, CLUSTER],
  ["ClusterFirst in the node's network", { hostNetwork: true }, {}, HOST],
  ["ClusterFirstWithHostNet", { hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" }, {}, CLUSTER],
  ["Default", { dnsPolicy: "Default" }, {}, HOST],
  ["None", { dnsPolicy: "None", ...own({ nameservers: ["1.1.1.1"], searches: ["x"] }) }, {}, "1.1.1.1 | x | "],
  ["no domain of the cluster", {}, { clusterDomain: "" }, "10.96.0.10 | corp.example lab.example | ndots:5"],
  ["no settings of the node", { dnsPolicy: "Default" }, { resolverConfig: "" }, "127.0.0.1 | . | "],
  ["a node of IPv6", { dnsPolicy: "Default" }, { resolverConfig: "", nodeIps: ["2001:db8::1"] }, "::1 | . | "],
  [
    "no name server of the cluster",
    {},
    { clusterDns: [] },
    HOST,
    'Warning MissingClusterDNS pod: "web-0_ns(u)". kubelet does not have ClusterDNS IP configured and cannot create Pod ' +
      'using "ClusterFirst" policy. Falling back to "Default" policy.',
  ],
  [
    "own settings beside the cluster's",
    own({
      nameservers: ["1.1.1.1", "10.96.0.10"],
      searches: ["corp.example", "mine"],
      options: [{ name: "ndots", value: "2" }, { name: "edns0" }],
    }),
    {},
    "10.96.0.10 1.1.1.1 | ns.svc.cluster.local svc.cluster.local cluster.local corp.example lab.example mine | ndots:2 edns0",
  ],
  [
    "too many name servers",
    own({ nameservers: ["1.1.1.1", "2.2.2.2", "3.3.3.3"] }),
    {},
    CLUSTER.replace("10.96.0.10", "10.96.0.10 1.1.1.1 2.2.2.2"),
    "Warning DNSConfigForming Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver " +
      "line is: 10.96.0.10 1.1.1.1 2.2.2.2",
  ],
  [
    "too many search domains",
    own({ searches: ["a", "b"] }),
    {},
    CLUSTER.replace("lab.example", "lab.example a"),
    "Warning DNSConfigForming Search Line limits were exceeded, some search paths have been omitted, the applied search " +
      "line is: ns.svc.cluster.local svc.cluster.local cluster.local corp.example lab.example a",
  ],
  [
    "as many as later releases take",
    own({ searches: ["a", "b"] }),
    { kubeVersion: "1.26" },
    CLUSTER.replace("lab.example", "lab.example a b"),
  ],
  [
    "no such file",
    {},
    { resolverConfig: join(folder, "none") },
    `open ${join(folder, "none")}: no such file or directory`,
  ],
];
for (const [name, spec, options, want, event] of dns) {
  test(`dns: ${name}`, async () => {
    const { line, events } = await dnsOf(spec, options);
    assert.equal(line, want);
    assert.deepEqual(events, event === undefined ? [] : [event]);
  });
}

test("dns: search domains that are too long together, or alone, are left out", async () => {
  const { line, events } = await dnsOf({
    dnsPolicy: "None",
    ...own({ searches: many(4).map((one) => `${"x".repeat(60)}.${one}`) }),
  });
  assert.equal(line.split(" | ")[1]?.split(" ").length, 3);
  assert.equal(events.length, 1);
  const long = await dnsOf({ dnsPolicy: "None", ...own({ searches: ["x".repeat(254), "ok"] }) });
  assert.equal(long.line, " | ok | ");
});

test("dns: a name server without an address is a broken file", () => {
  assert.throws(() => parseResolvConf("nameserver\n"), /nameserver list is empty/);
  assert.deepEqual(parseResolvConf("search a\nsearch b.\n  # x\n"), { servers: [], searches: ["b"], options: [] });
});

const LONG = "a".repeat(62);
const names: readonly (readonly [string, object, string | undefined, string, string])[] = [
  ["the pod's", {}, undefined, "web-0", ""],
  ["its own", { hostname: "db" }, undefined, "db", ""],
  ["with a subdomain", { hostname: "db", subdomain: "sub" }, undefined, "db", "sub.ns.svc.cluster.local"],
  ["63 characters stay", {}, `${LONG}b`, `${LONG}b`, ""],
  ["64 are cut", {}, `${LONG}bc`, `${LONG}b`, ""],
  ["and no dash is left at the end", {}, `${LONG}-c`, LONG, ""],
  ["nor a dot", {}, `${LONG}.c`, LONG, ""],
];
for (const [name, spec, podName, hostname, domain] of names) {
  test(`hostname: ${name}`, () => {
    const result = generatePodHostNameAndDomain(podOf(spec, podName), "cluster.local");
    assert.deepEqual(result, { outcome: "ok", hostname, domain });
  });
}

test("hostname: an invalid label is refused", () => {
  for (const [what, spec] of [
    ["Hostname", { hostname: "a.b" }],
    ["Subdomain", { subdomain: "../x" }],
  ] as const) {
    const result = generatePodHostNameAndDomain(podOf(spec), "cluster.local");
    assert.equal(result.outcome, "failed");
    const { message } = result as { message: string };
    assert.match(message, new RegExp(`^pod ${what} ".*" is not a valid DNS label: a lowercase RFC 1123 label must`));
  }
});

test("hostname: the kernel gets the whole name when the pod wants it, up to 64 characters", () => {
  const pod = podOf({ setHostnameAsFQDN: true });
  assert.deepEqual(nodenameForKernel(pod, "a", "b.c"), { nodename: "a.b.c" });
  assert.deepEqual(nodenameForKernel(pod, "a", ""), { nodename: "a" });
  assert.deepEqual(nodenameForKernel(podOf({}), "a", "b.c"), { nodename: "a" });
  assert.deepEqual(nodenameForKernel(pod, LONG, "bc"), {
    problem: `failed to construct FQDN from pod hostname and cluster domain, FQDN ${LONG}.bc is too long (64 characters is the max, 65 characters requested)`,
  });
});

const TOP = [
  "# Kubernetes-managed hosts file.",
  "127.0.0.1\tlocalhost",
  "::1\tlocalhost ip6-localhost ip6-loopback",
  "fe00::0\tip6-localnet",
  "fe00::0\tip6-mcastprefix",
  "fe00::1\tip6-allnodes",
  "fe00::2\tip6-allrouters",
].join("\n");

test("hosts file: the pod's addresses with its names, and aliases", () => {
  assert.equal(managedHostsFileContent(["10.244.0.5"], "web", "", []), `${TOP}\n10.244.0.5\tweb\n`);
  const aliases = [{ ip: "192.0.2.9", hostnames: ["a", "b"] }];
  const want = `${TOP}\n10.244.0.5\tweb.sub.d\tweb\nfd00::5\tweb.sub.d\tweb\n\n# Entries added by HostAliases.\n192.0.2.9\ta\tb\n`;
  assert.equal(managedHostsFileContent(["10.244.0.5", "fd00::5"], "web", "sub.d", aliases), want);
});

test("hosts file: written into the pod's folder; in the node's network it is the node's", async () => {
  const nodeHostsFile = join(folder, "hosts");
  writeFileSync(nodeHostsFile, "192.0.2.1\tnode\n");
  const podDir = join(folder, "pods", "u");
  const path = await ensureHostsFile({ podDir, nodeHostsFile }, podOf({}), ["10.244.0.5"], "web", "");
  assert.equal(path, join(podDir, "etc-hosts"));
  assert.equal(statSync(path).mode & 0o777, 0o644);
  const { ino } = statSync(path);
  const spec = { hostNetwork: true, hostAliases: [{ ip: "192.0.2.9", hostnames: ["a"] }] };
  await ensureHostsFile({ podDir, nodeHostsFile }, podOf(spec), ["192.0.2.1"], "web", "");
  const want =
    "# Kubernetes-managed hosts file (host network).\n192.0.2.1\tnode\n\n# Entries added by HostAliases.\n192.0.2.9\ta\n";
  assert.equal(readFileSync(path, "utf8"), want);
  assert.equal(statSync(path).ino, ino, "what runs already has this file mounted");
});
