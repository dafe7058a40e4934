import assert from "node:assert/strict";
import { Chalk } from "chalk";
import { test } from "vitest";
import type { Fact } from "../../../src/trace/events.js";
import { CalmSink } from "../../../src/trace/terminal/calm.js";
import { withoutRepeats } from "../../../src/trace/terminal/fold.js";
import { TerminalSink } from "../../../src/trace/terminal/terminal-sink.js";
import { Trace } from "../../../src/trace/trace.js";
import { FakeClock, START_MS } from "../../support/fake-clock.js";
import { recordingTrace } from "../../support/trace.js";

const PODS = 2_000;
const lines = {
  pipe: { folds: true, isCalm: false },
  "pipe with -v 1": { folds: false, isCalm: false },
  terminal: { folds: true, isCalm: true },
} as const;

/** A trace of a run, and the lines it prints. */
function start({ folds, isCalm }: { readonly folds: boolean; readonly isCalm: boolean }) {
  const clock = new FakeClock();
  const trace = new Trace(clock);
  let out = "";
  const write = { write: (text: string) => (out += text) };
  const options = {
    chalk: new Chalk({ level: 0 }),
    width: () => 100,
    unicode: true,
    verbosity: 1,
    startMs: START_MS,
  } as const;
  const calm = { ...options, home: undefined, link: (text: string) => text, onRepeat: () => {} };
  const sink = isCalm ? new CalmSink(calm, write, clock) : new TerminalSink(options, write, folds, clock);
  trace.addSink(sink);
  const tell = (fact: Fact) => trace.emit(fact, { actor: "kubelet" });
  return { clock, trace, sink, tell, lines: () => out.split("\n").slice(0, -1) };
}

/** the facts about each pod of a node with room for few */
function reject(run: ReturnType<typeof start>, name: string, used: number): void {
  run.trace.step("kubelet", `Sync pod default/${name}`, {}, () => {
    run.tell({ kind: "decision", what: `do not run default/${name}: OutOfpods`, why: `requested: 1, used: ${used}` });
    run.tell({ kind: "state", subject: `pod default/${name}`, what: "phase", to: "Failed" });
  });
}

for (const [name, sink] of Object.entries(lines)) {
  test(`2,000 pods alike, ${name}: ${sink.folds ? "a count after 30" : "each is shown"}`, async () => {
    const run = start(sink);
    for (let i = 0; i < PODS; i++) reject(run, `p-${i}`, i);
    await run.sink.close?.();
    const all = run.lines();
    if (!sink.folds) {
      assert.ok(all.length >= 3 * PODS, `${all.length} lines`);
      return;
    }
    assert.ok(all.length < 300, `${all.length} lines`);
    for (const text of [
      "Sync pod default/p-1999",
      "do not run default/p-1999: OutOfpods",
      "pod default/p-1999: phase Failed",
    ])
      assert.ok(
        all.some((line) => line.includes(`1970 more like this: ${text}; -v 1 shows each`)),
        text,
      );
  });
}

test("what goes on is counted every 5 s, and shown again once it is rare", async () => {
  const run = start(lines.pipe);
  const shown: number[] = [];
  for (const perSecond of [100, 100, 1, 1]) {
    for (let second = 0; second < 10; second++) {
      for (let i = 0; i < perSecond; i++) run.tell({ kind: "note", text: `node ${i} waits` });
      await run.clock.advance(1_000);
    }
    shown.push(run.lines().length);
  }
  const [first, second, third, fourth] = shown;
  // the first 30 and two counts; two counts; two counts of few; each
  assert.deepEqual([first, second, third, fourth], [32, 34, 36, 46]);
});

test("different sentences are not folded, and tables never are", async () => {
  const run = start(lines.pipe);
  const words = Array.from({ length: 100 }, (_, i) => String.fromCharCode(97 + (i % 26), 97 + Math.floor(i / 26)));
  for (const word of words) run.tell({ kind: "note", text: `the node is ${word}` });
  for (let i = 0; i < 100; i++) run.tell({ kind: "table", title: `t ${i}`, columns: ["a"], rows: [["b"]] });
  await run.sink.close?.();
  assert.ok(run.lines().length >= 300);
  assert.ok(!run.lines().some((line) => line.includes("more like this")));
});

test("a long list of names is cut", () => {
  const run = start(lines.pipe);
  const names = Array.from({ length: 1_000 }, (_, i) => `default/p${i}`);
  run.tell({ kind: "decision", what: `ADD from api: [${names.join(", ")}]`, why: "the source has them now" });
  const text = run.lines().join(" ").replace(/ +/g, " ");
  assert.match(text, /default\/p9, and 990 more\]/);
});

test("a finite trace: each periodic change once, and the count of its repeats where the last of them was", () => {
  const clock = new FakeClock();
  const { trace, events } = recordingTrace(clock);
  const renew = (node: string, i: number) => {
    const fact = { kind: "state", subject: `Lease ${node}`, what: "renewTime", to: `${i}` } as const;
    trace.emit(fact, { actor: "kubelet", every: "10 s" });
  };
  for (let i = 1; i <= 4; i++) {
    renew("a", i);
    if (i <= 2) renew("b", i);
    trace.emit({ kind: "state", subject: "pod web", what: "", to: "Running" }, { actor: "kubelet" });
  }
  const texts = withoutRepeats(events).map((one) => (one.kind === "note" ? one.text : "to" in one && one.to));
  assert.deepEqual(texts, [
    ...["1", "1", "Running", "2", "Running", "Running"],
    ...["Lease a renewTime, again 3x, every 10 s", "Running"],
  ]);
});
