/** One line of a terminal, with its SGR escape sequences, and when it was printed. */
export interface TerminalLine {
  readonly text: string;
  /** since the command started */
  readonly atMs: number;
}

export interface SvgOptions {
  /** what is shown in the title bar, and read out by screen readers */
  readonly title: string;
  /** rows of the window; earlier lines scroll out at the top */
  readonly rows: number;
  /** how many times slower than it ran the recording is played */
  readonly slowdown: number;
}

const COLUMNS = 80;
/** px: the advance and the line height of a 14 px monospace font */
const CHAR_WIDTH = 8.43;
const LINE_HEIGHT = 19;
const PADDING = 14;
const TITLE_BAR = 30;

/** The colours that kubelab prints, by SGR code, on the background below. */
const COLOURS: Readonly<Record<number, string>> = {
  31: "#ff7b72",
  32: "#7ee787",
  33: "#e3b341",
  34: "#79c0ff",
  35: "#d2a8ff",
  36: "#76e3ea",
  37: "#f0f6fc",
  90: "#8b949e",
};

/**
 * Draws a recorded terminal session as an animated SVG. Lines appear in the order and with the pauses of the recording;
 * the last frame stays. Without animations (a still preview, `prefers-reduced-motion`) the last frame is what is shown.
 */
export function terminalSvg(lines: readonly TerminalLine[], { title, rows, slowdown }: SvgOptions): string {
  const width = Math.ceil(COLUMNS * CHAR_WIDTH + 2 * PADDING);
  const height = TITLE_BAR + rows * LINE_HEIGHT + PADDING;
  const delay = ({ atMs }: TerminalLine) => `${((atMs * slowdown) / 1000).toFixed(2)}s`;
  const texts = lines.map(
    (line, i) =>
      `<text y="${(i + 1) * LINE_HEIGHT - 5}" style="animation-delay:${delay(line)}">${sgrToSpans(line.text)}</text>`,
  );
  const overflow = Math.max(0, lines.length - rows);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeXml(title)}">
<style>
text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #c9d1d9; white-space: pre; }
.b { font-weight: 700; } .d { fill-opacity: 0.62; }
@media (prefers-reduced-motion: no-preference) {
  #lines text { animation: appear 1ms both; }
  #lines { animation: scroll ${delay(lastOf(lines))} step-end both; }
}
@keyframes appear { from { visibility: hidden; } }
@keyframes scroll { ${scrollSteps(lines, rows)} }
</style>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
<circle cx="18" cy="15" r="5" fill="#ff5f57"/><circle cx="36" cy="15" r="5" fill="#febc2e"/><circle cx="54" cy="15" r="5" fill="#28c840"/>
<text x="${width / 2}" y="20" text-anchor="middle" class="d">${escapeXml(title)}</text>
<svg x="${PADDING}" y="${TITLE_BAR}" width="${width - 2 * PADDING}" height="${rows * LINE_HEIGHT}">
<g id="lines" transform="translate(0 ${-overflow * LINE_HEIGHT})">
${texts.join("\n")}
</g>
</svg>
</svg>
`;
}

/** Keyframes that move the lines up by one row whenever a line arrives below the last row. */
function scrollSteps(lines: readonly TerminalLine[], rows: number): string {
  const totalMs = lastOf(lines).atMs;
  const offsets = new Map([["0.00", 0]]);
  lines.forEach(({ atMs }, i) => {
    offsets.set(((atMs / totalMs) * 100).toFixed(2), Math.max(0, i + 1 - rows) * -LINE_HEIGHT);
  });
  return [...offsets].map(([percent, y]) => `${percent}% { transform: translateY(${y}px); }`).join(" ");
}

/** SVG spans of a line: bold, dim and the foreground colours; other escape sequences are dropped. */
export function sgrToSpans(line: string): string {
  let isBold = false;
  let isDim = false;
  let colour: string | undefined;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminal output is made of escape sequences
  return line.split(/(\u001b\[[\d;]*[A-Za-z])/).reduce((spans, part) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: see above
    const [, codes] = /^\u001b\[([\d;]*)m$/.exec(part) ?? [];
    for (const code of codes?.split(";").map(Number) ?? []) {
      if (code === 0) [isBold, isDim, colour] = [false, false, undefined];
      else if (code === 1) isBold = true;
      else if (code === 2) isDim = true;
      else if (code === 22) [isBold, isDim] = [false, false];
      else if (code === 39) colour = undefined;
      else colour = COLOURS[code] ?? colour;
    }
    if (part === "" || part.startsWith("\u001b")) return spans;
    const classes = [isBold ? "b" : "", isDim ? "d" : ""].join(" ").trim();
    const attributes = `${classes === "" ? "" : ` class="${classes}"`}${colour === undefined ? "" : ` style="fill:${colour}"`}`;
    return `${spans}${attributes === "" ? escapeXml(part) : `<tspan${attributes}>${escapeXml(part)}</tspan>`}`;
  }, "");
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}

function lastOf(lines: readonly TerminalLine[]): TerminalLine {
  return lines.at(-1) ?? { text: "", atMs: 0 };
}
