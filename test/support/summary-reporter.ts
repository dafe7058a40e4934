import type { Reporter, SerializedError, TestModule } from "vitest/node";

/**
 * Closes a run with `N passed, N failed, N skipped`. Names before it the tests that failed at first and passed when they
 * were tried again, with their errors: each is a defect to find, in the test or in the code.
 */
export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      // A file that could not be loaded has no tests.
      if (module.state() === "failed" && module.errors().length > 0) counts.failed++;
      for (const test of module.children.allTests()) {
        const { state, errors: reasons = [] } = test.result();
        counts[state === "pending" ? "skipped" : state]++;
        if (test.diagnostic()?.flaky !== true) continue;
        process.stdout.write(`FLAKY ${module.relativeModuleId} > ${test.fullName}\n`);
        for (const error of reasons) process.stdout.write(`${error.stack ?? error.message}\n`);
      }
    }
    // A file whose process ended has no result, only an error.
    const { passed, failed, skipped } = counts;
    process.stdout.write(`${passed} passed, ${failed + errors.length} failed, ${skipped} skipped\n`);
  }
}
