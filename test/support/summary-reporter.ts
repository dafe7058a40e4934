import type { Reporter, TestModule } from "vitest/node";

/**
 * Closes a run with `N passed, N failed, N skipped`. Names before it the tests that failed at first and passed when they
 * were tried again, with their errors: each is a defect to find, in the test or in the code.
 */
export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      // A file that could not be loaded has no tests.
      if (module.state() === "failed" && module.errors().length > 0) counts.failed++;
      for (const test of module.children.allTests()) {
        const { state, errors = [] } = test.result();
        counts[state === "pending" ? "skipped" : state]++;
        if (test.diagnostic()?.flaky !== true) continue;
        process.stdout.write(`FLAKY ${module.relativeModuleId} > ${test.fullName}\n`);
        for (const error of errors) process.stdout.write(`${error.stack ?? error.message}\n`);
      }
    }
    process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
  }
}
