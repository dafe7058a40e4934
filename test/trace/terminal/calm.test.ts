import assert from "node:assert/strict";
import { Chalk } from "chalk";
import { test } from "vitest";
import type { Fact, TraceEvent } from "../../../src/trace/events.js";
import { CalmSink } from "../../../src/trace/terminal/calm.js";
import { type EmitOptions, Trace } from "../../../src/trace/trace.js";
import { FakeClock, START_MS } from "../../support/fake-clock.js";

const UPSTREAM = { file: "pkg/kubelet/a.go", func: "Run" };

interface Settings {
  readonly width?: number;
  readonly link?: (text: string, url: string) => string;
  readonly numberOf?: (event: TraceEvent) => number | undefined;
}

/** A trace with a calm sink, `width` columns wide. */
function calm({ width = 80, link = (text) => text, numberOf = () => undefined }: Settings = {}) {
  const clock = new FakeClock();
  const trace = new Trace(clock);
  let out = "";
  const asides: string[] = [];
  const options = {
    chalk: new Chalk({ level: 0 }),
    width: () => width,
    unicode: true,
    verbosity: 1,
    startMs: START_MS,
    home: "/home/me",
    link,
    numberOf,
    onRepeat: (text: string) => asides.push(text),
  } as const;
  const sink = new CalmSink(options, { write: (text) => (out += text) }, clock);
  trace.addSink(sink);
  return {
    trace,
    clock,
    sink,
    asides,
    tell: (fact: Fact, rest: Partial<EmitOptions> = {}) => trace.emit(fact, { actor: "kubelet", ...rest }),
    get lines() {
      return out.trimEnd().split("\n");
    },
  };
}

const decision = { kind: "decision", what: "yes", why: "because", upstream: UPSTREAM } as const;
const renewed = { kind: "state", subject: "Lease n", what: "renewTime", to: "now" } as const;

test("a step shares its line with its first decision or change; reasons are left out, the function is beside it", () => {
  const run = calm();
  run.trace.step("kubelet", "Is it so?", { upstream: UPSTREAM }, () => {
    run.tell(decision);
    run.tell({ kind: "state", subject: "Node n", what: "Ready", from: "False", to: "True" });
    run.tell({ kind: "event", type: "Normal", reason: "Starting", message: "x", object: "Node/n" });
    run.tell({ kind: "event", type: "Warning", reason: "Failed", message: "x", object: "Node/n" });
    run.tell({ kind: "error", message: "no", hint: "try again" });
  });
  assert.deepEqual(run.lines, [
    "  0.000 kubelet    ▸ Is it so?  ◆ yes  a.go Run",
    "                     ● Node n: Ready False → True",
    "                     ! Node/n Failed: x",
    "                     ✗ no",
    "                       try again",
  ]);
});

test("a step waits 30 ms for its first fact, and then stands alone", async () => {
  const run = calm();
  await run.trace.step("kubelet", "Wait", {}, async () => {
    assert.deepEqual(run.lines, [""]);
    await run.clock.advance(30);
    assert.deepEqual(run.lines, ["  0.000 kubelet    ▸ Wait"]);
    run.tell(decision, { actor: "controller" });
  });
  assert.equal(run.lines[1], "        controller   ◆ yes");
});

test("what repeats by itself has a line once; then it is counted", async () => {
  const run = calm();
  for (let i = 0; i < 3; i++) run.tell(renewed, { every: "10 s" });
  for (const title of ["a", "b", "c"]) run.trace.step("kubelet", title, {}, () => {});
  await run.sink.close();
  assert.deepEqual(run.asides, ["Lease n renewTime, again 1x, every 10 s", "Lease n renewTime, again 2x, every 10 s"]);
  assert.deepEqual(
    run.lines.filter((line) => line.includes("Lease n")),
    ["  0.000 kubelet    ● Lease n: renewTime now", "  changed    Lease n", "  repeated   Lease n renewTime 3 times"],
  );
});

test("the summary counts requests by actor, refusals by status, and decisions; a short run has none", async () => {
  const request = { method: "GET", path: "/", server: "s", identity: "i", durationMs: 1, auditId: "a" } as const;
  for (const titles of [
    ["a", "b"],
    ["a", "b", "c"],
  ]) {
    const run = calm();
    for (const title of titles) run.trace.step("kubelet", title, {}, () => run.tell(decision));
    for (const status of [200, 404, 404, 403]) run.tell({ kind: "request", ...request, status });
    run.tell({ kind: "request", ...request, failure: "refused" }, { actor: "user" });
    await run.clock.advance(1_500);
    run.tell({ kind: "note", text: "end" });
    await run.sink.close();
    const at = run.lines.findIndex((line) => line.startsWith("what just happened"));
    const want = [
      "what just happened: 3 steps in 1.50 s",
      "  requests   kubelet 4, user 1, refused: 404 x2, 403, no answer",
      "  decisions  kubelet 3",
      "  more       -v 1 reasons and sources, -v 2 requests, --trace run.html a picture",
    ];
    assert.deepEqual(at < 0 ? [] : run.lines.slice(at), titles.length < 3 ? [] : want);
  }
});

