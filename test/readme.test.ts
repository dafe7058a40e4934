import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "vitest";
import { COMMANDS } from "../src/commands/command-table.js";

const readme = readFileSync("README.md", "utf8");

test("README has at most 150 lines", () => {
  assert.ok(readme.split("\n").length <= 150);
});

test("the README's tree has every folder of src", () => {
  const folders = readdirSync("src", { withFileTypes: true }).filter((one) => one.isDirectory());
  const tree = /```\nsrc\/\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  const missing = folders.filter(({ name }) => !tree.includes(`${name}/`)).map(({ name }) => name);
  assert.deepEqual(missing, []);
});

test("docs/commands.md describes every command", () => {
  const titles = [...readFileSync("docs/commands.md", "utf8").matchAll(/^## (.*)$/gm)].flatMap(([, title = ""]) =>
    title.split(", "),
  );
  assert.deepEqual(titles.sort(), COMMANDS.map(({ name }) => name).sort());
});

test("the README's table has every command", () => {
  const table = readme.split("\n").filter((line) => line.startsWith("| `kubelab "));
  const missing = COMMANDS.filter(
    ({ name }) => !table.some((line) => new RegExp(`\`(kubelab )?${name}\\b`).test(line.split(" | ")[0] ?? "")),
  );
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
  );
});

test("README.zh.md is its Chinese twin: linked both ways, with the same commands", () => {
  const chinese = readFileSync("README.zh.md", "utf8");
  assert.match(readme, /^# kubelab\n\n.*\(README\.zh\.md\)/);
  assert.match(chinese, /^# kubelab\n\n.*\(README\.md\)/);
  const rows = (text: string) => text.match(/^\| `kubelab [^|]*\|/gm);
  // Comments are in the page's language.
  const typed = (text: string) => text.match(/^(?:npm|npx) [^#\n]*/gm)?.map((line) => line.trim());
  assert.deepEqual(rows(chinese), rows(readme));
  assert.deepEqual(typed(chinese), typed(readme));
});

test("the package has every file that the README links to and --help names", () => {
  const { files } = JSON.parse(readFileSync("package.json", "utf8")) as { files: readonly string[] };
  const links = [...readme.matchAll(/\]\((?!https?:|#)([^)]+)\)/g)].map(([, path = ""]) => path.split("/")[0] ?? "");
  assert.ok(links.length > 2, `${links}`);
  assert.deepEqual(
    [...new Set([...links, "examples"])].filter((one) => !files.includes(one)),
    [],
  );
});
