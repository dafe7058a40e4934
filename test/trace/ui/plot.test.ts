import assert from "node:assert/strict";
import { test } from "vitest";
import words from "../../../src/trace/ui/browser/content/words.zh.json" with { type: "json" };
import { language, readLanguage, say } from "../../../src/trace/ui/browser/language.js";
import { Story } from "../../../src/trace/ui/browser/story.js";
import { titleOf, transportOf } from "../../../src/trace/ui/browser/words.js";
import { PageFacts, podFacts, toldFacts } from "./page-facts.js";

const embedded = (events: PageFacts["events"]) => events.map((event) => ({ event, bodies: undefined }));

test("plot: steps have the numbers of the terminal; a later fact continues, another title is another story", () => {
  const facts = new PageFacts();
  const [a, b] = [facts.add({ kind: "note", text: "a" }), facts.add({ kind: "note", text: "b" })];
  facts.add({
    kind: "story",
    title: "one",
    steps: [
      { fact: a, text: "A" },
      { fact: "missing", text: "?" },
    ],
  });
  facts.add({ kind: "story", title: "two", steps: [{ fact: b, text: "B" }] });
  facts.add({ kind: "story", title: "one", steps: [{ fact: b, text: "B too" }] });
  facts.add({ kind: "story", title: "none", steps: [{ fact: "missing", text: "?" }] });
  const story = new Story();
  story.add(embedded(facts.events));
  const plots = story.plots.map(({ title, steps }) => [title, steps.map(({ number, text }) => `${number} ${text}`)]);
  assert.deepEqual(plots, [
    ["two", ["1 B"]],
    ["one", ["1 A", "3 B too"]],
  ]);
  assert.equal(story.steps.length, 2);
  assert.equal(story.last(1).plots.length, 2);
});

test("plot: a step that is no message has the first write of its own work, or else its first message, unless its messages are steps", () => {
  const facts = new PageFacts();
  const call = { path: "/api/v1/nodes", server: "", identity: "", durationMs: 1, auditId: "" };
  const step = (title: string, options: object) => facts.add({ kind: "step", title }, options);
  const request = (method: string, causedBy: string, actor?: "controller") =>
    facts.add({ kind: "request", method, ...call }, { causedBy, actor: actor ?? "kubelet" });
  const join = step("join", { origin: "command" });
  const inside = facts.add({ kind: "note", text: "inside" }, { causedBy: join });
  request("GET", inside);
  request("POST", inside);
  request("PATCH", inside);
  const frame = step("frame", { origin: "command", causedBy: join });
  const told = request("PUT", frame);
  const alone = step("alone", { origin: "command", causedBy: frame });
  request("DELETE", alone, "controller");
  const reads = step("reads", { origin: "command", causedBy: alone });
  request("GET", reads);
  const steps = [join, frame, told, alone, reads].map((fact) => ({ fact, text: "" }));
  facts.add({ kind: "story", title: "one", steps });
  const story = new Story();
  story.add(embedded(facts.events));
  const sent = story.plots[0]?.steps.map((one) => one.sent && titleOf(one.sent.event));
  assert.deepEqual(sent, ["POST /api/v1/nodes", undefined, undefined, undefined, "GET /api/v1/nodes"]);
});

test("plot: its time is that of its steps", () => {
  const story = new Story();
  story.add(embedded(toldFacts()));
  const [plot] = story.plots;
  assert.deepEqual([plot?.startMs, plot?.endMs], [15, 80]);
});

const transports: readonly (readonly [id: number, words: string])[] = [
  [2, "POST …/pods → 201"],
  [5, "watch: pods default/web ADDED"],
  [6, "syncPod"],
  [7, "RuntimeService/StartContainer → OK"],
  [8, "PATCH …/pods/web/status → 200"],
  [9, "Event Slow: it was slow"],
];
for (const [id, text] of transports) {
  test(`words: the transport ${text}`, () => {
    const event = podFacts()[id - 1] ?? assert.fail();
    assert.equal(transportOf(event), text);
  });
}

test("words: a relist's changes have a name, and its own title stays", () => {
  const columns = ["pod", "container", "old", "new"];
  const rows = [["default/web", "app 01", "running", "exited"]];
  const titled = (title: string) => {
    const facts = new PageFacts();
    facts.add({ kind: "table", title, columns, rows });
    return facts.events.map(titleOf);
  };
  assert.deepEqual(titled("changes since the last relist"), ["default/web app 01: running → exited"]);
  assert.deepEqual(titled("自上次 relist 以来的变化"), ["default/web app 01: running → exited"]);
  assert.deepEqual(titled("Relist 3: 1 change"), ["Relist 3: 1 change"]);
});

test("language: English, and Chinese if the facts are; each sentence keeps its values", () => {
  assert.equal(say("step {1} of {2}", 1, 2), "step 1 of 2");
  for (const [english, chinese] of Object.entries(words)) {
    const values = (text: string) => (text.match(/\{\d\}/g) ?? []).sort().join();
    assert.equal(values(chinese), values(english), english);
  }
  readLanguage(embedded(podFacts()));
  assert.equal(language.value, "en");
});
