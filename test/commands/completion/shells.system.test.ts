import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { beforeAll, test } from "vitest";
import { newHome } from "../../support/cli-process.js";
import { suiteNeeding } from "../../support/requirements.js";

const home = newHome();
const env = { PATH: `${home}/bin:${process.env["PATH"]}`, HOME: home, XDG_STATE_HOME: join(home, "state") };

beforeAll(() => {
  mkdirSync(join(home, "bin"));
  const program = join(home, "bin", "kubelab");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${resolve("dist/cli.js")}" "$@"\n`);
  chmodSync(program, 0o755);
  mkdirSync(join(home, "labs of mine"));
  writeFileSync(join(home, "run one.ndjson"), "");
});

/** What bash offers for the last word. */
function offered(words: readonly string[]): string[] {
  const quoted = ["kubelab", ...words].map((word) => `'${word}'`).join(" ");
  const script = [
    "source <(kubelab completion bash)",
    "complete -p kubelab >/dev/null || exit 9",
    `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}`,
    "_kubelab",
    `printf '%s\\n' "\${COMPREPLY[@]}"`,
  ].join("\n");
  const out = execFileSync("bash", ["--norc", "-u", "-c", script], { encoding: "utf8", env, cwd: home });
  return out.split("\n").filter((line) => line !== "");
}

suiteNeeding(["bash"], "bash", () => {
  for (const [words, want] of [
    [["jou"], ["journey"]],
    [["learn", "start", "crash"], ["crash-loop"]],
    [
      ["explain", "imagep"],
      ["ImagePullBackOff", "imagePullPolicy", "imagePullSecrets"],
    ],
    [["learn", "--lang", "=", "z"], ["zh"]],
    [["trace", "view", "run"], ["run one.ndjson"]],
    [["learn", "check-labs", "l"], ["labs of mine"]],
    [["exec", "nettool", "--", "x"], []],
  ] as const) {
    test(`${words.join(" ")}: ${want.join(", ") || "nothing"}`, () => assert.deepEqual(offered(words), want));
  }

  test("names of files and clusters that a shell would expand are offered as they are, or not at all", () => {
    const names = ["h*", "h$(touch pwned)", "h`touch pwned`", 'h"q', "h[ab]", " h", "h\\n"];
    for (const name of names) writeFileSync(join(home, name), "");
    const clusters = join(home, "state", "kubelab", "clusters");
    mkdirSync(clusters, { recursive: true });
    const state = { pid: process.pid, startedAt: "", server: "https://127.0.0.1:1" };
    for (const name of ["h$(touch pwned)", "h*"]) writeFileSync(join(clusters, `${name}.json`), JSON.stringify(state));
    assert.deepEqual(offered(["trace", "view", "h"]).sort(), names.filter((name) => name.startsWith("h")).sort());
    assert.deepEqual(offered(["trace", "view", " h"]), [" h"]);
    assert.deepEqual(offered(["lease", "--cluster", "h"]), []);
    assert.ok(!existsSync(join(home, "pwned")));
  });
});

for (const shell of ["zsh", "fish"] as const) {
  suiteNeeding([shell], shell, () => {
    test("the script has no syntax error", () => {
      const script = execFileSync("kubelab", ["completion", shell], { encoding: "utf8", env });
      execFileSync(shell, ["-n"], { input: script, env });
    });
  });
}
