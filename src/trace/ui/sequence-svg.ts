import type { Say } from "../../util/i18n/sentences.js";
import { fitted, textWidth } from "../../util/text/text-width.js";
import { printable, wrap } from "../terminal/text.js";
import { colonBefore, type Lane } from "./browser/lanes.js";

/** One step of a sequence picture. */
export interface SequenceStep {
  readonly number: number;
  /** the subject of the text */
  readonly who: string;
  readonly lane: Lane;
  /** the other end; undefined: the actor's own work, a loop */
  readonly target: Lane | undefined;
  /** it comes from the other end */
  readonly isReceived: boolean;
  /** since the picture's beginning */
  readonly atMs: number;
  readonly text: string;
  /** why or how, in small type */
  readonly small: string;
}

/** The columns of a picture, and where each is in pixels. */
interface Columns {
  readonly lanes: readonly Lane[];
  readonly width: number;
  at(lane: Lane): number;
}

/** Pixels. The column of times is on the left. */
const MIN_WIDTH = 800;
const TIMES = 72;
const MIN_COLUMN = 92;
const MARGIN = 12;
const MAX_TEXT = 480;
/** the widest letters of the fonts that systems have */
const LETTER = 7.4;
/** what a bold letter and a capital letter need more */
const BOLD = 1.4;
const CAPITAL = 2.5;
const SMALL_LETTER = 6.4;
/** lines of a reason, of which the first ones say most */
const MAX_REASON = 4;
const LINE = 18;
const SMALL_LINE = 15;
/** from an arrow to the text above and below it: its number is between them */
const GAP = 15;

/**
 * A numbered sequence picture: a column for each actor, an arrow or a loop for each step with its sentence. It is complete in one
 * file, has no program and follows the reader's colour scheme. Without steps it has only the title.
 * @param lanes in the order of the columns; those without a step are left out
 */
export function sequenceSvg(title: string, steps: readonly SequenceStep[], lanes: readonly Lane[], say: Say): string {
  const used = lanes.filter((lane) => steps.some((step) => step.lane === lane || step.target === lane));
  const width = Math.max(MIN_WIDTH, TIMES + used.length * MIN_COLUMN + MARGIN);
  const column = (width - TIMES - MARGIN) / used.length;
  const columns = { lanes: used, width, at: (lane: Lane) => Math.round(TIMES + (used.indexOf(lane) + 0.5) * column) };
  const titles = wrap(printable(title), (width - 2 * MARGIN) / 9.5, { cutsPaths: true });
  const top = 12 + titles.length * 22;
  const first = top + (used.length === 0 ? 0 : 52);
  let end = first;
  const rows = steps.map((step) => {
    const { svg, height } = row(step, columns, end);
    end += height;
    return svg;
  });
  const heads = used.map((lane) => head(lane, columns.at(lane), column, { top, end }, say));
  const height = Math.round(end + 8);
  const told = titles.map((line, i) => `<text class="h" x="${MARGIN}" y="${26 + i * 22}">${escaped(line)}</text>`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `${element("title", escaped(title))}${element("style", style(used.map(({ actor }) => actor)))}`,
    `<rect class="b" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="10"/>`,
    ...told,
    ...heads,
    ...rows,
    "</svg>\n",
  ].join("\n");
}

function head(lane: Lane, x: number, column: number, { top, end }: { top: number; end: number }, say: Say): string {
  const cell = (text: string, letter: number) => escaped(fitted(text, Math.floor((column - 4) / letter)));
  return (
    `<g class="${escaped(lane.actor)}"><path class="l" d="M${x} ${top + 42}V${end}"/>` +
    `<text class="w" x="${x}" y="${top + 18}" text-anchor="middle">${cell(say(lane.name), LETTER)}</text>` +
    `<text class="d" x="${x}" y="${top + 34}" text-anchor="middle">${cell(lane.instance ?? "", SMALL_LETTER)}</text></g>`
  );
}

