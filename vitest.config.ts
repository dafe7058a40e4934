import { defineConfig, type ViteUserConfig } from "vitest/config";
import {
  EXERCISE_PROCESS_VARIABLE,
  RUNTIME_PROCESS_VARIABLE,
  UTILITY_PROCESS_VARIABLE,
} from "./test/support/runtime-process.js";
import { SummaryReporter } from "./test/support/summary-reporter.js";

const { BROWSER_BUNDLE } = (await import(new URL("scripts/browser-bundle.mjs", import.meta.url).href)) as {
  readonly BROWSER_BUNDLE: NonNullable<ViteUserConfig["plugins"]>[number];
};

/** Real programs, child processes, the whole CLI. */
const SYSTEM = ["test/integration/**/*.test.ts", "test/**/*.system.test.ts"];
/** Whatever takes long: all labs, soak, storms, comparison with recordings. */
const PROOF = ["test/parity/**/*.test.ts", "test/**/*.proof.test.ts"];
const WATCHED = ["test/support/watch-for-hangs.ts"];

export default defineConfig({
  plugins: [BROWSER_BUNDLE],
  // Where an embedded runtime finds the programs of its processes, which the tests' set-up bundles.
  define: {
    KUBELAB_RUNTIME_PROCESS: `process.env.${RUNTIME_PROCESS_VARIABLE}`,
    KUBELAB_UTILITY_PROCESS: `process.env.${UTILITY_PROCESS_VARIABLE}`,
    KUBELAB_EXERCISE_PROCESS: `process.env.${EXERCISE_PROCESS_VARIABLE}`,
  },
  test: {
    globalSetup: ["test/support/temporary-folder.ts", "test/support/runtime-process.ts"],
    // Far more than any test needs: a busy machine must not turn a run red.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Two workers fill a small machine: many suites start servers and child processes of their own.
    maxWorkers: 2,
    // Files share their worker's modules. Loading src for each file would take much of the time.
    isolate: false,
    // The summary names each test that passed only at the second attempt.
    retry: process.env["CI"] === undefined ? 0 : 1,
    reporters: ["default", new SummaryReporter()],
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          setupFiles: [...WATCHED, "test/support/facts-have-reasons.ts"],
          include: ["test/**/*.test.ts"],
          exclude: [...SYSTEM, ...PROOF],
        },
      },
      {
        extends: true,
        test: { name: "system", setupFiles: WATCHED, include: SYSTEM, exclude: ["test/**/*.proof.test.ts"] },
      },
      // A proof begins in a process that nothing has filled before: some measure memory and clocks.
      { extends: true, test: { name: "proof", setupFiles: WATCHED, include: PROOF, isolate: true } },
    ],
  },
});
