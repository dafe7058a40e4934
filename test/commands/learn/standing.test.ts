import assert from "node:assert/strict";
import stringWidth from "string-width";
import { test } from "vitest";
import { labTable } from "../../../src/commands/learn/standing.js";
import { openLibrary } from "../../../src/lab/labs/format/open-library.js";
import { EMPTY_PROGRESS } from "../../../src/lab/labs/progress/progress.js";
import { sayIn } from "../../../src/util/i18n/catalogue.js";
import { LANGUAGES } from "../../../src/util/i18n/language.js";
import { fitted } from "../../../src/util/text/text-width.js";

const { summaries } = await openLibrary();

for (const language of LANGUAGES) {
  test(`the list fits an 80-column terminal, and is whole elsewhere: ${language}`, () => {
    const words = { language, say: sayIn(language) };
    for (const line of labTable(summaries, EMPTY_PROGRESS, words, (line) => fitted(line, 80)).split("\n")) {
      assert.ok(stringWidth(line) <= 80, line);
    }
    const whole = labTable(summaries, EMPTY_PROGRESS, words);
    for (const { title } of summaries) assert.ok(whole.includes(title[language]), title[language]);
  });
}