function row(step: SequenceStep, { at, width }: Columns, top: number) {
  const from = at(step.lane);
  const to = step.target === undefined || step.target === step.lane ? undefined : at(step.target);
  const who = printable(step.who);
  const text = printable(step.text);
  const sentence = `${who}${colonBefore(text)} ${text}`;
  // The text begins after the first end, or ends before the last one where there is more room.
  const [left, right] = to === undefined ? [from + 40, from - 40] : [Math.min(from, to) + 18, Math.max(from, to) - 18];
  const room = { after: width - MARGIN - left, before: right - TIMES };
  const wider = who.length * BOLD + (sentence.match(/[A-Z]/g)?.length ?? 0) * CAPITAL;
  const needed = Math.min(MAX_TEXT, textWidth(sentence) * LETTER + wider);
  const isBefore = room.after < needed && room.before > room.after;
  const most = Math.min(MAX_TEXT, isBefore ? room.before : room.after);
  const lines = wrap(sentence, (most - Math.min(wider, most / 3)) / LETTER, { cutsPaths: true });
  const reason = step.small === "" ? [] : wrap(printable(step.small), most / SMALL_LETTER - 2, { cutsPaths: true });
  const isCut = reason.length > MAX_REASON;
  const small = reason.slice(0, MAX_REASON).map((line, i) => (isCut && i + 1 === MAX_REASON ? `${line} …` : line));
  const above = lines.length * LINE;
  const below = small.length * SMALL_LINE;
  // A loop is beside its text, an arrow between sentence and reason.
  const y = top + (to === undefined ? (above + below) / 2 + 8 : above + GAP);
  const texts = [
    ...lines.map((line, i) => ({ line, y: top + 14 + i * LINE, letter: LETTER })),
    ...small.map((line, i) => ({
      line,
      y: (to === undefined ? top + above : y + GAP - 4) + 12 + i * SMALL_LINE,
      letter: SMALL_LETTER,
    })),
  ].map(({ line, y: base, letter }, i) => {
    const x = isBefore ? right : left;
    const size = textWidth(line) * letter + 4;
    const begin = i === 0 && line.startsWith(who) ? who : "";
    const rest = escaped(line.slice(begin.length));
    return (
      `<rect class="k" x="${(isBefore ? x - size : x) - 2}" y="${base - 12}" width="${Math.ceil(size)}" height="15"/>` +
      `<text${letter === LETTER ? "" : ' class="d"'} x="${x}" y="${base}"${isBefore ? ' text-anchor="end"' : ""}>` +
      `${begin === "" ? "" : `<tspan class="w">${escaped(begin)}</tspan>`}${rest}</text>`
    );
  });
  const svg =
    `<g class="s ${escaped(step.lane.actor)}">${texts.join("")}${to === undefined ? loop(from, y, isBefore) : arrow(step, from, to, y)}` +
    `<circle cx="${from}" cy="${y}" r="11"/><text class="n" x="${from}" y="${y + 4}" text-anchor="middle">${step.number}</text>` +
    `<text class="d" x="${MARGIN}" y="${y + 4}">${(step.atMs / 1000).toFixed(3)} s</text></g>`;
  return { svg, height: to === undefined ? Math.max(above + below, 24) + 14 : above + below + 2 * GAP + 8 };
}

function loop(x: number, y: number, isBefore: boolean): string {
  const side = isBefore ? -1 : 1;
  return (
    `<path class="a" d="M${x + 9 * side} ${y - 7}h${21 * side}v14h${-12 * side}"/>` +
    `<path class="t" d="M${x + 12 * side} ${y + 7}l${8 * side} -5v10Z"/>`
  );
}

/** The number is at the actor whose step it is; what it receives comes from the other end. */
function arrow({ isReceived }: SequenceStep, x: number, other: number, y: number): string {
  const [from, to] = isReceived ? [other, x] : [x, other];
  const back = to > from ? -1 : 1;
  const tip = isReceived ? to + 12 * back : to;
  return `<path class="a" d="M${from} ${y}H${tip + 7 * back}"/><path class="t" d="M${tip} ${y}l${9 * back} -5v10Z"/>`;
}

/** The page's colours. Programs that show slides do not know the variables of a style sheet, so each rule has its own. */
const SCHEMES = {
  light: {
    back: "#fbfbfa",
    line: "#dfe3e8",
    text: "#1d2329",
    dim: "#5d6873",
    wires: "#858f9a",
    user: "#4a5560",
    apiserver: "#1f5fbf",
    controller: "#8a3ab0",
    scheduler: "#8f5a00",
    kubelet: "#00736f",
    dns: "#2f5fa8",
    proxy: "#5b5bb5",
    runtime: "#2c7a34",
  },
  dark: {
    back: "#12161b",
    line: "#323b46",
    text: "#e4e8ed",
    dim: "#9aa6b2",
    wires: "#6f7b88",
    user: "#b9c2cc",
    apiserver: "#7fb1ff",
    controller: "#d39bf0",
    scheduler: "#e8b65a",
    kubelet: "#5fd0c9",
    dns: "#8fb8f5",
    proxy: "#a9a9f5",
    runtime: "#8fd48f",
  },
} as const;

function style(actors: readonly string[]): string {
  const rules = (scheme: Readonly<Record<string, string>>) =>
    `.b{fill:${scheme["back"]};stroke:${scheme["line"]}}.k,.n{fill:${scheme["back"]}}text{fill:${scheme["text"]}}.d{fill:${scheme["dim"]}}` +
    `.l{stroke:${scheme["wires"]}}${[...new Set(actors)].map((actor) => (Object.hasOwn(scheme, actor) ? `.${actor}{color:${scheme[actor]}}` : "")).join("")}`;
  return [
    'text{font:14px system-ui,-apple-system,"Segoe UI","Helvetica Neue","DejaVu Sans",sans-serif}',
    rules(SCHEMES.light),
    `@media (prefers-color-scheme: dark){${rules(SCHEMES.dark)}}`,
    ".d{font-size:12px}.h{font-size:16px;font-weight:600}.w{font-weight:600}.n{font-size:12px;font-weight:700}",
    "circle,.t,.w{fill:currentColor}.a{fill:none;stroke:currentColor;stroke-width:2}.l{stroke-dasharray:3 4}",
  ].join("\n");
}

/** The page's program, which is inside an HTML file, must not contain the end of an element. */
function element(name: string, content: string): string {
  return `<${name}>${content}</${name}>`;
}

/** XML allows neither half characters nor two others. */
function escaped(text: string): string {
  return printable(text)
    .replace(/[\p{Cs}\ufffe\uffff]/gu, "\ufffd")
    .replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
