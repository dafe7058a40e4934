import type { PageState } from "../state.js";
import type { Step } from "../step.js";
import { secondsOf, titleOf, transportOf, whoOf } from "../words.js";

const ROW = 46;
const LANE = 110;
const TEXT = 540;
const TOP = 56;
/** The causes of the selected step and the step itself as a numbered sequence picture. It follows the reader's colour scheme. */
export function chainSvg(state: PageState): string {
  const { causes } = state.chain.value;
  const selected = state.selected.value;
  const chain = selected === undefined ? causes : [...causes, selected];
  const lanes = state.story.lanes.sorted.filter((lane) =>
    chain.some((step) => step.lane === lane || step.target === lane),
  );
  const x = (lane: Step["lane"]) => (lanes.indexOf(lane) + 0.5) * LANE;
  const [width, height] = [lanes.length * LANE + TEXT, TOP + chain.length * ROW + 8];
  const heads = lanes.map(
    (lane) =>
      `<text class="${lane.actor} h" x="${x(lane)}" y="22" text-anchor="middle">${escaped(lane.name)}</text>` +
      `<text class="d" x="${x(lane)}" y="38" text-anchor="middle">${escaped(lane.instance ?? "")}</text>` +
      `<path class="l" d="M${x(lane)} 46V${height}"/>`,
  );
  const rows = chain.map((step, i) => {
    const y = TOP + (i + 0.5) * ROW;
    const told = state.plot.value?.byStep.get(step)?.text ?? titleOf(step.event);
    const left = lanes.length * LANE + 8;
    return (
      `<g class="${step.lane.actor}">${arrow(step, x, y)}<circle cx="${x(step.lane)}" cy="${y}" r="11"/>` +
      `<text class="n" x="${x(step.lane)}" y="${y + 4}" text-anchor="middle">${i + 1}</text></g>` +
      `<text x="${left}" y="${y - 2}"><tspan class="${step.lane.actor} h">${escaped(whoOf(step))}</tspan> ${escaped(cut(told, 66 - whoOf(step).length))}</text>` +
      `<text class="d" x="${left}" y="${y + 15}">${secondsOf(step.startMs - state.span.value.startMs)} s  ${escaped(cut(transportOf(step.event), 64))}</text>`
    );
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">${element("style", style(lanes.map(({ actor }) => actor)))}<rect class="b" width="100%" height="100%" rx="10"/>${heads.join("")}${rows.join("")}</svg>\n`;
}

/** A watch event comes from the other end. */
function arrow({ event, lane, target }: Step, x: (lane: Step["lane"]) => number, y: number): string {
  if (target === undefined || target === lane) return "";
  const [from, to] = event.kind === "watch" ? [x(target), x(lane)] : [x(lane), x(target)];
  const back = to > from ? -1 : 1;
  const tip = event.kind === "watch" ? to + 12 * back : to;
  return `<path class="a" d="M${from} ${y}H${tip + 7 * back}"/><path class="t" d="M${tip} ${y}l${9 * back} -5v10Z"/>`;
}

/** The page's colours, for both schemes. */
function style(actors: readonly string[]): string {
  const rules = [...(document.styleSheets[0]?.cssRules ?? [])].map(({ cssText }) => cssText);
  const own = actors.map((actor) => `.${actor}{fill:var(--${actor});stroke:var(--${actor})}`);
  return [
    ...rules.filter((rule) => /^:root|^@media \(prefers-color-scheme: dark\)/.test(rule)),
    "text{font:14px system-ui,sans-serif;stroke:none!important;fill:var(--text)}tspan{stroke:none!important}.d{font-size:12px;fill:var(--dim)}",
    ".b{fill:var(--back);stroke:var(--line)}.l{stroke:var(--wires)}.h{font-weight:600}.a{fill:none!important;stroke-width:2}",
    ...own,
    ".n{font-weight:700;font-size:12px;fill:var(--back)!important}",
  ].join("");
}

/** The page's program, which is inside an HTML file, must not contain the end of an element. */
function element(name: string, content: string): string {
  return `<${name}>${content}</${name}>`;
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}
