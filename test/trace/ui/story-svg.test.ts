import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "vitest";
import type { TraceEvent } from "../../../src/trace/events.js";
import { TraceGraph } from "../../../src/trace/graph/graph.js";
import { storySvg } from "../../../src/trace/ui/story-svg.js";
import { textWidth } from "../../../src/util/text/text-width.js";
import { HOSTILE } from "../hostile.js";
import { PageFacts, toldFacts } from "./page-facts.js";

const draw = (events: readonly TraceEvent[]) => storySvg(TraceGraph.of(events))[0];
const textsOf = (svg: string) =>
  [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/gs)].map(([, text = ""]) => plain(text.replace(/<[^>]*>/g, "")));
const plain = (text: string) => text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));

/** Names of the elements. @throws AssertionError for what no XML parser reads */
function elementsOf(svg: string): Set<string> {
  const names = new Set<string>();
  const open: string[] = [];
  const token = /<(\/?)(\w+)((?:\s[\w:-]+="[^"<&]*(?:&#\d+;[^"<&]*)*")*)(\/?)>|((?:[^<&]|&#\d+;)+)/y;
  for (let at = 0; at < svg.length; at = token.lastIndex) {
    token.lastIndex = at;
    const [, isEnd, name, , isEmpty] = token.exec(svg) ?? assert.fail(`at ${at}: ${svg.slice(at, at + 60)}`);
    if (name === undefined) continue;
    names.add(name);
    if (isEnd === "/") assert.equal(open.pop(), name);
    else if (isEmpty !== "/") open.push(name);
  }
  assert.deepEqual(open, []);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML does not have them
  assert.doesNotMatch(svg, /[\u0000-\u0008\u000b-\u001f\ufffe\uffff]|\p{Cs}/u);
  return names;
}

/** How far the texts reach, by the letters of a wide font. */
function reachOf(svg: string): { from: number; to: number; width: number } {
  const width = Number(/width="(\d+)"/.exec(svg)?.[1]);
  const reaches = [...svg.matchAll(/<text(.*?)x="([\d.]+)"(.*?)>(.*?)<\/text>/gs)].map(([, a, x, b, text = ""]) => {
    const letter = /class="h"/.test(`${a}`) ? 9.5 : /class="[dn]"/.test(`${a}`) ? 6.4 : 7.4;
    const size = textWidth(plain(text.replace(/<[^>]*>/g, ""))) * letter;
    const share = /anchor="end"/.test(`${b}`) ? 1 : /anchor="middle"/.test(`${b}`) ? 0.5 : 0;
    return { from: Number(x) - size * share, to: Number(x) + size * (1 - share) };
  });
  return { from: Math.min(...reaches.map(({ from }) => from)), to: Math.max(...reaches.map(({ to }) => to)), width };
}

test("story.svg: the latest story with its numbers, actors with their nodes, times, reasons", () => {
  const svg = draw(toldFacts());
  elementsOf(svg);
  const texts = textsOf(svg);
  assert.deepEqual(texts.slice(0, 11), [
    "pod default/web: from the request to Running",
    "user",
    "",
    "API server",
    "",
    "scheduler",
    "",
    "kubelet",
    "n1",
    "runtime",
    "n1",
  ]);
  const rows = texts.slice(11);
  for (const text of [
    "user asks the API server to create pod web",
    "the user ran kubectl",
    "0.000 s",
    "scheduler chooses n1 for pod web",
    "kubelet n1 tells the runtime to start container app",
    "4",
    "0.060 s",
  ])
    assert.ok(rows.includes(text), `${text}: ${rows.join("|")}`);
});

test("story.svg: a request is an arrow, a decision a loop, and a watch event ends at its reader", () => {
  const told = toldFacts();
  const steps = [{ fact: "0000000000000005", text: "hears of pod web" }];
  const paths = (events: readonly TraceEvent[]) =>
    [...draw(events).matchAll(/<path class="a" d="M([\d.]+) [\d.]+([Hh])([\d.]+)/g)].map(([, from, kind, to]) => ({
      isLoop: kind === "h",
      isRight: Number(to) > Number(from),
    }));
  assert.deepEqual(
    paths(told).map(({ isLoop }) => isLoop),
    [false, true, false, false],
  );
  const [heard] = paths([...told, { ...(told.at(-1) ?? assert.fail()), id: "f", title: "b", steps } as TraceEvent]);
  assert.deepEqual(heard, { isLoop: false, isRight: true });
});

test("story.svg: a long sentence is wrapped and a long reason cut, within 800 px; text has at least 12 px", () => {
  for (const [instance, length] of [
    ["n1", 60],
    ["a-node-with-a-name-that-is-much-longer-than-its-column.example.com", 400],
  ] as const) {
    const facts = new PageFacts();
    const text = `writes ${"many words ".repeat(length / 10)}${"x".repeat(length)}`;
    const steps = (["user", "apiserver", "controller", "scheduler", "kubelet", "runtime"] as const).map((actor) => ({
      fact: facts.add({ kind: "note", text }, { actor, instance }),
      text,
      why: `because of ${text}`,
    }));
    facts.add({ kind: "story", title: text, steps });
    const svg = draw(facts.events);
    const { from, to, width } = reachOf(svg);
    assert.equal(width, 800);
    assert.ok(from >= 0 && to <= width, `${instance} ${from} to ${to}`);
    assert.ok([...svg.matchAll(/(\d+)px/g)].every(([, size]) => Number(size) >= 12));
  }
});

test("story.svg: an answer is an arrow to the client of its request", () => {
  const func = { file: "responsewriters/writers.go", func: "WriteObjectNegotiated" };
  const tips = [func, { ...func, func: "WithAuditInit" }].map((upstream) => {
    const facts = new PageFacts();
    const request = { method: "GET", path: "/api/v1/pods", server: "https://127.0.0.1:6443", identity: "admin" };
    const sent = facts.add({ kind: "request", ...request, status: 403, durationMs: 5, auditId: "" }, { actor: "user" });
    const options = { actor: "apiserver", causedBy: sent } as const;
    const answer = facts.add({ kind: "decision", what: "answer 403", why: "a", upstream }, options);
    facts.add({ kind: "story", title: "t", steps: [{ fact: answer, text: "answers 403" }] });
    const [, from, kind, to] = /<path class="a" d="M(\d+) \d+([Hh])(\d+)/.exec(draw(facts.events)) ?? [];
    return kind === "H" && Number(to) < Number(from) ? "to the left" : kind;
  });
  assert.deepEqual(tips, ["to the left", "h"]);
});

test("story.svg: names in capitals and long actors leave room at the right border", () => {
  const facts = new PageFacts();
  const text = "approves CSR node-csr-XWMOQDGHWMMMWQOG…WMMQGS";
  const options = { actor: "controller", instance: "csrapproving", peer: { actor: "apiserver" } } as const;
  const steps = [{ fact: facts.add({ kind: "note", text }, options), text }];
  for (const actor of ["user", "kubelet"] as const)
    steps.push({ fact: facts.add({ kind: "note", text: "a" }, { actor }), text: "a" });
  facts.add({ kind: "story", title: "t", steps });
  const lines = textsOf(draw(facts.events)).filter((line) => /csrapproving|^node-csr/.test(line));
  assert.equal(lines.length, 2, lines.join("|"));
});

test("story.svg: many nodes make it wider, so that their names stay apart", () => {
  const facts = new PageFacts();
  const steps = Array.from({ length: 12 }, (_, i) => ({
    fact: facts.add({ kind: "note", text: "a" }, { instance: `node-${i}` }),
    text: "a",
  }));
  facts.add({ kind: "story", title: "t", steps });
  assert.equal(reachOf(draw(facts.events)).width, 72 + 12 * 92 + 12);
});

test("story.svg: hostile texts are text", () => {
  const elements = elementsOf(draw(toldFacts()));
  for (const text of HOSTILE) {
    const facts = new PageFacts();
    const fact = facts.add({ kind: "note", text }, { instance: text, actor: text as "kubelet" });
    facts.add({ kind: "story", title: `a${text}`, steps: [{ fact, text, why: text }] });
    const svg = draw(facts.events);
    for (const name of elementsOf(svg)) assert.ok(elements.has(name), name);
    assert.doesNotMatch(svg, /url\(|href|@import/);
  }
});

test("story.svg: a run without a story is one sentence, also in Chinese", () => {
  const facts = new PageFacts();
  facts.add({ kind: "note", text: "a" });
  assert.deepEqual(textsOf(draw(facts.events)), ["This run tells no story: --trace FILE.html shows all its facts."]);
  facts.add({ kind: "note", text: "节点" });
  assert.match(textsOf(draw(facts.events)).join("|"), /^这次运行没有讲述故事[^|]*$/);
});

test("story.svg: its colours are the page's", () => {
  const rules = /:root \{.*?\n\}/gs;
  const css = readFileSync("src/trace/ui/browser/page.css", "utf8");
  const source = readFileSync("src/trace/ui/sequence-svg.ts", "utf8");
  const [light = "", dark = ""] = css.match(rules) ?? [];
  const [, lightOwn = "", darkOwn = ""] = /light: \{(.*?)\}.*dark: \{(.*?)\}/s.exec(source) ?? [];
  for (const [own, page] of [
    [lightOwn, light],
    [darkOwn, dark],
  ] as const) {
    const colours = [...own.matchAll(/(\w+): "(#\w+)"/g)];
    assert.equal(colours.length, 13);
    for (const [, name, colour] of colours) assert.ok(page.includes(`--${name}: ${colour};`), `${name} ${colour}`);
  }
});
