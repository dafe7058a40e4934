import { defineConfig } from "vitest/config";
import { FlakyReporter } from "./test/support/flaky-reporter.js";

export default defineConfig({
  test: {
    globalSetup: ["test/support/temporary-folder.ts"],
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Integration suites start real servers and child processes: two workers fill a small machine.
    maxWorkers: 2,
    // Some thousand tests, real programs and a busy machine: where one in ten runs is red for nothing, red means nothing.
    // What passed only at the second try is named at the end.
    retry: process.env["CI"] === undefined ? 0 : 1,
    reporters: [new FlakyReporter(), "default"],
  },
});
