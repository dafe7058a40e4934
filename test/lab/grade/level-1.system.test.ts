import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CliProcess, newHome } from "../../support/cli-process.js";
import { untilTrue } from "../../support/fake-clock.js";
import { grade, untranslated } from "../../support/grade.js";

const AGENTS = join(import.meta.dirname, "agents");
const AGENT = ["{kubeconfig}", "{node}"];

const MISTAKES = [
  // mistake, failed requirements, the sentence of the first
  ["nanosecond-renewals", ["lease-renewed"], /^\d+ renewals in 45 s, .*the kubelet renews every 10 s/],
  ["renews-every-hour", ["lease-renewed", "lease-backs-off", "lease-conflict"], /^[01] renewals? in 45 s/],
  ["renews-every-15-s", ["lease-renewed"], /^[2-4] renewals in 45 s, at most [12]\d\.\d s apart; the kubelet/],
  ["endless-status", ["status-quiet"], /^\d+ writes of the Node in 45 s in which nothing changed; the kubelet repeats/],
  ["status-with-each-renewal", ["status-quiet"], /^[3-5] writes of the Node in 45 s in which nothing changed; the/],
  ["conflict-loop", ["lease-conflict"], /a client that sends an old resourceVersion again gets the same answer/],
  [
    "no-back-off",
    ["lease-backs-off"],
    /without a growing wait between them: on average 0\.\d s at first and 0\.\d s at last$/,
  ],
  ["gives-up-after-refusal", ["lease-backs-off", "lease-conflict"], /no renewal in the 25 s after them$/],
  ["ignores-sigterm", ["sigterm"], /^it still runs 10 s after SIGTERM, and is killed$/],
  ["no-lease", ["lease-held", "lease-renewed", "lease-backs-off", "lease-conflict"], /^no Lease graded/],
  ["half-a-node", ["node-labels", "node-info", "node-conditions"], /^missing or wrong: label kubernetes.io\/arch$/],
] as const;

describe("a well-known mistake fails its requirement, and no other", () => {
  test.concurrent.each(MISTAKES)("%s", { timeout: 120_000 }, async (mistake, failed, sentence) => {
    const graded = await grade(1, "node", "level-1.mjs", mistake, ...AGENT);
    expect(graded.failed).toEqual(failed);
    expect(graded.why(failed[0])).toMatch(sentence);
    expect(untranslated(graded.verdicts)).toEqual([]);
  });
});

const HOSTILE = [
  // agent, the sentence of what could not be examined
  ["no-node", /^no Node graded after 20 s; the API server saw 0 requests$/],
  ["exits", /^The agent has ended: it exited with code 3\.$/],
  ["memory", /^The agent has ended: it used \d+ MB of memory, more than the limit of 400 MB\.$/],
  ["forks", /^The agent has ended: it had \d+ processes, more than the limit of 40\.$/],
  ["endless-loop", /^no Lease graded in kube-node-lease after 20 s$/],
] as const;

describe("a hostile agent ends in a sentence, and leaves nothing running", () => {
  test.each(HOSTILE)("%s", { timeout: 120_000 }, async (mistake, sentence) => {
    const { verdicts } = await grade(1, "node", "level-1.mjs", mistake, ...AGENT);
    const sentences = verdicts.filter(({ outcome }) => outcome === "failed").map(({ why }) => why);
    expect(sentences.some((one) => sentence.test(one))).toBe(true);
    expect(untranslated(verdicts)).toEqual([]);
    expect(agentsLeft()).toEqual([]);
  });
});

test("100,000 lines of output harm nobody; the last ones are kept", { timeout: 120_000 }, async () => {
  const { failed, lastLines } = await grade(1, "node", "level-1.mjs", "floods", ...AGENT);
  expect(failed).toEqual([]);
  expect(lastLines).toEqual([]);
});

test("kubelab is killed: its agent ends too, with the processes that left it", { timeout: 60_000 }, async () => {
  const words = ["grade", "--level", "1", "--", "node", join(AGENTS, "level-1.mjs"), "leaves", ...AGENT];
  const cli = new CliProcess(newHome(), words);
  const pid = cli.child.pid ?? 0;
  await untilTrue(() => agentsLeft(pid).some((words) => words.startsWith("sleep")));
  cli.child.kill("SIGKILL");
  await cli.ended;
  await untilTrue(() => agentsLeft(pid).length === 0);
});

/** The command lines of processes of graded agents. @param by the PID of their kubelab */
function agentsLeft(by = process.pid): readonly string[] {
  const read = (path: string) => {
    try {
      return readFileSync(path, "latin1");
    } catch {
      return ""; // it has ended
    }
  };
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const mark = `KUBELAB_GRADE=${by}-`;
  return pids.filter((pid) => read(`/proc/${pid}/environ`).includes(mark)).map((pid) => read(`/proc/${pid}/cmdline`));
}
