import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { labTable, standingIn } from "../../../src/commands/learn/list.js";
import { jsonReport, junitReport } from "../../../src/commands/learn/report.js";
import { sayIn } from "../../../src/i18n/catalogue.js";
import type { LabSummary } from "../../../src/labs/library.js";
import type { LabProgress, Progress } from "../../../src/labs/progress.js";

const summary = (id: string, title: string): LabSummary => ({
  id,
  number: "1",
  kind: "chapter",
  cluster: "any",
  minutes: 5,
  revision: 2,
  steps: ["a", "b"],
  title: { en: title, zh: "节点" },
  summary: { en: "s", zh: "s" },
});
const begun = (over: Partial<LabProgress>): LabProgress => ({
  revision: 2,
  seed: 1,
  done: [],
  hints: 3,
  rightPredictions: 1,
  wrongPredictions: 2,
  startedAtMs: Date.parse("2026-01-02T03:04:05Z"),
  ...over,
});
const labs = [summary("one", 'What <"makes"> & breaks'), summary("two", "Two"), summary("three", "Three")];
const progress: Progress = {
  version: 1,
  labs: {
    one: begun({ done: ["a"] }),
    two: begun({ done: ["a", "b"], finishedAtMs: Date.parse("2026-01-02T04:00:00Z") }),
    three: begun({ revision: 1, done: ["a"] }),
  },
};

test("how far a learner is; an older revision of a lab does not count", () => {
  assert.deepEqual(
    labs.map((lab) => standingIn(lab, progress)),
    [
      { state: "begun", done: 1 },
      { state: "done", done: 2 },
      { state: "not-begun", done: 0 },
    ],
  );
});

test("the report as JSON has an entry for each lab", () => {
  const report = jsonReport(labs, progress) as { version: number; labs: Record<string, unknown>[] };
  assert.equal(report.version, 1);
  assert.deepEqual(report.labs[0], {
    id: "one",
    number: "1",
    title: 'What <"makes"> & breaks',
    state: "begun",
    stepsDone: 1,
    steps: 2,
    hints: 3,
    rightPredictions: 1,
    wrongPredictions: 2,
    startedAt: "2026-01-02T03:04:05.000Z",
    finishedAt: null,
  });
  assert.equal(report.labs[1]?.["finishedAt"], "2026-01-02T04:00:00.000Z");
  assert.equal(report.labs[2]?.["startedAt"], null);
});

/** Parses elements, attributes and entities. @throws Error if the text is not well-formed */
function parseXml(xml: string): { readonly name: string; readonly attributes: Record<string, string> }[] {
  const out: { name: string; attributes: Record<string, string> }[] = [];
  const open: string[] = [];
  const body = xml.replace(/^<\?xml [^?]*\?>\n/, "");
  let at = 0;
  for (const match of body.matchAll(/<(\/?)([\w]+)((?:\s+[\w-]+="[^"<>]*")*)\s*(\/?)>/g)) {
    assert.equal(body.slice(at, match.index).trim(), "", "text between the elements");
    at = (match.index ?? 0) + match[0].length;
    const [, closes, name = "", attributes = "", isEmpty] = match;
    if (closes === "/") assert.equal(open.pop(), name);
    else {
      const pairs = [...attributes.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key = "", value = ""]) => {
        assert.doesNotMatch(value, /&(?!amp;|lt;|gt;|quot;)/);
        return [key, value] as const;
      });
      out.push({ name, attributes: Object.fromEntries(pairs) });
      if (isEmpty !== "/") open.push(name);
    }
  }
  assert.equal(body.slice(at).trim(), "");
  assert.deepEqual(open, []);
  return out;
}

describe("the report as JUnit's XML", () => {
  test("is well-formed; a lab is a suite, a step a case, a step not done is skipped", () => {
    const elements = parseXml(junitReport(labs, progress));
    const suites = elements.filter(({ name }) => name === "testsuite").map(({ attributes }) => attributes);
    assert.deepEqual(
      suites.map(({ tests, skipped, failures }) => [tests, skipped, failures]),
      [
        ["2", "1", "0"],
        ["2", "0", "0"],
        ["2", "2", "0"],
      ],
    );
    assert.equal(suites[0]?.["name"], "1 What &lt;&quot;makes&quot;&gt; &amp; breaks");
    assert.equal(elements.filter(({ name }) => name === "testcase").length, 6);
    assert.equal(elements.filter(({ name }) => name === "skipped").length, 3);
  });
});

test("the table counts wide characters as two columns", () => {
  const lines = labTable(labs, progress, { language: "zh", say: sayIn("zh") }).split("\n");
  assert.equal(lines.length, 4);
  assert.match(lines[1] ?? "", /one .*5 分钟 .*2 步中已完成 1 步/);
});
