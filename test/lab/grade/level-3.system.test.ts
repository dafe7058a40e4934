import { expect, test } from "vitest";
import { grade, untranslated } from "../../support/grade.js";

test("an agent that restarts at once and knows no probes fails what it lacks", { timeout: 240_000 }, async () => {
  const graded = await grade(3, "node", "level-2.mjs", "right", "{kubeconfig}", "{node}", "{cri}");
  const lacking = ["crash-back-off", "crash-reported", "liveness-probe", "readiness-probe", "startup-probe"];
  expect(graded.failed).toEqual(expect.arrayContaining(lacking));
  expect(graded.why("crash-back-off")).toMatch(/; the kubelet waits 10 s, then twice as long each time, up to 5 min$/);
  expect(graded.why("readiness-probe")).toBe("pod late was reported Ready while its readiness probe failed");
  expect(graded.failed).not.toContain("restart-in-place");
  expect(untranslated(graded.verdicts)).toEqual([]);
});
