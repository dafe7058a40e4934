import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { hasKeys } from "../../../src/commands/cli/terminal-keys.js";
import { LabKeys, serveKeys } from "../../../src/commands/pleg/keys.js";
import type { LabTarget } from "../../../src/testbed/runtime/lab-runtime.js";
import { FakeClock, settle } from "../../support/fake-clock.js";
import { FakeProgress } from "../../support/fake-progress.js";
import { only, recordingTrace } from "../../support/trace.js";
import { FakeLab } from "./fake-lab.js";

function setUp(things?: LabTarget[]) {
  const modes: boolean[] = [];
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (isRaw: boolean) => modes.push(isRaw) });
  const { trace, events } = recordingTrace(new FakeClock());
  const lab = new FakeLab();
  if (things !== undefined) lab.things = things;
  const stop = new AbortController();
  const progress = new FakeProgress();
  const keys = new LabKeys(lab, trace);
  const clock = new FakeClock();
  return {
    stdin,
    clock,
    modes,
    trace,
    events,
    lab,
    stop,
    progress,
    keys,
    done: serveKeys({ keys, stdin, progress, clock }, stop.signal),
  };
}

test("digits select, letters act on the selection, other keys show the help", async () => {
  const { stdin, lab, events, done } = setUp();
  stdin.write("k2nh?q");
  await done;
  expect(lab.done).toEqual(["kill p1-c", "not-ready p1-s", "hang -"]);
  expect(only(events, "table")).toHaveLength(4);
});

test("a key that sends several characters does nothing", async () => {
  const { stdin, lab, events, done } = setUp();
  // Delete, F5, up, F1, Alt-k
  for (const key of ["\u001b[3~", "\u001b[15~", "\u001b[A", "\u001bOP", "\u001bk"]) stdin.write(key);
  stdin.write("kq");
  await done;
  expect(lab.done).toEqual(["kill p1-c"]);
  expect(only(events, "note").map(({ text }) => text)).toEqual(["did kill"]);
});

test("sandbox actions apply to the sandbox of the selected container", async () => {
  const { stdin, lab, done } = setUp();
  stdin.write("nq");
  await done;
  expect(lab.done).toEqual(["not-ready p1-s"]);
});

test("of two sandboxes of a pod it is the container's own", async () => {
  const home = { kind: "sandbox", pod: "default/p1", name: "sandbox", state: "running" } as const;
  const { stdin, lab, done } = setUp([
    { ...home, id: "old", sandboxId: "old", state: "exited" },
    { ...home, id: "new", sandboxId: "new" },
    { ...thing("a"), sandboxId: "new" },
  ]);
  stdin.write("nq");
  await done;
  expect(lab.done).toEqual(["not-ready new"]);
});

test("an unassigned digit selects nothing", async () => {
  const { stdin, lab, done } = setUp();
  stdin.write("9kq");
  await done;
  expect(lab.done).toEqual(["kill p1-c"]);
});

test("without anything to select, the help explains that", async () => {
  const { stdin, events, done } = setUp([]);
  stdin.write("?q");
  await done;
  expect(only(events, "note").map(({ text }) => text)).toContain("there are no containers or sandboxes yet");
  expect(only(events, "table").map(({ title }) => title)).not.toContain("What they act on (* now):");
});

test("container actions do not apply to a sandbox or to a removed container", async () => {
  const { stdin, lab, events, done } = setUp();
  stdin.write("2k");
  await settle();
  lab.things = [];
  stdin.write("kq");
  await done;
  expect(lab.done).toEqual([]);
  expect(only(events, "error").map(({ message }) => message)).toEqual([
    "k is for a container, and p1 sandbox p1-s is chosen",
    "k is for a container, and nothing is chosen",
  ]);
});

function thing(id: string): LabTarget {
  return { kind: "container", id, sandboxId: "p1-s", pod: "default/p1", name: "app", state: "running" };
}

test("numbers are stable: entries after a removed one keep theirs", async () => {
  const { stdin, lab, events, done } = setUp([thing("a"), thing("b"), thing("c")]);
  lab.things = [thing("b"), thing("new"), thing("c")];
  stdin.write("1k2k3k?4kq");
  await done;
  expect(lab.done).toEqual(["kill b", "kill c", "kill new"]);
  expect(only(events, "error").map(({ message }) => message)).toEqual([
    "1 was p1 app a, which is gone",
    "k is for a container, and nothing is chosen",
  ]);
  expect(only(events, "note").map(({ text }) => text)).toContain("4 chooses p1 app new");
});

