import assert from "node:assert/strict";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "vitest";
import { zh } from "../src/util/i18n/sentences/zh.js";
import { FactSentences } from "./support/fact-sentences.js";
import { sourceFiles } from "./support/source-files.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SRC = join(ROOT, "src");
const catalogue: Readonly<Record<string, string>> = zh;
/** Rooms whose texts are upstream's, or that have catalogues of their own. */
const ELSEWHERE =
  /^(?:cluster\/shell|staging\/apimachinery|lab\/(?:labs|kubectl)|util|trace\/(?!story\/))\/|^trace\/(?!story\/)|^cli\.ts/;

const paths = sourceFiles(SRC).filter((path) => path.endsWith(".ts") && !path.includes("/browser/"));
const { found } = new FactSentences(paths);
const sentences = [...found]
  .map(([sentence, path]) => ({ sentence, file: relative(SRC, path) }))
  .filter(({ file }) => !ELSEWHERE.test(file));

test("the reader of sentences finds them", () => assert.ok(sentences.length > 700, `found ${sentences.length}`));

test("each sentence of a fact is in the Chinese catalogue; an empty translation means that it stays English", () => {
  const missing = sentences.filter(({ sentence }) => catalogue[sentence] === undefined);
  assert.deepEqual(missing, []);
});

test("a translation has the values of its sentence, each once", () => {
  const valuesOf = (text: string) => (text.match(/\{\d+\}/g) ?? []).sort();
  const wrong = Object.entries(catalogue).filter(
    ([english, translation]) => translation !== "" && valuesOf(english).join(" ") !== valuesOf(translation).join(" "),
  );
  assert.deepEqual(wrong, []);
});
