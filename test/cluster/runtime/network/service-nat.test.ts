import assert from "node:assert/strict";
import { test } from "vitest";
import type { RuleTable, ServiceRule, Verdict } from "../../../../src/cluster/netfilter/rules.js";
import { type NatPacket, ServiceNat } from "../../../../src/cluster/runtime/network/service-nat.js";
import { FakeClock, FakeRandom } from "../../../support/fake-clock.js";

class ListedRandom extends FakeRandom {
  constructor(readonly floats: number[]) {
    super();
  }
  override float(): number {
    return this.floats.shift() ?? 0;
  }
}

const ENDPOINTS = ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80", "10.0.0.4:80"];
const dnat = (more: Partial<Verdict & { readonly kind: "dnat" }> = {}): Verdict => {
  return { kind: "dnat", chain: "KUBE-SVC-X", endpoints: ENDPOINTS, ...more };
};
const rule = (verdict: Verdict, more: Partial<ServiceRule> = {}): ServiceRule => {
  return { service: "ns/web", protocol: "tcp", address: "cluster IP", ip: "10.96.0.9", port: 80, verdict, ...more };
};
const nodePort = (verdict: Verdict, from?: ServiceRule["from"]): ServiceRule => {
  const { ip: _ip, ...rest } = rule(verdict, { address: "node port", port: 30_080 });
  return from === undefined ? rest : { ...rest, from };
};

const TABLE: RuleTable = {
  rules: [
    rule(dnat()),
    rule(dnat({ endpoints: ["10.0.0.9:53"] }), { protocol: "udp", port: 53 }),
    rule({ kind: "reject", why: "ns/empty has no endpoints" }, { ip: "10.96.0.10" }),
    rule({ kind: "drop", why: "ns/far has no local endpoints" }, { ip: "10.96.0.11" }),
    rule(dnat({ endpoints: ["127.0.0.1:6443"], isControlPlane: true }), { ip: "10.96.0.1", port: 443 }),
    nodePort(dnat({ endpoints: ["10.0.0.1:80"] }), "pods"),
    nodePort(dnat({ endpoints: ["10.0.0.2:80"], masquerade: true }), "node"),
    nodePort(dnat({ endpoints: ["10.0.0.3:80"] })),
  ],
};

function packet(to: string, more: Partial<NatPacket> = {}, from = "10.0.0.77"): NatPacket {
  const [ip = "", port] = to.split(":");
  return {
    protocol: "tcp",
    from: { ip: from, port: 40_000 },
    to: { ip, port: Number(port) },
    sender: "pods",
    isForNode: false,
    ...more,
  };
}

function decideWith(table: RuleTable, one: NatPacket, float = 0): string {
  const nat = new ServiceNat({ clock: new FakeClock(), random: new FakeRandom(float) });
  nat.restore(table);
  const decision = nat.decide(one);
  if (decision === undefined) return "none";
  const { verdict } = decision;
  if (verdict.kind !== "dnat") return `${verdict.kind}: ${verdict.why}`;
  const marks = `${verdict.isMasqueraded ? " masqueraded" : ""}${verdict.isControlPlane ? " control plane" : ""}`;
  return `${verdict.to.ip}:${verdict.to.port}${marks}`;
}

const ROWS: readonly (readonly [string, NatPacket, number, string])[] = [
  ["the first endpoint", packet("10.96.0.9:80"), 0, "10.0.0.1:80"],
  ["the second", packet("10.96.0.9:80"), 0.25, "10.0.0.2:80"],
  ["the last", packet("10.96.0.9:80"), 0.999, "10.0.0.4:80"],
  ["another port", packet("10.96.0.9:81"), 0, "none"],
  ["another protocol", packet("10.96.0.9:80", { protocol: "udp" }), 0, "none"],
  ["UDP", packet("10.96.0.9:53", { protocol: "udp" }), 0, "10.0.0.9:53"],
  ["a pod", packet("10.0.0.1:80"), 0, "none"],
  ["no endpoints", packet("10.96.0.10:80"), 0, "reject: ns/empty has no endpoints"],
  ["no local endpoints", packet("10.96.0.11:80"), 0, "drop: ns/far has no local endpoints"],
  ["a pod that reaches itself", packet("10.96.0.9:80", {}, "10.0.0.1"), 0, "10.0.0.1:80 masqueraded"],
  ["the API server", packet("10.96.0.1:443"), 0, "127.0.0.1:6443 control plane"],
  ["a node port, from a pod", packet("10.244.1.1:30080", { isForNode: true }), 0, "10.0.0.1:80"],
  [
    "a node port, from the node",
    packet("127.0.0.1:30080", { isForNode: true, sender: "node" }),
    0,
    "10.0.0.2:80 masqueraded",
  ],
  ["a node port, from outside", packet("10.244.1.1:30080", { isForNode: true, sender: "outside" }), 0, "10.0.0.3:80"],
  ["the number of a node port at an address that is not the node's", packet("10.0.0.1:30080"), 0, "none"],
];
for (const [what, one, float, want] of ROWS) {
  test(`nat: ${what}: ${want}`, () => assert.equal(decideWith(TABLE, one, float), want));
}

test("nat: without rules nothing is translated, and new rules replace old ones", () => {
  const nat = new ServiceNat({ clock: new FakeClock(), random: new FakeRandom() });
  assert.equal(nat.decide(packet("10.96.0.9:80")), undefined);
  nat.restore(TABLE);
  assert.notEqual(nat.decide(packet("10.96.0.9:80")), undefined);
  nat.restore({ rules: [] });
  assert.equal(nat.decide(packet("10.96.0.9:80")), undefined);
});

test("nat: each endpoint is as likely as the others", () => {
  const random = new ListedRandom(Array.from({ length: 400 }, (_, i) => i / 400));
  const nat = new ServiceNat({ clock: new FakeClock(), random });
  nat.restore(TABLE);
  const counts = new Map<string, number>();
  for (let i = 0; i < 400; i++) {
    const verdict = nat.decide(packet("10.96.0.9:80"))?.verdict;
    assert.ok(verdict?.kind === "dnat");
    counts.set(verdict.to.ip, (counts.get(verdict.to.ip) ?? 0) + 1);
  }
  assert.deepEqual([...counts.values()], [100, 100, 100, 100]);
});

test("nat: with session affinity a client stays, until its time or its endpoint is over", async () => {
  const clock = new FakeClock();
  const nat = new ServiceNat({ clock, random: new ListedRandom([0, 0.3, 0.6, 0.9]) });
  const sticky = (endpoints: readonly string[]) =>
    nat.restore({ rules: [rule(dnat({ endpoints, affinitySeconds: 10 }))] });
  const go = (from: string) => {
    const verdict = nat.decide(packet("10.96.0.9:80", {}, from))?.verdict;
    assert.ok(verdict?.kind === "dnat");
    return `${verdict.to.ip} ${/affinity/.test(verdict.why) ? "again" : "new"}`;
  };
  sticky(ENDPOINTS);
  assert.equal(go("10.0.0.77"), "10.0.0.1 new");
  assert.equal(go("10.0.0.88"), "10.0.0.2 new");
  await clock.advance(9_000);
  assert.equal(go("10.0.0.77"), "10.0.0.1 again");
  await clock.advance(9_000);
  assert.equal(go("10.0.0.77"), "10.0.0.1 again", "each connection renews it");
  assert.equal(go("10.0.0.88"), "10.0.0.3 new", "18 s are too long");
  sticky(["10.0.0.4:80"]);
  assert.equal(go("10.0.0.77"), "10.0.0.4 new", "its endpoint is gone");
});
