import { expect, test } from "vitest";
import { proportionalBytes, residentBytes } from "../../../src/util/os/resident-memory.js";

test.runIf(process.platform === "linux")("pages that processes share count in part", () => {
  // The parent of a test's process runs the same program.
  const parts = proportionalBytes(process.pid);
  expect(parts).toBeGreaterThan(2 ** 20);
  expect(parts).toBeLessThan(residentBytes(process.pid));
});

test("a process that has ended uses nothing", () => {
  expect([residentBytes(2 ** 30), proportionalBytes(2 ** 30)]).toEqual([0, 0]);
});
