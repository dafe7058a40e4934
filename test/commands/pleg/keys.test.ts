import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { serveKeys } from "../../../src/commands/pleg/keys.js";
import { hasKeys, keysOf } from "../../../src/commands/window/terminal-keys.js";
import { FakeClock } from "../../support/fake-clock.js";
import { only, recordingTrace } from "../../support/trace.js";
import { FakeLab } from "./fake-lab.js";

function setUp() {
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => modes.push(isRaw) });
  const { trace, events } = recordingTrace(new FakeClock());
  const lab = new FakeLab();
  const stop = new AbortController();
  return { stdin, modes, trace, events, lab, stop, done: serveKeys({ lab, trace, stdin }, stop.signal) };
}

test("digits choose, letters act on what was chosen, the rest shows the help", async () => {
  const { stdin, lab, events, done } = setUp();
  stdin.write("k2kh?q");
  await done;
  expect(lab.done).toEqual(["kill p1-c", "kill p1-s", "hang -"]);
  expect(only(events, "table")).toHaveLength(4);
});

test("a key that sends several characters means nothing, not what its characters do", async () => {
  const { stdin, lab, events, done } = setUp();
  // Delete, F5, up, F1, Alt-k
  for (const key of ["\u001b[3~", "\u001b[15~", "\u001b[A", "\u001bOP", "\u001bk"]) stdin.write(key);
  stdin.write("kq");
  await done;
  expect(lab.done).toEqual(["kill p1-c"]);
  expect(only(events, "note").map(({ text }) => text)).toEqual(["did kill"]);
  expect(keysOf("a\u001b[1;5Cb\u001b\u0003")).toEqual(["a", "\u001b[1;5C", "b", "\u001b", "\u0003"]);
});

test("what is for sandboxes is done to the sandbox of the container that was chosen", async () => {
  const { stdin, lab, done } = setUp();
  stdin.write("nq");
  await done;
  expect(lab.done).toEqual(["not-ready p1-s"]);
});

test("a digit that stands for nothing chooses nothing", async () => {
  const { stdin, lab, done } = setUp();
  stdin.write("9kq");
  await done;
  expect(lab.done).toEqual(["kill p1-c"]);
});

for (const [how, end] of [
  ["q", (lab: ReturnType<typeof setUp>) => lab.stdin.write("q")],
  ["Ctrl-D", (lab: ReturnType<typeof setUp>) => lab.stdin.write("\u0004")],
  ["the end of the input", (lab: ReturnType<typeof setUp>) => lab.stdin.end()],
  ["an abort", (lab: ReturnType<typeof setUp>) => lab.stop.abort()],
] as const) {
  test(`${how} ends it, and the terminal is given back`, async () => {
    const lab = setUp();
    end(lab);
    await lab.done;
    expect(lab.modes).toEqual([true, false]);
    expect(lab.stdin.listenerCount("data")).toBe(0);
  });
}

test("Ctrl-C interrupts, and the terminal is given back", async () => {
  const { stdin, modes, done } = setUp();
  stdin.write("\u0003");
  await expect(done).rejects.toMatchObject({ name: "AbortError" });
  expect(modes).toEqual([true, false]);
});

test("there are keys only where both ends are a terminal", () => {
  const stream = (isTTY: boolean) => Object.assign(new PassThrough(), { isTTY, setRawMode: () => {} });
  const streams = (inTty: boolean, errTty: boolean) => ({
    stdin: stream(inTty),
    stdout: stream(true),
    stderr: stream(errTty),
  });
  expect([hasKeys(streams(true, true)), hasKeys(streams(false, true)), hasKeys(streams(true, false))]).toEqual([
    true,
    false,
    false,
  ]);
});
