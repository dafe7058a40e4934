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

test("the steps of a request are a result: in a pipe English, but for --lang; JSON is English", async () => {
  const of = (...flags: string[]) =>
    runInProcess(["request", "get", "/version", ...flags], { env: { LANG: "zh_CN.UTF-8" } });
  const [pipe, chinese, json] = [await of(), await of("--lang", "zh"), await of("--lang", "zh", "--json")];
  assert.deepEqual(
    [pipe, chinese, json].map(({ code }) => code),
    [0, 0, 0],
  );
  assert.match(pipe.stdout, /^GET \/version: 200 in [\d.]+ s, \d+ steps\n/);
  assert.match(chinese.stdout, /^GET \/version: 200 用时 [\d.]+ s，\d+ 步\n[\s\S]* filter +身份是 /);
  assert.deepEqual(
    [pipe, json].map(({ stdout }) => CHINESE.test(stdout)),
    [false, false],
  );
});

const BEFORE: readonly (readonly [line: string, stream: "stdout" | "stderr", isChinese: boolean])[] = [
  ["--lang zh token create", "stderr", true],
  ["--lang=zh token create", "stderr", true],
  ["--lang zh token create --lang en", "stderr", false],
  ["--no-color --lang zh explain Lease", "stdout", true],
  ["--lang zh explain Lease --lang en", "stdout", false],
  ["--lang zh learn list", "stdout", true],
  ["--lang zh learn --lang en list", "stdout", false],
  ["--lang zh learn list --help", "stdout", true],
  ["--lang zh help learn", "stdout", true],
  ["--lang zh completion bash", "stdout", false],
];
test.each(BEFORE)(
  "%s: the flag before the command counts, unless it stands after it as well",
  async (line, stream, want) => {
    const run = await runInProcess(line.split(" "));
    assert.equal(run.code, 0, run.stderr);
    assert.equal(CHINESE.test(run[stream]), want, run[stream]);
  },
);

test("the help of a lab's command names each flag once", async () => {
  const { stdout } = await runInProcess(["learn", "status", "--help"]);
  assert.equal(stdout.match(/--lang/g)?.length, 1);
  assert.equal(stdout.match(/--no-color/g)?.length, 1);
});

test("without a terminal, a line of such flags alone prints the help", async () => {
  for (const line of [[], ["--lang", "zh"], ["--no-color"]]) {
    const { code, stdout } = await runInProcess(line);
    assert.equal(code, 0);
    assert.match(stdout, line.includes("zh") ? /^用法： kubelab/ : /^Usage: kubelab/);
  }
  assert.equal((await runInProcess(["--lang", "fr", "learn", "list"])).code, 2);
});
