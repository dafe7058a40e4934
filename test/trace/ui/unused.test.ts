import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "vitest";
import words from "../../../src/trace/ui/browser/content/words.zh.json" with { type: "json" };
import { sourceFiles } from "../../support/source-files.js";

const SRC = fileURLToPath(new URL("../../../src", import.meta.url));
const PAGE = join(SRC, "trace/ui");
const read = (path: string) => readFileSync(path, "utf8");
const sourceOf = (folder: string) => sourceFiles(folder).map(read).join("\n");

test("every class of the page's style is in one of its components", () => {
  const css = ["browser/page.css", "browser/live/lab/lab.css"].map((name) => read(join(PAGE, name))).join("\n");
  const rules = css
    .replace(/\/\*.*?\*\//gs, "")
    .replace(/@import[^;]*;/g, "")
    .replace(/\{[^{}]*\}/g, "{}");
  const classes = new Set([...rules.matchAll(/\.([a-z][\w-]*)/g)].map(([, name = ""]) => name));
  assert.ok(classes.size > 100);
  const texts = [...sourceOf(PAGE).matchAll(/"[^"\n]*"|`[^`]*`/g)].map(([text]) =>
    text.replace(/\$\{\w[\w.]*\}/g, " "),
  );
  const used = new Set(texts.flatMap((text) => text.split(/[^\w-]+/)));
  assert.deepEqual(
    [...classes].filter((name) => !used.has(name)),
    [],
  );
});

test("every word of the page that has a translation is said somewhere", () => {
  const source = [
    sourceOf(SRC),
    ...["kinds", "legend"].map((name) => read(join(PAGE, `browser/content/${name}.json`))),
  ];
  const all = source.join("\n");
  const isSaid = (word: string) =>
    all.includes(JSON.stringify(word)) || all.includes(`\`${word}\``) || all.includes(`  ${word}: [`);
  assert.deepEqual(
    Object.keys(words).filter((word) => !isSaid(word)),
    [],
  );
});
