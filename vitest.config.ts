import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Integration suites start real servers and child processes: two workers fill a small machine.
    maxWorkers: 2,
  },
});
