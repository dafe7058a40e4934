import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { grade } from "../../support/grade.js";

const STARTERS = [
  // what must be there, the command line
  ["node", ["node", "examples/agents/javascript/agent.mjs", "{kubeconfig}", "{node}"]],
  ["python3", ["python3", "examples/agents/python/agent.py", "{kubeconfig}", "{node}"]],
  ["curl", ["sh", "examples/agents/shell/agent.sh", "{kubeconfig}", "{node}", "{dir}"]],
] as const;

test.each(STARTERS)("the starter for %s passes level 1", { timeout: 180_000 }, async (program, command) => {
  if (!isThere(program)) return;
  const { failed } = await grade(1, ...command);
  expect(failed).toEqual([]);
});

test("the starter for Go passes level 1", { timeout: 240_000 }, async () => {
  const go = ["go", "/usr/lib/go/bin/go"].find(isThere);
  if (go === undefined) return;
  const folder = mkdtempSync(join(tmpdir(), "kubelab-test-"));
  const agent = join(folder, "agent");
  const env = { ...process.env, GOCACHE: join(folder, "cache"), GO111MODULE: "off" };
  execFileSync(go, ["build", "-o", agent, "examples/agents/go/agent.go"], { env });
  const { failed } = await grade(1, agent, "{kubeconfig}", "{node}");
  expect(failed).toEqual([]);
  await rm(folder, { recursive: true });
});

test("the starter that runs pods passes level 2", { timeout: 180_000 }, async () => {
  const { failed } = await grade(2, "node", "examples/agents/javascript/pods.mjs", "{kubeconfig}", "{node}", "{cri}");
  expect(failed).toEqual([]);
});

test("kubelab's own node passes every level", { timeout: 400_000 }, async () => {
  const node = ["node", "dist/cli.js", "node", "--bootstrap-kubeconfig", "{bootstrap}", "--node", "{node}"];
  const places = ["--cri", "{cri}", "--root-dir", "{dir}", "--manifest-dir", "{manifests}", "--port", "0"];
  const { failed, lastLines } = await grade(undefined, ...node, ...places);
  expect([...failed, ...lastLines]).toEqual([]);
});

function isThere(program: string): boolean {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
}
