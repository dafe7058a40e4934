import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "vitest";
import type { LabMessage } from "../../../../src/lab/labs/session/message.js";
import { promptFile, promptNotes } from "../../../../src/lab/labs/session/shell-files.js";
import { Speaker } from "../../../../src/lab/labs/session/speaker.js";

const step = (type: "check" | "read", index: number): LabMessage => ({
  kind: "step",
  id: "a",
  type,
  title: "A",
  index,
  count: 9,
});

test("shells read the lab, its step, and whether a task is done", () => {
  const programs = mkdtempSync(join(tmpdir(), "kubelab-prompt-"));
  const place = { folder: programs, programs, variables: {} };
  const read = () => readFileSync(promptFile(place), "utf8");
  const note = promptNotes(place, "pleg", true);
  const done: LabMessage = { kind: "done", step: "a", hints: 0 };
  const seen = [step("read", 1), step("check", 2), done].map((message) => {
    note(message);
    return read();
  });
  assert.deepEqual(seen, ["pleg 1/9", "pleg 2/9 ○", "pleg 2/9 ✓"]);
  promptNotes(place, "pleg", false)(step("check", 3));
  assert.equal(read(), "pleg 3/9 o");
  rmSync(programs, { recursive: true });
  note(done);
});

test("messages wait for a reader, which gets them first; times that are over are not kept", async () => {
  const speaker = new Speaker();
  const got: string[] = [];
  const reader = ({ kind }: LabMessage) => void got.push(kind);
  speaker.emit({ kind: "waiting", seen: "", want: "", leftMs: 1, mayStop: true });
  speaker.emit({ kind: "done-elsewhere" });
  await speaker.during(reader, async () => speaker.emit(step("read", 1)));
  assert.deepEqual(got.splice(0), ["done-elsewhere", "step"]);
  speaker.reader = reader;
  await speaker.during(undefined, async () => speaker.emit(step("read", 2)));
  assert.deepEqual(got, []);
  assert.deepEqual([speaker.flush(), speaker.flush(), got], [true, false, ["step"]]);
});
