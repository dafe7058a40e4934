import { expect, test } from "vitest";
import { grade, untranslated } from "../../support/grade.js";

const LACKING = {
  "init-order": "a container of pod ordered began before the end of its init containers",
  "init-failure": "pod stuck, whose init container fails: phase Succeeded, and its container was started",
  env: "pod speaks did not find a plain value",
  "empty-dir": "pod shares did not find the file that its init container wrote",
  "config-map": "pod reads did not find /config/color with its text",
  "config-map-follows": "no pod saw the ConfigMap in its volume",
  secret: "pod knows did not find /secret/word with the decoded value",
  "service-account": "pod belongs did not find a token of three parts",
};

test("an agent that runs only commands fails with what each pod lacks", { timeout: 240_000 }, async () => {
  const { failed, verdicts, why } = await grade(6, "node", "level-2.mjs", "right", "{kubeconfig}", "{node}", "{cri}");
  expect(Object.fromEntries(failed.map((id) => [id, why(id)]))).toEqual(LACKING);
  expect(untranslated(verdicts)).toEqual([]);
});
