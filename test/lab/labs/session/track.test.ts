import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import { summaryOf } from "../../../../src/lab/labs/format/library.js";
import { learnFolder, ProgressStore } from "../../../../src/lab/labs/progress/progress-store.js";
import type { LabMessage } from "../../../../src/lab/labs/session/message.js";
import { trackProgress } from "../../../../src/lab/labs/session/track.js";
import { FakeClock, settle } from "../../../support/fake-clock.js";
import { tinyLab } from "../../../support/tiny-lab.js";

const lab = summaryOf(await tinyLab());
const done: readonly LabMessage[] = lab.steps.map((step) => ({ kind: "done", step, hints: 0 }));
const hint: LabMessage = { kind: "hint", index: 1, count: 2, text: "" };
const answer = (given: string): LabMessage => ({ kind: "answer", given, right: "goes", text: "", expected: "" });
const shown: LabMessage = { kind: "shown", step: "back" };

/** Plays a lab from its beginning, with these messages. */
async function play(store: ProgressStore, messages: readonly LabMessage[]) {
  await store.begin(lab, 1);
  const { note, written } = trackProgress(store, lab);
  for (const message of messages) note(message);
  await written();
  return store.of(lab);
}

const newStore = () =>
  new ProgressStore({ XDG_STATE_HOME: mkdtempSync(join(tmpdir(), "kubelab-track-")) }, new FakeClock());

test("what was shown is kept apart from what was solved", async () => {
  const played = await play(newStore(), [answer("goes"), shown, shown, ...done]);
  assert.deepEqual(played?.shown, ["back"]);
  const { finishedAtMs: _, ...best } = played?.best ?? {};
  assert.deepEqual(best, { rightPredictions: 1, wrongPredictions: 0, hints: 0, solved: 0, shown: 1 });
});

test("a prediction that was answered wrongly is kept by its step", async () => {
  const [first = hint, ...others] = done;
  assert.equal((await play(newStore(), [answer("goes"), ...done]))?.wrong, undefined);
  const played = await play(newStore(), [answer("stays"), first, answer("goes"), ...others]);
  assert.deepEqual([played?.wrong, played?.wrongPredictions], [["look"], 1]);
});

test("a second run begins at nothing, and keeps the best result", async () => {
  const store = newStore();
  const first = await play(store, [answer("goes"), ...done]);
  const second = await play(store, [answer("stays"), hint, done[0] ?? hint]);
  assert.deepEqual([second?.done, second?.hints, second?.finishedAtMs], [["look"], 1, undefined]);
  assert.deepEqual(second?.best, first?.best);
  const third = await play(store, [answer("stays"), hint, ...done]);
  assert.deepEqual(third?.best, first?.best);
});

test("the best exam stays when the lab is begun again", async () => {
  const store = newStore();
  await play(store, done);
  const exam = { atMs: 9, minutes: 12, usedMs: 1, points: 10, mostPoints: 20, isFinished: true };
  await store.change(lab.id, (before) => before && { ...before, exam });
  assert.deepEqual((await store.begin(lab, 1)).exam, exam);
});

test("a best result of an earlier revision does not count", async () => {
  const store = newStore();
  await play(store, [answer("goes"), ...done]);
  const begun = await store.begin({ ...lab, revision: 2 }, 1);
  assert.equal(begun.best, undefined);
});

test("a change waits for a change of another process, so that neither is lost", async () => {
  const clock = new FakeClock();
  const env = { XDG_STATE_HOME: mkdtempSync(join(tmpdir(), "kubelab-track-")) };
  const store = new ProgressStore(env, clock);
  await store.begin(lab, 1);
  const file = join(learnFolder(env), "progress.lock");
  writeFileSync(file, `${process.ppid}\n`);
  let isChanged = false;
  const changing = store.change(lab.id, (before) => before && { ...before, hints: 1 }).then(() => (isChanged = true));
  await settle(20);
  await clock.advance(20);
  assert.equal(isChanged, false);
  rmSync(file);
  while (!isChanged) {
    await settle();
    await clock.advance(5);
  }
  await changing;
  assert.equal((await store.of(lab))?.hints, 1);
});
