import assert from "node:assert/strict";
import stringWidth from "string-width";
import { test } from "vitest";
import { labTable } from "../../../src/commands/learn/standing.js";
import { openLibrary } from "../../../src/lab/labs/format/open-library.js";
import { EMPTY_PROGRESS } from "../../../src/lab/labs/progress/progress.js";
import { sayIn } from "../../../src/util/i18n/catalogue.js";
import { LANGUAGES } from "../../../src/util/i18n/language.js";

const { summaries } = await openLibrary();

const ROWS = /^(?:\d\w?|i\d+) /;

for (const language of LANGUAGES) {
  const words = { language, say: sayIn(language) };
  const shown = (columns: number) => labTable(summaries, EMPTY_PROGRESS, words, { columns, mark: "…" }).split("\n");

  test(`the list fits a terminal, and its titles have room: ${language}`, () => {
    for (const columns of [60, 80, 100]) {
      for (const line of shown(columns)) assert.ok(stringWidth(line) <= columns, line);
      for (const line of shown(columns).filter((one) => ROWS.test(one))) {
        const id = line.split(/ +/)[1] ?? "";
        const title = summaries.find((lab) => lab.id === id)?.title[language] ?? "";
        const text = line.slice(line.lastIndexOf("  ")).trim();
        assert.ok(text === title || stringWidth(text) >= (columns === 60 ? 18 : 28), `${columns} columns: ${line}`);
        assert.ok(line.includes(words.say("progressNone")), `the progress at ${columns} columns: ${line}`);
      }
    }
  });

  test(`it is whole elsewhere, and explains its column OWN where it has one: ${language}`, () => {
    const whole = labTable(summaries, EMPTY_PROGRESS, words);
    for (const { title } of summaries) assert.ok(whole.includes(title[language]), title[language]);
    const meaning = (text: string) => text.replace(/\s/g, "").includes(words.say("ownMeans").replace(/\s/g, ""));
    const heads = (columns: number) => shown(columns)[0]?.includes(words.say("columnOwn"));
    assert.ok(meaning(whole));
    for (const columns of [60, 120]) assert.equal(meaning(shown(columns).join("\n")), heads(columns));
    assert.deepEqual([heads(60), heads(120)], [false, true]);
  });
}
