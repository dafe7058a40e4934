import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { runInProcess } from "../../support/run-cli.js";

test("token create: the command explains an invalid format, not the API server", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "kubelab-token-"));
  const { code, stderr } = await runInProcess(["token", "create", "--trace", join(cwd, "t.ndjson")], { cwd });
  assert.equal(code, 0, stderr);
  const facts = readFileSync(join(cwd, "t.ndjson"), "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { kind: string; actor: string; id: string; causedBy?: string; text?: string });
  const step = facts.find((one) => one.kind === "step" && JSON.stringify(one).includes("Show what the token"));
  const told = facts.filter((one) => one.causedBy === step?.id);
  assert.deepEqual(
    told.map(({ kind, actor }) => `${kind} ${actor}`),
    ["note user", "note user", "note user", "step user"],
  );
  assert.match(told[1]?.text ?? "", /secret half/);
});

test("token delete zzz: the error explains the format of an id, exit 2", async () => {
  const { code, stderr } = await runInProcess(["token", "delete", "zzz"]);
  assert.equal(code, 2);
  assert.match(stderr.replace(/\s+/g, " "), /3 characters instead of 6.*the whole token/);
});