test("Tab reaches the entries that have no digit", async () => {
  const { stdin, lab, events, done } = setUp(Array.from({ length: 11 }, (_, i) => thing(`c${i}`)));
  stdin.write("9k\tk\tk\tkq");
  await done;
  expect(lab.done).toEqual(["kill c8", "kill c9", "kill c10", "kill c0"]);
  const [, shown] = only(events, "table");
  expect(shown?.rows.at(-1)).toEqual(["Tab", "  the next one, of these and 2 more", ""]);
});

for (const [how, end] of [
  ["q", (lab: ReturnType<typeof setUp>) => lab.stdin.write("q")],
  ["Ctrl-D", (lab: ReturnType<typeof setUp>) => lab.stdin.write("\u0004")],
  ["the end of the input", (lab: ReturnType<typeof setUp>) => lab.stdin.end()],
  ["an abort", (lab: ReturnType<typeof setUp>) => lab.stop.abort()],
] as const) {
  test(`${how} ends it, and the terminal is given back`, async () => {
    const lab = setUp();
    await settle();
    end(lab);
    await lab.done;
    expect(lab.modes).toEqual([true, false]);
    expect(lab.stdin.listenerCount("keypress")).toBe(0);
  });
}

test("Ctrl-C interrupts, and the terminal is given back", async () => {
  const { stdin, modes, done } = setUp();
  stdin.write("\u0003");
  await expect(done).rejects.toMatchObject({ name: "AbortError" });
  expect(modes).toEqual([true, false]);
});

test("buttons select and act as the keys do, and what would have no effect is disabled", async () => {
  const { keys, lab, stdin, done } = setUp();
  const shown = () => keys.buttons.map(({ key, label, enabled }) => `${key} ${label} ${enabled}`);
  await settle();
  expect(shown()).toEqual([
    "1 chosen: p1 app p1-c false",
    "2 choose: p1 sandbox p1-s true",
    "k kill it true",
    "n make it not ready true",
    "h let lists hang true",
  ]);
  await keys.press("2");
  expect(shown().slice(0, 3)).toEqual([
    "1 choose: p1 app p1-c true",
    "2 chosen: p1 sandbox p1-s false",
    "k kill it false",
  ]);
  await Promise.all([keys.press("n"), keys.press("h")]);
  expect(lab.done).toEqual(["not-ready p1-s", "hang -"]);
  stdin.write("q");
  await done;
});

test("keys work only if stdin and stderr are terminals", () => {
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

test("the last line shows the selection and the keys for it", async () => {
  const { stdin, progress, done } = setUp();
  await settle();
  const [before = ""] = progress.lines(80);
  stdin.write("2");
  await settle();
  const [after = ""] = progress.lines(80);
  expect([before, after]).toEqual([expect.stringContaining("k "), expect.stringContaining("n ")]);
  expect(progress.lines(20)[0]?.length).toBeLessThanOrEqual(20);
  stdin.write("q");
  await done;
  expect(progress.lines(80)).toEqual([]);
});

test("on the page a button selects what has no digit", async () => {
  const { keys, stdin, lab, done } = setUp(Array.from({ length: 11 }, (_, i) => thing(`c${i}`)));
  await keys.look();
  expect(keys.buttons).toContainEqual(
    expect.objectContaining({ key: "Tab", label: "choose the next, of these and 2 more" }),
  );
  for (const key of ["9", "Tab", "k"]) await keys.press(key);
  stdin.write("q");
  await done;
  expect(lab.done).toEqual(["kill c9"]);
});

test("the table follows the runtime, and leaves nothing behind", async () => {
  const { stdin, clock, done } = setUp();
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on("warning", warned);
  await settle();
  for (let i = 0; i < 20; i++) await clock.advance(250);
  stdin.write("q");
  await done;
  process.off("warning", warned);
  expect(warnings).toEqual([]);
  expect(clock.sleeping).toBe(0);
});
