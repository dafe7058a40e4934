import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { grade } from "../../support/grade.js";

const STARTERS = [
  // what must be there, the command line
  ["node", ["node", "examples/agents/javascript/agent.mjs", "{kubeconfig}", "{node}"]],
  ["python3", ["python3", "examples/agents/python/agent.py", "{kubeconfig}", "{node}"]],
] as const;

test.each(STARTERS)("the starter for %s passes level 1", { timeout: 180_000 }, async (program, command) => {
  if (!isThere(program)) return;
  const { failed } = await grade(1, ...command);
  expect(failed).toEqual([]);
});

function isThere(program: string): boolean {
  try {
    execFileSync("sh", ["-c", `command -v ${program}`]);
    return true;
  } catch {
    return false;
  }
}
