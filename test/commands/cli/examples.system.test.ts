import assert from "node:assert/strict";
import { describe, test } from "vitest";
import { runInProcess } from "../../support/run-cli.js";

describe("helps end with examples", () => {
  for (const line of [
    "bootstrap",
    "lease",
    "csr create",
    "csr inspect",
    "token create",
    "device-plugin",
    "cluster up",
  ]) {
    test(`${line}: two to four, of at most 80 columns, with flags that it has`, async () => {
      const { code, stdout } = await runInProcess([...line.split(" "), "--help"]);
      assert.equal(code, 0);
      const [help = "", examples = ""] = stdout.split("\nExamples:\n");
      const lines = examples.split("\n").filter((one) => one.trim() !== "");
      assert.ok(lines.length >= 2 && lines.length <= 4, stdout);
      for (const one of lines) {
        assert.ok(one.length <= 80, one);
        assert.ok(one.includes(`kubelab ${line}`), one);
        const ours = one.slice(one.indexOf("kubelab")).split(" | ")[0] ?? "";
        for (const [flag] of ours.matchAll(/(?<= )--[a-z-]+/g)) assert.ok(help.includes(flag), `${flag} of ${one}`);
      }
    });
  }

  for (const [line, said] of [
    ["bootstrap", /default: ~\/\.local\/state\/kubelab\/nodes\/<name>/],
    ["cluster up", /--speed .*default: 1\)/],
    ["cluster up", /--kube-version .*default: "1\.25"\)/],
  ] as const) {
    test(`${line}: ${said.source}`, async () => {
      const { stdout } = await runInProcess([...line.split(" "), "--help"]);
      assert.match(stdout.replace(/\s+/g, " "), said);
    });
  }

  for (const line of ["csr", "cluster", "token", "bootstrap", "lease"]) {
    test(`${line}: its description is broken where the terminal is, not before`, async () => {
      const { stdout } = await runInProcess([line, "--help"]);
      const [, description = ""] = stdout.split("\n\n");
      const lines = description.split("\n");
      for (const [index, one] of lines.slice(0, -1).entries()) {
        const next = lines[index + 1]?.split(" ")[0] ?? "";
        assert.ok(one.length + 1 + next.length > 80, `${one}| ${next}`);
      }
    });
  }
});
