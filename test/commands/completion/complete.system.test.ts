import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "vitest";
import { COMMANDS } from "../../../src/commands/command-table.js";
import { complete } from "../../../src/commands/completion/complete.js";
import { SystemRandom } from "../../../src/util/random.js";
import { missingPath } from "../../support/missing-path.js";
import { runInProcess } from "../../support/run-cli.js";

async function at(...words: string[]): Promise<string[]> {
  const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr: new PassThrough() };
  const { signal } = new AbortController();
  const env = { XDG_STATE_HOME: missingPath(), HOME: missingPath() };
  const answer = await complete(words, { env, cwd: "/", streams, random: new SystemRandom(), self: [], signal });
  return answer.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")[0] ?? ""]));
}

// The words behind `kubelab`, and what is offered for the last one.
const CASES: readonly (readonly [words: readonly string[], want: readonly string[]])[] = [
  [["le"], ["learn", "lease"].sort()],
  [["help", "tra"], ["trace"]],
  [["--v"], ["--version"]],
  [
    ["learn", "sta"],
    ["start", "status"],
  ],
  [["learn", "start", "crash"], ["crash-loop"]],
  [
    ["learn", "--lang", ""],
    ["en", "zh"],
  ],
  [["learn", "--lang=z"], ["--lang=zh"]],
  [["learn", "--lang", "=", "z"], ["zh"]],
  [
    ["learn", "--lang", "="],
    ["en", "zh"],
  ],
  [["learn", "--lang", "zh", "start", "crash"], ["crash-loop"]],
  [["explain", "crashl"], ["CrashLoopBackOff"]],
  [["explain", "pod", "GetNewer"], ["GetNewerThan"]],
  [
    ["lease", "--kube-version", "1.3"],
    ["1.30", "1.31", "1.32", "1.33", "1.34"],
  ],
  [
    ["bootstrap", "--approve", "a"],
    ["auto", "ask"],
  ],
  [["lease", "--stop"], ["--stop-after"]],
  [["lease", "--stop-after", ""], []],
  [["lease", "--speed", "2", "--rev"], ["--revive"]],
  [["runtime", "up", "--image", "red"], ["redis"]],
  [["trace", "view", ""], [":files"]],
  [["trace", "view", "--page", "a.ndjson", "b"], [":files"]],
  [["lease", "-o", ""], [":files"]],
  [["learn", "check-labs", ""], [":folders"]],
  [["cluster", "status", "--name", ""], []],
  [["lease", "--cluster", ""], []],
  [
    ["completion", ""],
    ["bash", "zsh", "fish"],
  ],
  [["exec", "nettool", "--", "l"], []],
  [["no-such-command", ""], []],
];
for (const [words, want] of CASES) {
  test(`completion of "kubelab ${words.join(" ")}": ${want.join(" ") || "nothing"}`, async () => {
    assert.deepEqual((await at(...words)).sort(), [...want].sort());
  });
}

test("completion: the first word is any command, with its summary", async () => {
  assert.deepEqual((await at("")).sort(), COMMANDS.map(({ name }) => name).sort());
});

test("completion: every flag of every command is offered, and no hidden one", async () => {
  for (const { name } of COMMANDS) {
    const flags = await at(name, "-");
    assert.ok(flags.includes("--help"), name);
    assert.ok(!flags.includes("--out-dir"), name);
  }
  assert.ok(!(await at("learn", "")).includes("serve"));
});

for (const shell of ["bash", "zsh", "fish"] as const) {
  test(`completion ${shell}: prints a script that asks kubelab`, async () => {
    const { code, stdout } = await runInProcess(["completion", shell]);
    assert.equal(code, 0);
    assert.match(stdout, /kubelab completion/);
    assert.match(stdout, / __complete /);
  });
}

test("completion: an unknown shell, and none, are usage errors", async () => {
  for (const words of [["completion"], ["completion", "tcsh"]]) {
    const { code, stdout } = await runInProcess(words);
    assert.deepEqual([code, stdout], [2, ""]);
  }
});
