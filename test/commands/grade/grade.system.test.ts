import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { runInProcess } from "../../support/run-cli.js";

const AGENT = resolve(import.meta.dirname, "../../lab/grade/agents/level-1.mjs");
const graded = (mistake: string) => ["--", "node", AGENT, mistake, "{kubeconfig}", "{node}"];

const WRONG = [
  // arguments, the error
  [["--", "./agent", "{kubeconfg}"], "there is no placeholder {kubeconfg}: did you mean {kubeconfig}?"],
  [["--", "./agent"], "the agent's command line names no cluster: it has neither {kubeconfig} nor {bootstrap}"],
  [["--level", "7", "--", "./agent", "{kubeconfig}"], "expected a level from 1 to 6."],
  [["--memory", "1", "--", "./agent", "{kubeconfig}"], "expected a whole number of MB from 16."],
  [["--", "./no-such-agent", "{kubeconfig}"], "cannot start the agent: spawn"],
] as const;

test.each(WRONG)("grade %j is refused", { timeout: 60_000 }, async (args, error) => {
  const { code, stdout, stderr } = await runInProcess(["grade", ...args]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(error);
});

test("an agent that fails: exit code 1, what it wrote last, JSON and JUnit", { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "kubelab-test-"));
  const text = await runInProcess(["grade", "--level", "1", ...graded("exits")], { cwd: folder });
  expect(text.code).toBe(1);
  expect(text.stdout).toContain("The agent's last output:\n| panic: something went wrong");
  const flags = ["--level", "1", "--junit", "result.xml", "--json"];
  const { code, stdout } = await runInProcess(["grade", ...flags, ...graded("exits")], { cwd: folder });
  expect(code).toBe(1);
  const { points, of, level, verdicts } = JSON.parse(stdout) as Record<string, unknown> & { verdicts: object[] };
  expect([points, of, level, verdicts.length]).toEqual([expect.any(Number), 100, 0, 10]);
  expect(verdicts).toContainEqual(expect.objectContaining({ id: "sigterm", outcome: "failed" }));
  const xml = readFileSync(join(folder, "result.xml"), "utf8");
  expect(xml).toMatch(
    /<testsuite name="Level 1: a node that the cluster can count on" tests="10" skipped="0" failures="\d+">/,
  );
});

test("a level above the first has no level reached, and a missing {cri} is said first", {
  timeout: 60_000,
}, async () => {
  const args = ["grade", "--level", "3", ...graded("exits")];
  const text = await runInProcess(args);
  const note = "The agent's command line has no {cri}, the endpoint of the container runtime:";
  expect(text.stdout).toMatch(new RegExp(`^0 of 100 points; 10 requirements failed, 0 skipped\nLevel 3: .*\n${note}`));
  const { stdout } = await runInProcess([...args.slice(0, 3), "--json", ...args.slice(3)]);
  expect(JSON.parse(stdout)).not.toHaveProperty("level");
});

test("verdicts are said as they come, and Ctrl-C prints those that are known", { timeout: 60_000 }, async () => {
  const stop = new AbortController();
  const onStderr = (text: string) => text.includes("pass  holds a Lease") && stop.abort();
  const terminal = { typed: "", env: { TERM: "xterm-256color", FORCE_COLOR: "1" } };
  const options = { ...terminal, onStderr, signal: stop.signal };
  const { stdout } = await runInProcess(["grade", "--level", "1", ...graded("right")], options);
  expect(stdout).toContain("45 of 100 points; level reached: 0; 0 requirements failed, 5 skipped");
  expect(stdout).toContain("skip  ends on SIGTERM\n      not examined: the examination was interrupted");
});
