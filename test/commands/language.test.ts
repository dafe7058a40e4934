import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { type RunOptions, runInProcess } from "../support/run-cli.js";

const CHINESE = /[\u4e00-\u9fff]/;
const cwd = mkdtempSync(join(tmpdir(), "kubelab-language-"));
const create = ["token", "create", "--trace"] as const;

test("a trace speaks the terminal's language, in a pipe English, and --lang decides", async () => {
  const terminal = { typed: "" };
  const rows: readonly (readonly [string[], RunOptions, boolean])[] = [
    [[], terminal, false],
    [[], { ...terminal, env: { LANG: "zh_CN.UTF-8" } }, true],
    [[], { ...terminal, env: { LANG: "zh_CN.UTF-8", LC_ALL: "C" } }, false],
    [["--lang", "en"], { ...terminal, env: { LANG: "zh_CN.UTF-8" } }, false],
    [[], { env: { LANG: "zh_CN.UTF-8" } }, false],
    [["--lang", "zh"], {}, true],
  ];
  for (const [flags, options, want] of rows) {
    const { code, stderr } = await runInProcess(["token", "create", ...flags], options);
    assert.equal(code, 0);
    assert.equal(CHINESE.test(stderr), want, `${flags.join(" ")} ${JSON.stringify(options)}: ${stderr}`);
  }
});

test("a file for programs stays English, one for readers does not", async () => {
  for (const [name, want] of [
    ["run.ndjson", false],
    ["run.json", false],
    ["run.otlp.json", false],
    ["run.mmd", true],
  ] as const) {
    await runInProcess([...create, name, "--lang", "zh"], { cwd });
    assert.equal(CHINESE.test(readFileSync(join(cwd, name), "utf8")), want, name);
  }
});

test("a recorded trace can be read in either language", async () => {
  await runInProcess([...create, "english.ndjson"], { cwd });
  for (const command of [
    ["trace", "view", "english.ndjson"],
    ["trace", "explain", "english.ndjson"],
  ]) {
    const english = await runInProcess(command, { cwd });
    const chinese = await runInProcess([...command, "--lang", "zh"], { cwd });
    assert.deepEqual([english.code, chinese.code], [0, 0]);
    assert.deepEqual([CHINESE.test(english.stdout), CHINESE.test(chinese.stdout)], [false, true], chinese.stdout);
  }
});

test("an unknown language is a usage error that names the known ones", async () => {
  const { code, stderr } = await runInProcess(["lease", "--lang", "fr"]);
  assert.equal(code, 2);
  assert.match(stderr, /en, zh/);
});
