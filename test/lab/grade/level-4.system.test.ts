import { expect, test } from "vitest";
import { grade, untranslated } from "../../support/grade.js";

test("a mirror pod that is created for ever fails its requirement; what cannot be examined is skipped", {
  timeout: 240_000,
}, async () => {
  const words = ["mirror-for-ever", "{kubeconfig}", "{node}", "{cri}", "{manifests}"];
  const { verdicts, why } = await grade(4, "node", "level-2.mjs", ...words);
  expect(why("mirror-quiet")).toMatch(/^\d+ creations of pods by the agent, which had one static pod$/);
  expect(why("serves-healthz")).toMatch(/^Node graded names no port: /);
  const skipped = verdicts.filter(({ outcome }) => outcome === "skipped").map(({ requirement }) => requirement.id);
  expect(skipped).toEqual(["bootstrap", "rotation"]);
  expect(untranslated(verdicts)).toEqual([]);
});
