import assert from "node:assert/strict";
import { test } from "vitest";
import { isLocalAddress, isLoopback } from "../../../src/util/net/local-address.js";

test.each([
  ["127.0.0.1", true],
  ["127.8.8.8", true],
  ["::1", true],
  ["localhost", true],
  ["127.0.0.1.example.org", false],
  ["127", false],
  ["192.0.2.1", false],
  ["localhost.example.org", false],
  ["", false],
])("%s is loopback: %s", (host, want) => {
  assert.equal(isLoopback(host), want);
  assert.equal(isLocalAddress(host), want);
});

test("an interface's address belongs to this machine, a neighbour's does not", () => {
  const v4 = { address: "192.0.2.7", netmask: "255.255.255.0", mac: "00:00:5e:00:53:01", internal: false } as const;
  const eth0 = [{ ...v4, family: "IPv4" as const, cidr: "192.0.2.7/24" }];
  assert.equal(isLocalAddress("192.0.2.7", { eth0 }), true);
  assert.equal(isLocalAddress("192.0.2.8", { eth0 }), false);
  assert.equal(isLoopback("192.0.2.7"), false);
});
