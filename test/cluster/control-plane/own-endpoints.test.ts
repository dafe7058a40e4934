import { expect, test } from "vitest";
import { ownEndpoints } from "../../../src/cluster/control-plane/own-endpoints.js";
import type { KubeObject } from "../../../src/staging/apimachinery/api/meta.js";

const service: KubeObject = {
  kind: "Service",
  apiVersion: "v1",
  metadata: { name: "kubernetes", namespace: "default" },
};
const at = (ip: string, port: number) => ({ ip, ports: [{ name: "https", port, protocol: "TCP" as const }] });

const cases = [
  // servers                                        subsets                                slices
  [[at("127.0.0.1", 1)], ["127.0.0.1 at 1"], ["kubernetes 1"]],
  [
    [at("127.0.0.1", 2), at("127.0.0.1", 1)],
    ["127.0.0.1 at 1", "127.0.0.1 at 2"],
    ["kubernetes 1", "kubernetes-2 2"],
  ],
  [[at("10.0.0.2", 6443), at("10.0.0.1", 6443)], ["10.0.0.1,10.0.0.2 at 6443"], ["kubernetes 6443"]],
  [[at("127.0.0.1", 1), at("127.0.0.1", 1)], ["127.0.0.1 at 1"], ["kubernetes 1"]],
] as const;

for (const [servers, subsets, slices] of cases) {
  test(`servers ${servers.map(({ ip, ports: [port] }) => `${ip}:${port?.port}`).join(", ")}: ${subsets.join("; ")}`, () => {
    const [endpoints, ...rest] = ownEndpoints(service, servers);
    const seen = endpoints?.["subsets"] as { addresses: { ip: string }[]; ports: { port: number }[] }[];
    const texts = seen.map(({ addresses, ports: [one] }) => `${addresses.map(({ ip }) => ip).join()} at ${one?.port}`);
    expect(texts).toEqual(subsets);
    const named = rest.map((slice) => `${slice.metadata.name} ${(slice["ports"] as { port: number }[])[0]?.port}`);
    expect(named).toEqual(slices);
    for (const { metadata } of rest) expect(metadata.labels).toEqual({ "kubernetes.io/service-name": "kubernetes" });
  });
}
