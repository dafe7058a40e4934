import { expect, test } from "vitest";
import { grade, untranslated } from "../../support/grade.js";

test("an agent that runs no pods gets no points for what never ran", { timeout: 240_000 }, async () => {
  const agent = "examples/agents/javascript/agent.mjs";
  const { verdicts, failed, why } = await grade(5, "node", agent, "{kubeconfig}", "{node}", "{cri}");
  expect(failed).toEqual(expect.arrayContaining(["adopts-containers", "away-local", "back-deleted", "storage-limit"]));
  expect(why("adopts-containers")).toBe("not examined: pod stays never ran in the runtime");
  expect(untranslated(verdicts)).toEqual([]);
});
