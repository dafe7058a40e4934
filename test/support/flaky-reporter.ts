import type { Reporter, TestModule } from "vitest/node";

/**
 * Names at the end of a run the tests that failed first and passed when they were tried again, with how they failed: each
 * is a defect to find, in the test or in what it tests.
 */
export class FlakyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        if (test.diagnostic()?.flaky !== true) continue;
        process.stdout.write(`FLAKY ${module.relativeModuleId} > ${test.fullName}\n`);
        for (const error of test.result().errors ?? []) process.stdout.write(`${error.stack ?? error.message}\n`);
      }
    }
  }
}