test("the summary of a run with a story counts its steps, as they are numbered", async () => {
  let count = 0;
  const run = calm({ numberOf: (event) => (event.kind === "decision" ? ++count : undefined) });
  for (const title of ["a", "b", "c"]) run.trace.step("kubelet", title, {}, () => run.tell(decision));
  for (const what of ["d", "e"]) run.tell({ ...decision, what });
  await run.sink.close();
  assert.ok(
    run.lines.some((line) => line.startsWith("what just happened: 5 steps")),
    run.lines.join("\n"),
  );
});

test("a long name does not hide the shorter ones after it", async () => {
  const run = calm({ width: 60 });
  for (const title of ["a", "b", "c"]) run.trace.step("kubelet", title, {}, () => {});
  for (const subject of ["x".repeat(50), "Lease n", "y".repeat(50), "Node n"])
    run.tell({ kind: "state", subject, what: "", to: "x" });
  await run.sink.close();
  assert.ok(run.lines.includes("  changed    Lease n, Node n, and 2 more"), run.lines.join("\n"));
});

const texts = [
  ["/home/me/x is /home/meme/y", "~/x is /home/meme/y"],
  ["CSR node-csr-YGOaeSYjwbse06cttI8qrLPF4VhpffcX30JqkKfve9o", "CSR node-csr-YGOae…fve9o"],
  ["container 0123456789012345678901234567890123456789abcdef", "container 012345678901"],
  ["pod 0bc63178-7c96-40b4-9e19-897aebb8b5f6", "pod 0bc63178"],
  ["a-long-name-of-words-that-a-person-can-still-read", "a-long-name-of-words-that-a-person-can-still-read"],
] as const;
for (const [text, want] of texts) {
  test(`short: ${text}`, () => {
    const run = calm({ width: 100 });
    run.tell({ kind: "state", subject: text, what: "", to: "x" });
    assert.equal(run.lines[0], `  0.000 kubelet    ● ${want}: x`);
  });
}

test("the function is a link to its file where the terminal has links, and is left out where there is no room", () => {
  for (const [width, want] of [
    [80, "  0.000 kubelet    ▸ Go  [a.go Run](https://github.com/kubernetes/kubernetes/blob/v1.25.0/pkg/kubelet/a.go)"],
    [66, "  0.000 kubelet    ▸ Go, with a title that takes the whole line x"],
  ] as const) {
    const run = calm({ width, link: (text, url) => `[${text}](${url})` });
    const title = width === 80 ? "Go" : "Go, with a title that takes the whole line x";
    run.trace.step("kubelet", title, { upstream: UPSTREAM }, () => {});
    run.sink.flush();
    assert.equal(run.lines[0], want);
  }
});

test("a narrow terminal gets the time and the actor on a line of their own", () => {
  const run = calm({ width: 40 });
  run.tell(renewed);
  assert.deepEqual(run.lines, ["  0.000 kubelet", "  ● Lease n: renewTime now"]);
});

test("a start is one line; errors, Events and the facts of one actor are shown, and a failed start is shown in full", () => {
  const begin = () => {
    const run = calm();
    run.sink.fold("scheduler");
    run.trace.step("kubelet", "Join", {}, () => run.tell(decision));
    run.tell({ kind: "note", text: "more" }, { level: 2 });
    run.tell({ ...decision, what: "its topic" }, { actor: "scheduler" });
    run.tell({ kind: "error", message: "broken" });
    return run;
  };
  const [good, bad, empty] = [begin(), begin(), calm()];
  good.sink.unfold("node n has started");
  bad.sink.unfold(undefined);
  empty.sink.fold(undefined);
  empty.sink.unfold("nothing");
  const [topic, failure] = ["  0.000 scheduler  ◆ its topic", "  0.000 kubelet    ✗ broken"];
  assert.deepEqual(good.lines, [topic, failure, "  0.000 user         node n has started (2 facts, which -v 1 shows)"]);
  assert.deepEqual(bad.lines, [topic, failure, "  0.000 kubelet    ▸ Join  ◆ yes"]);
  assert.deepEqual(empty.lines, [""]);
});
