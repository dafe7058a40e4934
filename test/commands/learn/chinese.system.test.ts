import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "vitest";
import EN from "../../../labs/messages.en.json" with { type: "json" };
import { LAB_ERRORS, LabError, type LabErrorCode } from "../../../src/util/errors.js";
import { sayIn } from "../../../src/util/i18n/catalogue.js";
import { localized } from "../../../src/util/i18n/message-error.js";
import { runInProcess } from "../../support/run-cli.js";
import { TINY_EN, TINY_YAML, TINY_ZH } from "../../support/tiny-lab.js";

/** Removes the text that may be in Latin letters before a line is checked. */
const TECHNICAL: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/(?<=[\u3000-\u9fff])（.*）/g, "the raw words of another program, as a detail"],
  [/（[^（）]*）|\([^()]*\)/g, "the same"],
  [/`[^`]*`/g, "code"],
  [
    /kubelab( learn)?( (start|next|check|hint|solution|reset|list|report|export|import|status|stop|speed))?[^\u3000-\u9fff]*/g,
    "a command to paste",
  ],
  [/--[a-z-]+/g, "a flag"],
  [/([\w-]+: )?\S+( \| \S+)+/g, "choices of a step"],
  [/PLEG is not healthy/g, "what the kubelet says: a lab's title"],
  [/<[a-z]+>|\[[a-z]+\]/g, "a placeholder of a command line"],
  [/\S*[/.]\S*/g, "a path, an address, a field"],
  [/#?[A-Z]{2,}\S*/g, "a name in capitals"],
];
const CHINESE = /[\u3000-\u9fff]/;

/** Lines of a learner's screen that are English. */
function english(text: string): string[] {
  return text.split("\n").filter((line) => {
    const left = TECHNICAL.reduce((rest, [pattern]) => rest.replace(pattern, " "), line);
    if (/[A-Za-z]{2,}( [A-Za-z]{2,}){2}/.test(left)) return true;
    return /[A-Za-z]{3,}/.test(left) && !CHINESE.test(line);
  });
}

/** A file's text by its path below the folder in which the command runs. */
type Files = Readonly<Record<string, string>>;

const PROGRESS = "state/kubelab/learn/progress.json";
const lab = (yaml: string, markdown = TINY_EN): Files => ({
  "labs/07-tiny/lab.yaml": yaml,
  "labs/07-tiny/en.md": markdown,
  "labs/07-tiny/zh.md": TINY_ZH,
});
const ANSWERS = "wrong-half: forbidden\nsecrets: yes-all\n";
const KUBECONFIG = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
  users: [{ name: "u", user: { token: "t" } }],
  contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
  "current-context": "x",
});

const subcommands = [
  "",
  "list",
  "start",
  "next",
  "check",
  "hint",
  "solution",
  "status",
  "page",
  "stop",
  "speed",
  "reset",
];
const SITUATIONS: readonly (readonly [line: string, files?: Files])[] = [
  ...[...subcommands, "report", "export", "import", "check-labs"].map((name) => [`${name} --help`.trim()] as const),
  [""],
  ["lst"],
  ["heartbeats"],
  ["qqqqqqqq"],
  ["start"],
  ["start heartbeats tokens"],
  ["start heartbeats --spee 3"],
  ["list --frobnicate"],
  ["--speed fast"],
  ["--speed"],
  ["--seed x"],
  ["--lang xx"],
  ["start hartbeats"],
  ["start qqqqqqqqq"],
  ["start heartbeats --answers a.yaml"],
  ["start heartbeats --yes"],
  ["start heartbeats --yes --answers a.yaml"],
  ["start heartbeats --yes --answers a.yaml", { "a.yaml": "- x" }],
  ["start heartbeats --yes --answers a.yaml", { "a.yaml": "silense: x" }],
  ["start heartbeats --yes --answers a.yaml", { "a.yaml": "silence: x" }],
  ["start pleg --kubeconfig k.yaml"],
  ["start tokens --answers ok.yaml --kubeconfig k.yaml"],
  ["start tokens --answers ok.yaml --kubeconfig none.yaml --yes", { "ok.yaml": ANSWERS }],
  ["start tokens --answers ok.yaml --kubeconfig k.yaml --yes", { "ok.yaml": ANSWERS, "k.yaml": "{" }],
  ["start tokens --answers ok.yaml --kubeconfig k.yaml --yes", { "ok.yaml": ANSWERS, "k.yaml": KUBECONFIG }],
  [
    "start tokens --answers ok.yaml --kubeconfig k.yaml --context other --yes",
    { "ok.yaml": ANSWERS, "k.yaml": KUBECONFIG },
  ],
  ...["next", "check", "hint", "solution", "status", "page", "stop", "speed 3", "speed x", "reset nope", "reset"].map(
    (line) => [line] as const,
  ),
  ["report --json --junit"],
  ["export none/here.json"],
  ["export mine.json"],
  ["import none.json"],
  ["import mine.json", { "mine.json": "{}" }],
  ["import mine.json", { "mine.json": '{"version":9,"labs":{}}' }],
  ["list", { [PROGRESS]: "{" }],
  ["list", { [PROGRESS]: '{"version":9,"labs":{}}' }],
  ["check-labs none"],
  ["check-labs labs", { "labs/x": "" }],
  ["check-labs labs", lab(TINY_YAML)],
  ["check-labs labs", lab("a: [")],
  ["check-labs labs", lab("a: 1\na: 2\n\tb: 3")],
  ["check-labs labs", lab("- 1")],
  ["check-labs labs", lab(TINY_YAML, "nothing")],
  [
    "check-labs labs",
    lab(
      TINY_YAML.replace("kind: chapter", "kind: other").replace(
        "minutes: 5",
        "minutes: 500\nneeds: [x]\nfoo: 1\nspeed: a",
      ),
    ),
  ],
  ["check-labs labs", lab(TINY_YAML.replace('number: "7"', "number: seven").replace("is: 0", "is: []"))],
  ["check-labs labs", lab(TINY_YAML.replace("minutes: 5", "minutes: 5\ncleanup: [{ run: '' }]\nrights: [x]"))],
  [
    "check-labs labs",
    lab(TINY_YAML.replace("steps:", "steps:\n  - id: odd\n  - { id: a, check: { all: [] }, solve: [] }")),
  ],
  ["kubectl -- drain n1"],
  ["kubectl -- get"],
];

for (const [line, files = {}] of SITUATIONS) {
  const given = Object.entries(files).map(([name, text]) => `${name}: ${text.slice(0, 30)}`);
  test(`learn ${line} in Chinese${given.length === 0 ? "" : ` with ${JSON.stringify(given[0])}`}`, async () => {
    const cwd = mkdtempSync(join(tmpdir(), "kubelab-test-"));
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(cwd, name)), { recursive: true });
      writeFileSync(join(cwd, name), text);
    }
    const env = { LANG: "zh_CN.UTF-8", XDG_STATE_HOME: join(cwd, "state"), PATH: process.env["PATH"] ?? "" };
    const { stdout, stderr, code } = await runInProcess(["learn", ...line.split(" ").filter((word) => word !== "")], {
      cwd,
      env,
    });
    assert.notEqual(code, 70, stderr);
    assert.notEqual(stdout + stderr, "");
    assert.deepEqual(english(stdout + stderr), []);
  });
}

test("a line of English does not pass", () => {
  assert.deepEqual(english("no lab is running"), ["no lab is running"]);
  assert.deepEqual(english("错误：no lab is running here"), ["错误：no lab is running here"]);
  assert.deepEqual(english("开始一个:kubelab learn start ID"), []);
});

for (const code of Object.keys(LAB_ERRORS) as LabErrorCode[]) {
  test(`${code} of another room is told by its kind, with its words as a detail`, () => {
    const thrown = new LabError(code, "it went wrong", "Look again.");
    const zh = localized(thrown, sayIn("zh")) as LabError;
    assert.match(zh.message, /[\u3000-\u9fff].*（it went wrong）/);
    assert.match(zh.hint, /[\u3000-\u9fff].*（Look again\.）/);
    const en = localized(thrown, sayIn("en")) as LabError;
    assert.deepEqual([en.code, en.message, en.hint], [code, "it went wrong", "Look again."]);
  });
}

test("every entry of the catalogue is used", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(join("src", name), "utf8"));
  const all = files.join("\n");
  // Told by an error's code, and headings of an incident's card by their name in the text.
  const computed = /^(kind|hint)[A-Z_]+$|^(debrief|symptom|tools|cause|cure|source)$/;
  assert.deepEqual(
    Object.keys(EN).filter((key) => !computed.test(key) && !all.includes(`"${key}"`)),
    [],
  );
});
