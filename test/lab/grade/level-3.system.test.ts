import { describe, expect, test } from "vitest";
import { grade, untranslated } from "../../support/grade.js";

const AGENT = ["{kubeconfig}", "{node}", "{cri}"];

const LACKING = [
  // an agent that restarts at once and knows no probes: requirement, the sentence that decides it
  ["crash-back-off", /; the kubelet waits 10 s, then twice as long each time, up to 5 min$/],
  ["crash-reported", /^pod crash: /],
  ["liveness-probe", /^pod sick: phase Running, container running, restarts 0$/],
  ["readiness-probe", /^pod late was reported Ready while its readiness probe failed$/],
  ["startup-probe", /^pod slow was reported started while its startup probe failed$/],
  ["http-probe", /^no probe of pod calls reached its port$/],
  ["tcp-probe", /^pod dials was reported Ready while its port was closed$/],
] as const;

test("an agent that restarts at once and knows no probes fails what it lacks", { timeout: 240_000 }, async () => {
  const graded = await grade(3, "node", "level-2.mjs", "right", ...AGENT);
  for (const [id, sentence] of LACKING) expect([id, graded.why(id)]).toEqual([id, expect.stringMatching(sentence)]);
  expect(graded.failed).toEqual(expect.arrayContaining(LACKING.map(([id]) => id)));
  expect(graded.failed).not.toContain("restart-in-place");
  expect(untranslated(graded.verdicts)).toEqual([]);
});

const MISTAKES = [
  [
    "restarts-on-success",
    "restart-on-failure",
    /^the container of pod on-success, which ends with 0, was started \d+ times$/,
  ],
  ["new-sandbox", "restart-in-place", /^pod always had 2 sandboxes$/],
] as const;

describe("a well-known mistake fails its requirement", () => {
  test.each(MISTAKES)("%s", { timeout: 240_000 }, async (mistake, failed, sentence) => {
    const graded = await grade(3, "node", "level-2.mjs", mistake, ...AGENT);
    expect(graded.failed).toContain(failed);
    expect(graded.why(failed)).toMatch(sentence);
    expect(untranslated(graded.verdicts)).toEqual([]);
  });
});
