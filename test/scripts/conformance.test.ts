import assert from "node:assert/strict";
import { test } from "vitest";
import { type Outcome, outcomeOf } from "../../scripts/conformance/suite.js";
import { table } from "../../scripts/conformance/table.js";

const report = (block: string, passed: number, failed: number) =>
  `S\n------------------------------\n${block}\n------------------------------\nS\nRan 1 of 9 Specs in 1.0 seconds\n` +
  `X! -- ${passed} Passed | ${failed} Failed | 0 Pending | 8 Skipped\n`;
const failure = (message: string) =>
  `• Failure [1.2 seconds]\n[sig] Group\n/src/framework.go:1\n  works [It]\n  /src/case.go:7\n\n${message}\n\n  /src/case.go:9`;

const OUTCOMES: readonly (readonly [string, string, Outcome])[] = [
  ["a passed case", report("• [SLOW TEST:6.0 seconds]", 1, 0), { kind: "passed" }],
  ["a case that skips itself", report("S [SKIPPING] [0.1 seconds]", 0, 0), { kind: "skipped" }],
  [
    "a failed call, after its Go value",
    report(
      failure('  Nov 22 22:00:50.337: Unexpected error:\n      <*e>: {s: "t"}\n      timed out\n  occurred'),
      0,
      1,
    ),
    { kind: "failed", error: "timed out" },
  ],
  [
    "a comparison, in one line",
    report(failure("  Expected\n      <string>: a\n  to equal\n      <string>: b"), 0, 1),
    { kind: "failed", error: "Expected <string>: a to equal <string>: b /src/case.go:9" },
  ],
  [
    "a message without its time",
    report(failure("  Nov 22 22:00:50.337: no pod\n  more"), 0, 1),
    { kind: "failed", error: "no pod" },
  ],
  [
    "a case in a nested container",
    report(
      "• Failure [1 s]\n[sig] A\n/a.go:1\n  b\n  /b.go:2\n    c [It]\n    /c.go:3\n\n    no pod\n\n    /c.go:4",
      0,
      1,
    ),
    { kind: "failed", error: "no pod" },
  ],
  ["a binary that breaks off", "panic: no cluster\ngoroutine 1", { kind: "failed", error: "panic: no cluster" }],
];

for (const [what, output, outcome] of OUTCOMES) {
  test(`outcomeOf: ${what}`, () => assert.deepEqual(outcomeOf(output), outcome));
}

test("table counts per group and lists failures", () => {
  const text = table([
    { one: { name: "a", group: "auth" }, outcome: { kind: "passed" } },
    { one: { name: "b", group: "node" }, outcome: { kind: "failed", error: "why" } },
    { one: { name: "c", group: "node" }, outcome: { kind: "skipped" } },
  ]);
  assert.equal(
    text,
    [
      "group            cases  passed  failed skipped",
      "auth                 1       1       0       0",
      "node                 2       0       1       1",
      "all                  3       1       1       1",
      "",
      "node: b",
      "    why",
      "",
    ].join("\n"),
  );
});
