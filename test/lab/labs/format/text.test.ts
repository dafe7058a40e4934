import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { parseLabText } from "../../../../src/lab/labs/format/text.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";
import { TINY_EN } from "../../../support/tiny-lab.js";

test("a lab's text: title, summary, introduction, steps, closing", () => {
  const { text, problems } = parseLabText(TINY_EN, sayIn("en"));
  assert.deepEqual(problems, []);
  assert.equal(text.title, "A tiny lab");
  assert.equal(text.summary, "One sentence about it.");
  assert.equal(text.introduction, "What it is about.");
  assert.deepEqual(Object.keys(text.steps), ["look", "join", "lines", "guess", "back"]);
  assert.deepEqual(text.steps["guess"]?.choices, { stays: "it stays", goes: "it goes" });
  assert.equal(text.steps["join"]?.afterwards, "It has joined.");
  assert.equal(text.steps["back"]?.hints.length, 2);
  assert.deepEqual(text.closing, { debrief: "That was all." });
});

describe("what a line belongs to", () => {
  const step = (body: string) => parseLabText(`# T\nS.\n\n## a: A\n${body}\n`, sayIn("en")).text.steps["a"];
  test("headings inside fenced code are code", () => {
    assert.equal(step("```\n## b: B\n### hints\n```")?.body, "```\n## b: B\n### hints\n```");
  });
  test("an indented line goes on with the item before it", () => {
    assert.deepEqual(step("t\n### hints\n1. one\n   more\n2. two")?.hints, ["one\nmore", "two"]);
  });
  test("an item without words is empty, and not part of the one before", () => {
    assert.deepEqual(step("t\n### hints\n1. one\n2.")?.hints, ["one", ""]);
  });
  test("a summary of two lines is one sentence", () => {
    assert.equal(parseLabText("# T\na\nb\n\nrest\n\nmore", sayIn("en")).text.summary, "a b");
    assert.equal(parseLabText("# T\na\nb\n\nrest\n\nmore", sayIn("en")).text.introduction, "rest\n\nmore");
  });
});

test("a file without a title, or without a summary, is said", () => {
  assert.deepEqual(parseLabText("", sayIn("en")).problems, [
    { line: 1, message: "expected `# Title` in the first line" },
  ]);
  assert.match(parseLabText("# T\n\n", sayIn("en")).problems[0]?.message ?? "", /summary|Title/);
});

describe("lists and tables that a terminal would show as running text", () => {
  const problems = (body: string) => parseLabText(`# T\nS.\n\n## a: A\n${body}\n`, sayIn("en")).problems;
  const table: readonly (readonly [body: string, line: number | undefined])[] = [
    ["Three:\n\n- one\n  more\n- two", undefined],
    ["Three:\n- one\n- two", 6],
    ["Three:\n1. one\n2. two", 6],
    ["It is\n1.25 of them", undefined],
    ["```\nthree:\n- one\n| a |\n```", undefined],
    ["t\n### hints\n1. one\n2. two", undefined],
    ["- one\ngoes on\n- two", undefined],
    ["Three:\n\n| a | b |", 7],
  ];
  for (const [body, line] of table) {
    test(JSON.stringify(body), () => assert.equal(problems(body)[0]?.line, line));
  }
  test("what is wrong is said", () => {
    assert.match(problems("t\n- one")[0]?.message ?? "", /empty line is missing/);
    assert.match(problems("|a|")[0]?.message ?? "", /table/);
  });
});
