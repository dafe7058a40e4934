import { expect, test } from "vitest";
import { realUsage } from "../../../src/testbed/node/machine-usage.js";

test.skipIf(process.platform !== "linux")("a Linux machine knows its memory and its processes", () => {
  const { memoryBytes = 0, memoryCapacityBytes = 0, processes } = realUsage()?.read() ?? {};
  expect(memoryBytes).toBeGreaterThan(0);
  expect(memoryCapacityBytes).toBeGreaterThan(memoryBytes);
  expect(processes?.count).toBeGreaterThan(0);
  expect(processes?.max).toBeGreaterThan(processes?.count ?? Number.POSITIVE_INFINITY);
});
