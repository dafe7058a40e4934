import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "vitest";
import EN from "../../../labs/messages.en.json" with { type: "json" };
import ZH from "../../../labs/messages.zh.json" with { type: "json" };
import { sayIn } from "../../../src/util/i18n/catalogue.js";
import { languageOf } from "../../../src/util/i18n/language.js";

const keys = Object.keys(EN) as (keyof typeof EN)[];
const placeholders = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]).sort();
/** Messages that are the same in both: names of columns. */
const SAME = new Set(["columnId"]);
const hasWords = (text: string) => /\p{L}/u.test(text.replaceAll(/\{\w+\}/g, ""));

test("both languages have the same keys", () => {
  assert.deepEqual(Object.keys(ZH).sort(), [...keys].sort());
});

for (const key of keys) {
  test(`message ${key}: not empty, the same placeholders, and translated`, () => {
    assert.notEqual(EN[key].trim(), "");
    assert.notEqual(ZH[key].trim(), "");
    assert.deepEqual(placeholders(ZH[key]), placeholders(EN[key]));
    if (hasWords(EN[key]) && !SAME.has(key)) assert.match(ZH[key], /[\u4e00-\u9fff]/);
  });
}

test("values are put in; what has no value stays visible", () => {
  assert.equal(sayIn("en")("hint", { index: 1, count: 2 }), "Hint 1 of 2");
  assert.equal(sayIn("en")("hint", { index: 1 }), "Hint 1 of {count}");
});

const LOCALES: readonly (readonly [Record<string, string>, string])[] = [
  [{ LANG: "zh_CN.UTF-8" }, "zh"],
  [{ LANG: "zh" }, "zh"],
  [{ LANG: "C.UTF-8" }, "en"],
  [{ LANG: "de_DE.UTF-8" }, "en"],
  [{}, "en"],
  [{ LANG: "zh_CN.UTF-8", LC_ALL: "en_GB.UTF-8" }, "en"],
  [{ LANG: "en_GB.UTF-8", LC_MESSAGES: "zh_TW.UTF-8" }, "zh"],
  [{ LANG: "zh_CN.UTF-8", LC_ALL: "" }, "zh"],
];
for (const [env, want] of LOCALES) {
  test(`language of ${JSON.stringify(env)}: ${want}`, () => assert.equal(languageOf(env), want));
}

test("the Chinese of a fact's sentence stands in one file", () => {
  const folder = "src/util/i18n/sentences";
  const files = [...readFileSync(`${folder}/zh.ts`, "utf8").matchAll(/"\.\/(.*\.json)"/g)].map(
    ([, file]) => `${folder}/${file}`,
  );
  const keys = files.flatMap((file) => Object.keys(JSON.parse(readFileSync(file, "utf8"))));
  assert.deepEqual(
    keys.filter((key, at) => keys.indexOf(key) !== at),
    [],
  );
});
