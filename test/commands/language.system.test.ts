import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { asItIs, translated } from "../../src/trace/translated.js";
import { sentencesIn } from "../../src/util/i18n/sentences.js";
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
    ["run.svg", true],
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
  assert.match(chinese.stdout, /^GET \/version: 200 用时 [\d.]+ s，\d+ 步\n[\s\S]* filter .*认出客户端是 /);
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

/** Commands whose facts show most of a node's parts. */
const LINES = [
  "pleg --duration 3s --speed 10",
  "lease --stop-after 1 --revive --speed 60",
  "static-pod --duration 15s --speed 10",
  "pod-manager --duration 5s --speed 10",
  "exec nettool -- date",
  "journey",
  "bootstrap",
  "csr create --node n1 --approve --wait --out-dir n1",
];
/** Words of English sentences, but of no name. */
const OF_SENTENCE =
  /(?<![-\w])(?:of|in|to|is|are|the|not|for|with|by|at|as|and|or|it|its|has|have|may|after|before|until|from|because|on|an|a|no|was)(?![-\w])/;
/** Texts of other programs, and what only looks like a sentence. */
const OF_OTHERS: readonly RegExp[] = [
  /"[^"]*"|`[^`]*`|'[^']*'/g,
  /RBAC: allowed by [^）]*/g,
  /(?:命令：|试试 ).*/g,
  /\S*[/=_.]\S*/g,
  /\b(?:Auto approving|Kubelet stopped|kubelet (?:has|is)|container runtime|PLEG is not healthy).*/g,
];
test.each(LINES)("--lang zh %s: no line of the trace is half English", async (line) => {
  const file = join(cwd, `${line.split(" ")[0]}.ndjson`);
  await runInProcess(line.replace(/(?= -- |$)/, ` --trace ${file}`).split(" "), { cwd });
  const { say = asItIs } = (await sentencesIn("zh")) ?? {};
  const facts = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((one) => JSON.parse(one));
  const texts = facts.flatMap((fact) => Object.values("kind" in fact ? translated(fact, say) : {}));
  const lines = texts.flatMap((text) => (typeof text === "string" ? text.split("\n") : []));
  assert.ok(lines.filter((one) => CHINESE.test(one)).length > 10);
  const mixed = lines.filter((one) => {
    const own = OF_OTHERS.reduce((rest, pattern) => rest.replace(pattern, "#"), one);
    return CHINESE.test(own) && OF_SENTENCE.test(own);
  });
  assert.deepEqual([...new Set(mixed)], []);
});

test("an error and its hint speak the terminal's language, in a pipe English, and --lang decides", async () => {
  const chinese = { LANG: "zh_CN.UTF-8", NO_COLOR: "1" };
  const rows: readonly (readonly [flags: string[], options: RunOptions, stderr: RegExp])[] = [
    [[], {}, /^error: --simulated needs --nodes\nFor example --nodes 1000 --simulated\.\n$/],
    [[], { env: chinese }, /^error: --simulated needs/],
    [[], { env: chinese, typed: "" }, /^错误：--simulated 需要 --nodes\n例如 --nodes 1000 --simulated。\n$/],
    [["--lang", "zh"], {}, /^错误：--simulated 需要 --nodes\n例如/],
    [["--lang", "en"], { env: chinese, typed: "" }, /^error: --simulated needs/],
  ];
  for (const [flags, options, stderr] of rows)
    assert.match((await runInProcess(["cluster", "up", "--simulated", ...flags], options)).stderr, stderr);
});
