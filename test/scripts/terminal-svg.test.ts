import assert from "node:assert/strict";
import { test } from "vitest";
import { sgrToSpans, terminalSvg } from "../../scripts/terminal-svg.js";

const table = [
  ["plain text stays plain", "plain", "plain"],
  ["XML is escaped", 'a<b> & "c"', "a&#60;b&#62; &#38; &#34;c&#34;"],
  ["bold ends with 22", "\u001b[1mbold\u001b[22m on", '<tspan class="b">bold</tspan> on'],
  ["dim and a colour add up", "\u001b[2;36mx\u001b[0my", '<tspan class="d" style="fill:#76e3ea">x</tspan>y'],
  ["other escape sequences are dropped", "\u001b[2Ka", "a"],
] as const;
for (const [rule, line, want] of table) test(`sgrToSpans: ${rule}`, () => assert.equal(sgrToSpans(line), want));

test("terminalSvg: lines appear at their time and scroll once the window is full", () => {
  const lines = [0, 10, 20].map((atMs) => ({ text: `line ${atMs}`, atMs }));
  const svg = terminalSvg(lines, { title: "t", rows: 2, slowdown: 100 });
  assert.match(svg, /animation-delay:1\.00s">line 10</);
  assert.match(svg, /50\.00% \{ transform: translateY\(0px\); \} 100\.00% \{ transform: translateY\(-19px\); \}/);
  assert.match(svg, /<g id="lines" transform="translate\(0 -19\)"/, "a still picture shows the end");
});
