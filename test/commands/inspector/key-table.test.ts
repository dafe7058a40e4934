import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { test } from "vitest";
import { InspectorKeys, keyLine, serveKeyTable } from "../../../src/commands/inspector/key-table.js";
import { LabError } from "../../../src/util/errors.js";
import { sentencesIn } from "../../../src/util/i18n/sentences.js";
import { FakeClock } from "../../support/fake-clock.js";
import { FakeProgress } from "../../support/fake-progress.js";
import { only, recordingTrace } from "../../support/trace.js";

function setUp() {
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => modes.push(isRaw) });
  const { trace, events } = recordingTrace(new FakeClock());
  const pressed: string[] = [];
  const key = (name: string, did: string | undefined) => ({
    key: name,
    short: name,
    label: `do ${name}`,
    run: async () => {
      pressed.push(name);
      return did;
    },
  });
  const refused = {
    key: "r",
    short: "refused",
    label: "be refused",
    run: async () => {
      throw new LabError("REFUSED", "the API server says no", "Ask for something else.");
    },
  };
  const table = [key("a", "a was done"), { ...key("b", undefined), isPossible: () => false }, refused];
  const keys = new InspectorKeys(table, trace);
  const stop = new AbortController();
  const progress = new FakeProgress();
  return {
    stdin,
    modes,
    events,
    pressed,
    stop,
    progress,
    keys,
    done: serveKeyTable({ keys, stdin, progress }, stop.signal),
  };
}

test("a key performs its action and reports it; other keys show the table", async () => {
  const { stdin, events, pressed, done, modes } = setUp();
  stdin.write("abx\u001b[3~q");
  await done;
  assert.deepEqual(pressed, ["a", "b"]);
  assert.deepEqual(
    only(events, "note").map(({ text }) => text),
    ["a was done"],
  );
  assert.equal(only(events, "table").length, 3);
  assert.deepEqual(modes, [true, false]);
});

test("a refused action is reported, and the keys keep working", async () => {
  const { stdin, events, pressed, done } = setUp();
  stdin.write("raq");
  await done;
  assert.deepEqual(pressed, ["a"]);
  assert.equal(only(events, "error")[0]?.hint, "Ask for something else.");
});

test("keys of the page and of the terminal take effect one after the other", async () => {
  const { stdin, keys, stop, events, pressed, done } = setUp();
  const fromPage = ["a", "r", "b"].map((key) => keys.press(key, stop.signal));
  stdin.write("aq");
  await Promise.all([done, ...fromPage]);
  assert.deepEqual(pressed, ["a", "b", "a"]);
  assert.deepEqual([only(events, "note").length, only(events, "error").length], [2, 1]);
});

test("keys are buttons, disabled if there is nothing to act on", async () => {
  const { stdin, keys, done } = setUp();
  assert.deepEqual(
    keys.buttons.map(({ key, label, enabled }) => `${key} ${label} ${enabled}`),
    ["a do a true", "b do b false", "r be refused true"],
  );
  stdin.write("q");
  await done;
});

test("Ctrl-C interrupts, and the terminal is given back", async () => {
  const { stdin, modes, done } = setUp();
  stdin.write("\u0003");
  await assert.rejects(done, { name: "AbortError" });
  assert.deepEqual(modes, [true, false]);
});

test("the last line names the keys until their reading ends", async () => {
  const { stdin, progress, done } = setUp();
  assert.deepEqual(progress.lines(80), ["a a  b b  r refused  q quit"]);
  stdin.write("q");
  await done;
  assert.deepEqual(progress.lines(80), []);
});

test("the line of keys is never wider than the terminal, in either language", async () => {
  const keys = [
    { key: "n", short: "new file" },
    { key: "r", short: "remove file" },
  ];
  assert.equal(keyLine(keys, 36), "n new file  r remove file  q quit");
  assert.equal(keyLine(keys, 30), "n new file  r  ? help  q quit");
  assert.equal(keyLine(keys, 28), "n r  ? help  q quit");
  assert.equal(keyLine(keys, 30, "web: "), "web: n r  ? help  q quit");
  assert.equal(keyLine(keys, 22, "web: "), "n r  ? help  q quit");
  assert.equal(keyLine(keys, 16), "? help  q quit");
  assert.equal(keyLine(keys, 6), "q quit");
  const { say } = (await sentencesIn("zh")) ?? assert.fail();
  assert.equal(keyLine(keys, 36, "", say), "n 新文件  r 删文件  q 退出");
  assert.equal(keyLine(keys, 22, "", say), "n r  ? 帮助  q 退出", "a Chinese word takes two columns");
});
