import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "vitest";
import { importsOf, sourceFiles } from "./support/source-files.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

interface Use {
  readonly isByTests: boolean;
}

/** Functions, classes and constants. A type may be exported for its own sake: it is part of what a function takes or gives. */
const EXPORTED = /^export (?:async |abstract )*(?:function\*?|const|let|class) (\w+)/gm;

const files = ["src", "bench", "scripts", "test"].flatMap((folder) => sourceFiles(join(ROOT, folder)));
const texts = new Map(files.map((file) => [file, readFileSync(file, "utf8")]));
const uses = new Map<string, Use[]>();
for (const { file, target = "", names } of files.flatMap(importsOf)) {
  const isByTests = relative(ROOT, file).startsWith("test/");
  // A file that imports a whole module uses the names that it mentions.
  for (const name of names ?? exportsOf(target).filter((name) => isNamedIn(file, name))) {
    const key = `${target} ${name}`;
    uses.set(key, [...(uses.get(key) ?? []), { isByTests }]);
  }
}

function exportsOf(file: string): string[] {
  return [...(texts.get(file) ?? "").matchAll(EXPORTED)].map(([, name = ""]) => name);
}

/** How often the code of a file has a name; comments do not count. */
function timesNamedIn(file: string, name: string): number {
  const code = (texts.get(file) ?? "").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  return [...code.matchAll(new RegExp(`\\b${name}\\b`, "g"))].length;
}

function isNamedIn(file: string, name: string): boolean {
  return timesNamedIn(file, name) > 0;
}

const exported = files
  .filter((file) => relative(ROOT, file).startsWith("src/"))
  .flatMap((file) => exportsOf(file).map((name) => ({ file, name, uses: uses.get(`${file} ${name}`) ?? [] })));

const shown = ({ file, name }: { readonly file: string; readonly name: string }) => `${relative(ROOT, file)}: ${name}`;

test("the reader of exports finds them", () => {
  assert.ok(exported.length > 1000, `found ${exported.length} exports`);
});

test("every export is used by another file", () => {
  assert.deepEqual(exported.filter(({ uses }) => uses.length === 0).map(shown), []);
});

test("an export that only tests import is used in its own file", () => {
  const dead = exported.filter(
    ({ file, name, uses }) =>
      uses.length > 0 && uses.every(({ isByTests }) => isByTests) && timesNamedIn(file, name) < 2,
  );
  assert.deepEqual(dead.map(shown), []);
});
