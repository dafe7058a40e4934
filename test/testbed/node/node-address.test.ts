import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { claimNodeAddress } from "../../../src/testbed/node/node-address.js";

const newFolder = () => join(mkdtempSync(join(tmpdir(), "addresses-")), "network");

test("each node gets an address of its own, also if they start at the same time", async () => {
  const folder = newFolder();
  const claimed = await Promise.all(["a", "b", "c"].map((name) => claimNodeAddress(folder, name)));
  assert.deepEqual(claimed.map(({ address }) => address).sort(), ["10.240.0.2", "10.240.0.3", "10.240.0.4"]);
});

test("a released address is free again, and so is that of a process that was killed", async () => {
  const folder = newFolder();
  const first = await claimNodeAddress(folder, "a");
  const second = await claimNodeAddress(folder, "b");
  await first.release();
  assert.equal((await claimNodeAddress(folder, "c")).address, first.address);
  const noProcess = 2 ** 22 + 1;
  writeFileSync(join(folder, second.address), `${noProcess} b\n`);
  assert.equal((await claimNodeAddress(folder, "d")).address, second.address);
});

test("a node that did not clean up gets its address again", async () => {
  const folder = newFolder();
  await claimNodeAddress(folder, "a");
  const { address } = await claimNodeAddress(folder, "b");
  assert.equal((await claimNodeAddress(folder, "b")).address, address);
});

test("a folder that cannot be written is reported", async () => {
  const folder = newFolder();
  writeFileSync(folder, "");
  await assert.rejects(claimNodeAddress(folder, "a"), { code: "BAD_FILE" });
});
