import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { jsonReport, junitReport, wordReport } from "../../../src/commands/learn/report.js";
import { labTable, nextLab, standingIn } from "../../../src/commands/learn/standing.js";
import type { LabSummary } from "../../../src/lab/labs/format/library.js";
import { openLibrary } from "../../../src/lab/labs/format/open-library.js";
import { EMPTY_PROGRESS, type LabProgress, type Progress } from "../../../src/lab/labs/progress/progress.js";
import { sayIn } from "../../../src/util/i18n/catalogue.js";
import { LANGUAGES } from "../../../src/util/i18n/language.js";
import { textWidth } from "../../../src/util/text/text-width.js";

const summary = (id: string, title: string): LabSummary => ({
  id,
  number: "1",
  kind: "chapter",
  cluster: "any",
  minutes: 5,
  revision: 2,
  steps: ["a", "b"],
  predictions: ["a"],
  tasks: ["b"],
  needs: [],
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

test("a lab that was finished once stays done while it is played again", () => {
  const best = { rightPredictions: 1, wrongPredictions: 0, hints: 0, solved: 1, shown: 0, finishedAtMs: 5 };
  const again = { version: 1, labs: { one: begun({ done: ["a"], best }) } } as const;
  assert.deepEqual(labs.map((lab) => standingIn(lab, again))[0], { state: "done", done: 1 });
});

describe("the next lab", () => {
  const [one, two, three] = labs;
  const done = (startedAtMs: number) => begun({ done: ["a", "b"], finishedAtMs: 9, startedAtMs });
  const open = (startedAtMs: number) => begun({ done: ["a"], startedAtMs });
  const table: readonly (readonly [string, Progress["labs"], LabSummary | undefined, LabSummary | undefined])[] = [
    ["nothing is begun: the first", {}, undefined, one],
    ["the first is done: the second", { one: done(1) }, undefined, two],
    ["of those begun, the one begun last", { one: open(1), three: open(2) }, undefined, three],
    ["after a lab: the one behind it, although another is begun", { one: open(1), two: done(2) }, two, three],
    ["after the last lab: the first that is open", { two: done(1), three: done(2) }, three, one],
    ["all are done", { one: done(1), two: done(2), three: done(3) }, two, undefined],
  ];
  for (const [name, played, last, wanted] of table) {
    test(name, () => assert.equal(nextLab(labs, { version: 1, labs: played }, last), wanted));
  }
  test("a lab whose program is missing is passed over", () => {
    assert.equal(
      nextLab(labs, EMPTY_PROGRESS, undefined, (lab) => lab !== one),
      two,
    );
  });
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
    tasks: 1,
    tasksSolved: 0,
    tasksShown: 0,
    points: 4,
    mostPoints: 20,
    exam: null,
    bestPoints: null,
    startedAt: "2026-01-02T03:04:05.000Z",
    finishedAt: null,
  });
  assert.equal(report.labs[1]?.["finishedAt"], "2026-01-02T04:00:00.000Z");
  assert.equal(report.labs[2]?.["startedAt"], null);
});

