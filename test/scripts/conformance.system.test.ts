import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, test } from "vitest";

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), "kubelab-conformance-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Lists three cases. The first reads the namespaces of the cluster, the second fails, the third is of another group. */
const STAND_IN = `#!/usr/bin/env node
const { execFileSync } = require("node:child_process");
const arg = (name) => process.argv.find((one) => one.startsWith(name))?.slice(name.length) ?? "";
if (process.argv.includes("--list-conformance-tests")) {
  for (const [name, file] of [["[a] reads (all)", "common/a.go"], ["[b] fails", "node/b.go"], ["[c] other", "storage/c.go"]])
    console.log("- codename: '" + name + "'\\n  file: test/e2e/" + file);
} else if (new RegExp(arg("--ginkgo.focus=")).test("Kubernetes e2e suite [a] reads (all)")) {
  const names = execFileSync("kubectl", ["--kubeconfig", arg("--kubeconfig="), "get", "nodes", "-o", "name"]);
  console.log(names.toString() + "Ran 1 of 3\\nSUCCESS! -- 1 Passed | 0 Failed");
} else {
  console.log("• Failure [1 s]\\n[It]\\n  /b.go:1\\n\\n  no luck\\n\\n---------------\\nFAIL! -- 0 Passed | 1 Failed");
}
`;

test("npm run conformance runs each case of the groups on a cluster of its own", async () => {
  const binary = join(folder, "e2e.test");
  writeFileSync(binary, STAND_IN);
  chmodSync(binary, 0o755);
  const kept = join(folder, "kept");
  const args = ["scripts/run.mjs", "scripts/conformance.ts", binary, "--keep", kept];
  const { stdout, code } = await run(process.execPath, args).then(
    (done) => ({ ...done, code: 0 }),
    (failed: { stdout: string; code: number }) => failed,
  );
  assert.match(stdout, /^passed {3}common: \[a\] reads \(all\)$/m);
  assert.match(stdout, /^all +2 +1 +1 +0$/m);
  assert.match(stdout, /^node: \[b\] fails\n {4}no luck$/m);
  assert.equal(code, 1);
  assert.match(readFileSync(join(kept, "-a-reads-all-.log"), "utf8"), /node\/node-1/);
}, 60_000);
