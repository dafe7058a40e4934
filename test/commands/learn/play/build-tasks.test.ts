import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import type { LearnContext } from "../../../../src/commands/learn/context.js";
import { showResult } from "../../../../src/commands/learn/play.js";
import { summaryOf } from "../../../../src/lab/labs/format/library.js";
import { ProgressStore } from "../../../../src/lab/labs/progress/progress-store.js";
import { sayIn } from "../../../../src/util/i18n/catalogue.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { tinyLab } from "../../../support/tiny-lab.js";

test("a finished lab names the tasks of its chapter, another one none", async () => {
  const clock = new FakeClock();
  const store = new ProgressStore({ XDG_STATE_HOME: mkdtempSync(join(tmpdir(), "kubelab-build-")) }, clock);
  const context = { streams: { stdout: { write: () => true } } };
  const env = { store, say: sayIn("en"), context } as unknown as LearnContext;
  const tiny = summaryOf(await tinyLab());
  const resultOf = async (id: string) => {
    const lab = { ...tiny, id };
    await store.begin(lab, 1);
    await store.change(id, (run) => run && { ...run, done: lab.steps, finishedAtMs: clock.now() });
    return (await showResult(env, lab, "stdout")).filter((line) => line.includes("kubelab build"));
  };
  assert.deepEqual(await resultOf("crash-loop"), [
    "Write this part of the kubelet yourself: kubelab build start phase",
    "Write this part of the kubelet yourself: kubelab build start crash-loop-back-off",
  ]);
  assert.deepEqual(await resultOf("tiny"), []);
});
