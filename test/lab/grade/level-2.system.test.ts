import { describe, expect, test } from "vitest";
import { grade, untranslated } from "../../support/grade.js";

const AGENT = ["{kubeconfig}", "{node}", "{cri}"];

test("a small agent with a gRPC client of its own passes level 2", { timeout: 120_000 }, async () => {
  const { failed, verdicts } = await grade(2, "node", "level-2.mjs", "right", ...AGENT);
  expect(failed).toEqual([]);
  expect(untranslated(verdicts)).toEqual([]);
});

const MISTAKES = [
  // mistake, failed requirements, the sentence of the first
  ["all-pods", ["own-pods-only"], /^pod not-yours is bound to another-node, and was touched$/],
  ["watches-once", ["watch-resumed", "watch-expired"], /^a pod created after the end of its watch was not started/],
  ["stops-at-410", ["watch-expired"], /^a pod created after 410 Expired in its watch was not started within/],
  [
    "ignores-410",
    ["watch-expired"],
    /^it watches again after 410 Expired without a list: what changed in between is lost$/,
  ],
  [
    "endless-pod-status",
    ["pod-status-quiet"],
    /^\d+ writes of the status of pod \w+ in 20 s in which nothing changed$/,
  ],
  [
    "repeats-pod-status",
    ["pod-status-quiet"],
    /^\d+ writes of the status of pod \w+ in 20 s in which nothing changed$/,
  ],
  ["no-grace", ["deletion-grace"], /was killed \d\.\d s after the deletion; its grace period is 10 s$/],
  ["never-deletes", ["deletion-grace"], /^the object of pod web is still there 30 s after the deletion$/],
  ["deletes-first", ["deletion-grace"], /^the object of pod web went before its container had ended$/],
  ["restarts-never", ["pod-succeeded", "pod-failed"], /^pod once: /],
] as const;

describe("a well-known mistake fails its requirement, and no other", () => {
  test.concurrent.each(MISTAKES)("%s", { timeout: 180_000 }, async (mistake, failed, sentence) => {
    const graded = await grade(2, "node", "level-2.mjs", mistake, ...AGENT);
    expect(graded.failed).toEqual(failed);
    expect(graded.why(failed[0])).toMatch(sentence);
    expect(untranslated(graded.verdicts)).toEqual([]);
  });
});

test("an agent without pods gets an honest profile", { timeout: 120_000 }, async () => {
  const agent = "examples/agents/javascript/agent.mjs";
  const { failed, verdicts, why } = await grade(2, "node", agent, "{kubeconfig}", "{node}");
  expect(failed).toHaveLength(verdicts.length);
  const unexamined = verdicts.filter(({ outcome }) => outcome === "skipped").map(({ requirement }) => requirement.id);
  expect(unexamined).toEqual(["own-pods-only", "watch-resumed", "watch-expired", "pod-status-quiet"]);
  expect(why("pod-running")).toBe("pod web after 25 s: phase Pending, container without a status, restarts 0");
});
