import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { MessageError } from "../../../src/util/i18n/message-error.js";
import { runInProcess } from "../../support/run-cli.js";

/** Literals that are no sentences of ours. */
const ALLOWED: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^kubelab learn [\w${}.]+( \d+| [\w${}.]+)?$/, "a command to paste"],
  [/^no\\n$/, "what kubectl itself answers to auth can-i"],
];

/** The text between the bracket at `open` and its closing bracket. */
function argumentsAt(source: string, open: number): string {
  let depth = 0;
  for (let i = open; i < source.length; i++) {
    if (source[i] === "(") depth++;
    if (source[i] === ")" && --depth === 0) return source.slice(open + 1, i);
  }
  return source.slice(open + 1);
}

function withoutSaid(source: string): string {
  const at = source.search(/\bsay\(/);
  if (at < 0) return source;
  const open = at + "say".length;
  return source.slice(0, at) + withoutSaid(source.slice(open + argumentsAt(source, open).length + 2));
}

/** Literals with letters that are passed to `new LabError(`, `new LocalizedError(` or `.write(`; keys, codes and parameters do not count. */
function untranslated(source: string): string[] {
  const found: string[] = [];
  for (const call of source.matchAll(/new (?:Lab|Localized)Error\(|\.write\(/g)) {
    const given = withoutSaid(argumentsAt(source, call.index + call[0].length - 1)).replace(/^\s*"[A-Z_]+"/, "");
    for (const [, , text = ""] of given.matchAll(/(["'`])((?:\\.|(?!\1).)*)\1/gs)) {
      const words = text.replace(/\$\{[^{}]*\}/g, "").replace(/\\\w/g, "");
      if (/[A-Za-z]/.test(words) && !ALLOWED.some(([pattern]) => pattern.test(text))) found.push(text);
    }
  }
  return found;
}

const files = [
  "src/commands/learn/learn.ts",
  ...readdirSync("src/commands/learn", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join("src/commands/learn", name)),
];
for (const file of files) {
  test(`${file}: every sentence for learners is in the catalogues`, () => {
    assert.deepEqual(untranslated(readFileSync(file, "utf8")), []);
  });
}

const SCANNED: readonly (readonly [source: string, found: readonly string[]])[] = [
  [`throw new LabError("USAGE", "no such lab", say("noLabHint"))`, ["no such lab"]],
  [`throw new LabError("USAGE", say("noLab", { id: name(lab) }), "kubelab learn list")`, []],
  ["out.write(`$" + "{count} labs\\n`)", ["$" + "{count} labs\\n"]],
  [`out.write(say("labsGood") + "\\n")`, []],
];
for (const [source, found] of SCANNED) {
  test(`the scan of ${source}: ${found.length} found`, () => assert.deepEqual(untranslated(source), found));
}

test("an error of the catalogue is in English until it is translated", () => {
  const error = new MessageError("USAGE", ["noNode", { name: "n7" }], { verbatim: "kubectl get nodes" });
  assert.equal(error.message, "the lab has no node n7");
  assert.equal(error.hint, "kubectl get nodes");
});

const SPOKEN: readonly (readonly [line: string, env: Record<string, string>, pattern: RegExp])[] = [
  ["learn --help", {}, /Guided walkthroughs/],
  ["learn --help", { LANG: "zh_CN.UTF-8" }, /引导实验/],
  ["learn --lang zh start --help", {}, /实验的 ID 或编号/],
  ["learn start --help --lang en", { LANG: "zh_CN.UTF-8" }, /id or number of a lab/],
  ["learn check-labs missing --lang zh", {}, /无法读取 missing/],
  ["learn --lang xx", { LANG: "zh_CN.UTF-8" }, /应为 en 或 zh/],
  ["learn kubectl -- drain n1", { LANG: "zh_CN.UTF-8" }, /内置的 kubectl 不支持 drain/],
  ["learn kubectl -- get nodes", { LANG: "zh_CN.UTF-8", KUBECONFIG: "" }, /KUBECONFIG 没有指定文件/],
];
for (const [line, env, pattern] of SPOKEN) {
  test(`${line} with ${JSON.stringify(env)}: ${pattern}`, async () => {
    const { stdout, stderr } = await runInProcess(line.split(" "), { env });
    assert.match(stdout + stderr, pattern);
  });
}