describe("the report in words", () => {
  const words = (labsPlayed: Progress["labs"], language: "en" | "zh" = "en") =>
    wordReport(labs, { version: 1, labs: labsPlayed }, sayIn(language), { nowMs: 0 }).split("\n");
  const shown = { done: ["a", "b"], shown: ["b"], finishedAtMs: 9 };

  test("a task that was shown is no task that was solved, and gives no points", () => {
    const lines = words({ one: begun({ ...shown, hints: 0 }), two: begun({ done: ["a", "b"], finishedAtMs: 9 }) });
    assert.equal(lines[0], "2 of 3 labs done.");
    assert.match(lines[2] ?? "", /^NO +ID +PROGRESS +POINTS +ANSWERS +SOLVED +SHOWN +HINTS$/);
    assert.match(lines[3] ?? "", /^1 +one +done +10\/20 +1\/1 +0\/1 +1 +0$/);
    assert.match(lines[4] ?? "", /^1 +two +done +14\/20 +1\/1 +1\/1 +0 +3$/);
    assert.match(lines[6] ?? "", /^SHOWN: .*\(1\)\. They give no points\.$/);
    assert.match(lines[7] ?? "", /^Not started: 1\./);
  });
  test("the best run counts, also while the lab is played again", () => {
    const best = { rightPredictions: 1, wrongPredictions: 0, hints: 0, solved: 1, shown: 0, finishedAtMs: 5 };
    assert.match(words({ one: begun({ best }) })[3] ?? "", /done +20\/20 +1\/1 +1\/1 +0 +0$/);
  });
  test("an exam has a line of its own", () => {
    const exam = { atMs: 9, minutes: 12, usedMs: 61_000, points: 10, mostPoints: 20, isFinished: false };
    assert.equal(words({ one: begun({ exam }) })[5], "one: Exam: 10 of 20 points, 2 of 12 min used.");
  });
  test("on a terminal no line is wider than it, and a pipe gets whole lines", async () => {
    const { summaries } = await openLibrary();
    const run = { rightPredictions: 1, wrongPredictions: 0, hints: 2, startedAtMs: 1, seed: 1 };
    const all = summaries.map(({ id, revision, steps }) => {
      return [id, { ...run, revision, done: steps.slice(1), shown: steps.slice(2) }] as const;
    });
    const played = { version: 1, labs: Object.fromEntries(all) } as const;
    for (const language of LANGUAGES) {
      for (const columns of [80, 60]) {
        const text = wordReport(summaries, played, sayIn(language), { columns, nowMs: 0 });
        for (const line of text.split("\n")) assert.ok(textWidth(line) <= columns, line);
      }
      const piped = wordReport(summaries, played, sayIn(language), { nowMs: 0 }).split("\n");
      assert.equal(piped.filter((line) => line.includes("--yes")).length, 1);
      assert.ok(piped.includes(sayIn(language)("reportNotBegun", { count: 0 })));
    }
  });
  test("the incidents of days and the time in all", () => {
    const day = (date: string, lab = "one") => {
      const startedAtMs = Date.parse(date);
      return { lab, startedAtMs, finishedAtMs: startedAtMs + 60_000 };
    };
    const today = { "2026-01-02": day("2026-01-02"), "2026-01-03": day("2026-01-03") };
    const played = {
      version: 1,
      labs: { one: begun({ ...shown, finishedAtMs: Date.parse("2026-01-02T04:04:05Z") }) },
    } as const;
    const nowMs = new Date(2026, 0, 4, 12).getTime();
    const text = wordReport(labs, { ...played, today }, sayIn("en"), { nowMs });
    assert.match(text, /finished labs, pauses included: 60 min/);
    assert.match(text, /Incidents of the day: 2 finished, days in a row: 2/);
  });
  test("nothing is begun: how to begin", () => {
    assert.deepEqual(words({}), ["0 of 3 labs done.", "Begin with: kubelab learn"]);
    assert.match(words({}, "zh").join("\n"), /从这里开始：kubelab learn/);
  });
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

test("JUnit's XML: a prediction that was answered wrongly is a failure", () => {
  const elements = parseXml(junitReport(labs, { version: 1, labs: { one: begun({ done: ["a"], wrong: ["a"] }) } }));
  const [suite, first, failure, second, skipped] = elements.slice(1);
  const { failures, skipped: count } = suite?.attributes ?? {};
  assert.deepEqual([failures, count], ["1", "1"]);
  assert.deepEqual([first?.attributes["name"], failure?.name], ["a", "failure"]);
  assert.equal(failure?.attributes["message"], "wrong prediction");
  assert.deepEqual([second?.attributes["name"], skipped?.name], ["b", "skipped"]);
});

test("the table counts wide characters as two columns", () => {
  const lines = labTable(labs, progress, { language: "zh", say: sayIn("zh") }).split("\n");
  // The last two are an empty line, and what the column OWN means.
  assert.equal(lines.length, 4 + 2);
  assert.match(lines[1] ?? "", /one .*5 分钟 .*1\/2 步/);
});
