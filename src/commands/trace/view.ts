import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { TraceEvent } from "../../trace/events.js";
import { startMs, type TraceGraph } from "../../trace/graph/graph.js";
import { asItIs } from "../../trace/translated.js";
import { LabError } from "../../util/errors.js";
import type { Say } from "../../util/i18n/sentences.js";
import { pathFrom } from "../../util/os/paths.js";
import { openInBrowser } from "../cli/browser.js";
import { hasUnicode } from "../cli/colour.js";
import type { CliContext } from "../cli/context.js";
import { STDIN } from "../cli/stdin.js";
import { hasRawMode, readKeys } from "../cli/terminal-keys.js";
import { formatOf } from "../cli/trace-file.js";
import { columnsOf } from "../cli/width.js";
import { beginningOf, factLine, type LineStyle, oneLine } from "./fact-lines.js";
import { loadTraces } from "./load.js";
import { TreeBrowser } from "./tree-browser.js";

const ESC = "\u001b[";
/** the alternate screen, so that the shell's screen comes back at the end; no cursor */
const BEGIN = `${ESC}?1049h${ESC}?25l`;
const END = `${ESC}?25h${ESC}?1049l`;
const HOME = `${ESC}H`;
const CLEAR_LINE = `${ESC}K`;
const CLEAR_BELOW = `${ESC}J`;
const INVERSE = `${ESC}7m`;
const DIM = `${ESC}2m`;
const RESET = `${ESC}0m`;
const DEFAULT_ROWS = 24;

/** `kubelab trace view --page`: writes the page, and shows it. @throws LabError USAGE for standard input; BAD_FILE */
export async function writePage(context: CliContext, paths: readonly string[], isJson: boolean): Promise<void> {
  if (paths[0] === STDIN) {
    const hint = "Name the page: kubelab trace convert - -o run.html";
    throw new LabError(
      "USAGE",
      "--page writes the page next to the first file, and standard input has no folder",
      hint,
    );
  }
  const graph = await loadTraces(context, paths);
  const page = pathFrom(context.cwd, `${paths[0]?.replace(/\.ndjson$/, "")}.html`);
  await formatOf(page).write(page, graph, context.say);
  showPage(context, page, isJson);
}

/**
 * Prints the address of a page of --trace. At a terminal with a display a browser opens it.
 * @throws LabError BAD_FILE if there is no page
 */
export function showPage(context: CliContext, path: string, isJson: boolean): void {
  const file = pathFrom(context.cwd, path);
  if (!existsSync(file)) throw new LabError("BAD_FILE", `there is no page ${path}`, "Write it with --trace FILE.html.");
  const url = pathToFileURL(file).href;
  context.print({ text: url, json: { file, url } });
  // A script wants the address, and no window.
  if (context.streams.stdout.isTTY === true && !isJson) openInBrowser(url, context.env);
}

/** `kubelab trace view`: the causal trees, to walk through on a terminal, as text elsewhere. */
export async function runView(context: CliContext, paths: readonly string[], isJson: boolean): Promise<void> {
  const graph = await loadTraces(context, paths);
  const [first] = graph.inOrder();
  const style = {
    zeroMs: first === undefined ? 0 : startMs(first),
    unicode: hasUnicode(context.env),
    say: context.say ?? asItIs,
  };
  const isTerminal = hasRawMode(context.streams) && context.streams.stdout.isTTY === true;
  if (isTerminal && !isJson && context.env["TERM"] !== "dumb") await browse(context, new TreeBrowser(graph, style));
  else context.print({ text: treeLines(graph, style).join("\n"), json: trees(graph) });
}

async function browse(context: CliContext, browser: TreeBrowser): Promise<void> {
  const { stdin, stdout } = context.streams;
  const draw = () => {
    const lines = browser.frame(columnsOf(stdout), stdout.rows || DEFAULT_ROWS).map(({ text, role }) => {
      if (role === "fact" || role === "detail") return text;
      return `${role === "selected" ? INVERSE : DIM}${text}${RESET}`;
    });
    stdout.write(`${HOME}${lines.map((line) => line + CLEAR_LINE).join("\r\n")}${CLEAR_BELOW}`);
  };
  stdout.write(BEGIN);
  stdout.on("resize", draw);
  try {
    draw();
    const press = async (key: string) => {
      browser.press(key);
      draw();
    };
    await readKeys(stdin, press, context.signal, () => browser.isTyping);
  } finally {
    stdout.off("resize", draw);
    stdout.write(END);
  }
}

function treeLines(graph: TraceGraph, style: LineStyle & { readonly say: Say }): string[] {
  const seen = new Set<TraceEvent>();
  return graph.roots().flatMap((root) =>
    [...graph.walk(root, seen)].map(({ event, depth }) => {
      return `${factLine(event, style, depth)}${depth === 0 ? ` (${oneLine(style.say(beginningOf(graph, event)))})` : ""}`;
    }),
  );
}

function trees(graph: TraceGraph): unknown {
  const seen = new Set<TraceEvent>();
  return graph.roots().map((root) => ({ beginning: beginningOf(graph, root), facts: [...graph.walk(root, seen)] }));
}
