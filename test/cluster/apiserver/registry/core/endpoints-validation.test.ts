import assert from "node:assert/strict";
import { test } from "vitest";
import { openTableLab, refusal } from "../table-lab.js";

const endpoints = (subsets: unknown) => ({ apiVersion: "v1", kind: "Endpoints", metadata: { name: "a" }, subsets });
const address = (one: Record<string, unknown>) => [{ addresses: [{ ip: "10.0.0.1", ...one }] }];
const ports = (...list: unknown[]) => [{ addresses: [{ ip: "10.0.0.1" }], ports: list }];
const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

const INVALID_ENDPOINTS: readonly [string, unknown, string][] = [
  [
    "no address",
    [{ ports: [{ port: 1 }] }],
    "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
  ],
  [
    "a wrong address",
    address({ ip: "x" }),
    '[subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff), subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address]',
  ],
  [
    "loopback",
    address({ ip: "127.0.0.1" }),
    'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8)',
  ],
  [
    "unspecified",
    address({ ip: "0.0.0.0" }),
    'subsets[0].addresses[0].ip: Invalid value: "0.0.0.0": may not be unspecified (0.0.0.0)',
  ],
  [
    "link-local",
    address({ ip: "169.254.1.1" }),
    'subsets[0].addresses[0].ip: Invalid value: "169.254.1.1": may not be in the link-local range (169.254.0.0/16)',
  ],
  [
    "link-local IPv6",
    address({ ip: "fe80::1" }),
    'subsets[0].addresses[0].ip: Invalid value: "fe80::1": may not be in the link-local range (169.254.0.0/16)',
  ],
  [
    "multicast",
    address({ ip: "224.0.0.1" }),
    'subsets[0].addresses[0].ip: Invalid value: "224.0.0.1": may not be in the link-local multicast range (224.0.0.0/24)',
  ],
  ["a host name", address({ hostname: "A" }), `subsets[0].addresses[0].hostname: Invalid value: "A": ${LABEL}`],
  ["a port without a name", ports({ port: 1, name: "a" }, { port: 2 }), "subsets[0].ports[1].name: Required value"],
  ["a port", ports({ port: 0 }), "subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"],
  [
    "a protocol",
    ports({ port: 1, protocol: "IP" }),
    'subsets[0].ports[0].protocol: Unsupported value: "IP": supported values: "SCTP", "TCP", "UDP"',
  ],
];

for (const [name, subsets, expected] of INVALID_ENDPOINTS) {
  test(`Endpoints: ${name}`, async () => {
    const lab = await openTableLab();
    const status = await refusal(lab.create("endpoints", endpoints(subsets)));
    assert.equal(status.message, `Endpoints "a" is invalid: ${expected}`);
  });
}

const slice = (fields: Record<string, unknown>) => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "a" },
  addressType: "IPv4",
  endpoints: [],
  ports: [],
  ...fields,
});
const endpoint = (one: Record<string, unknown>) => ({ endpoints: [{ addresses: ["10.0.0.1"], ...one }] });

const INVALID_SLICES: readonly [string, Record<string, unknown>, string][] = [
  [
    "an address type",
    { addressType: "IP" },
    'addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"',
  ],
  [
    "no address",
    endpoint({ addresses: [] }),
    "endpoints[0].addresses: Required value: must contain at least 1 address",
  ],
  [
    "IPv6 among IPv4",
    endpoint({ addresses: ["fd00::1"] }),
    'endpoints[0].addresses[0]: Invalid value: "fd00::1": must be a valid IPv4 address',
  ],
  [
    "IPv4 among IPv6",
    { addressType: "IPv6", ...endpoint({}) },
    'endpoints[0].addresses[0]: Invalid value: "10.0.0.1": must be a valid IPv6 address',
  ],
  [
    "loopback",
    endpoint({ addresses: ["127.1.1.1"] }),
    'endpoints[0].addresses[0]: Invalid value: "127.1.1.1": may not be in the loopback range (127.0.0.0/8)',
  ],
  ["a host name", endpoint({ hostname: "A" }), `endpoints[0].hostname: Invalid value: "A": ${LABEL}`],
  ["a port's name twice", { ports: [{ name: "a" }, { name: "a" }] }, 'ports[1].name: Duplicate value: "a"'],
  [
    "a protocol",
    { ports: [{ protocol: "IP" }] },
    'ports[0].protocol: Unsupported value: "IP": supported values: "SCTP", "TCP", "UDP"',
  ],
  [
    "too many endpoints",
    { endpoints: Array.from({ length: 1001 }, () => ({ addresses: ["10.0.0.1"] })) },
    "endpoints: Too many: 1001: must have at most 1000 items",
  ],
];

for (const [name, fields, expected] of INVALID_SLICES) {
  test(`EndpointSlice: ${name}`, async () => {
    const lab = await openTableLab();
    const status = await refusal(lab.create("endpointslices", slice(fields)));
    assert.equal(status.message, `EndpointSlice.discovery.k8s.io "a" is invalid: ${expected}`);
  });
}

test("EndpointSlice: the generation counts changes, but not those of labels; the address type stays", async () => {
  const lab = await openTableLab();
  const created = await lab.create("endpointslices", slice(endpoint({})));
  const labelled = await lab.put("endpointslices", "a", {
    ...created,
    metadata: { ...created.metadata, labels: { a: "b" } },
  });
  const changed = await lab.put("endpointslices", "a", { ...labelled, ...endpoint({ hostname: "h" }) });
  assert.deepEqual(
    [created, labelled, changed].map(({ metadata }) => metadata.generation),
    [1, 1, 2],
  );
  const status = await refusal(lab.put("endpointslices", "a", { ...changed, addressType: "FQDN" }));
  assert.match(status.message ?? "", /addressType: Invalid value: "FQDN": field is immutable$/);
});
