import type { Change, Constant, TraceEvent, Upstream } from "../events.js";
import type { Level } from "../trace.js";
import { asItIs, translated } from "../translated.js";
import { actorColour, signColour } from "./colours.js";
import type { TerminalOptions } from "./options.js";
import { tableLines } from "./table.js";
import { printable, shortenLists, shortenWords, wrap } from "./text.js";

export const ACTOR_WIDTH = 10;
export const TIME_WIDTH = 7;
/** time, actor, and a space after each */
const INDENT = TIME_WIDTH + 1 + ACTOR_WIDTH + 1;

/** Seconds for the column of times; many of them have fewer decimals, so that the column keeps its width. */
export function timeColumn(ms: number): string {
  return (ms / 1000).toFixed(3).slice(0, TIME_WIDTH).replace(/\.$/, "").padStart(TIME_WIDTH);
}

/** Below this width, the time and the actor get a line of their own, because the text column would be too narrow. */
const MIN_TEXT_WIDTH = 30;

const SIGNS = {
  unicode: {
    step: "▸",
    request: "→",
    rpc: "→",
    decision: "◆",
    state: "●",
    watch: "←",
    event: "!",
    note: " ",
    table: " ",
    frame: "·",
    error: "✗",
    story: " ",
    arrow: "→",
  },
  ascii: {
    step: ">",
    request: "-",
    rpc: "-",
    decision: "*",
    state: "o",
    watch: "<",
    event: "!",
    note: " ",
    table: " ",
    frame: ".",
    error: "x",
    story: " ",
    arrow: "->",
  },
} as const;

/** The sign of a kind: its shape shows the kind without colour. */
export function signOf({ kind }: Pick<TraceEvent, "kind">, unicode: boolean): string {
  return (unicode ? SIGNS.unicode : SIGNS.ascii)[kind];
}

/** The lines of one event, without a trailing line feed. Pure. */
export function renderEvent(event: TraceEvent, depth: number, options: TerminalOptions): string[] {
  const { chalk } = options;
  const seconds = timeColumn(event.atMs - options.startMs);
  const actor = event.actor.padEnd(ACTOR_WIDTH);
  const signs = options.unicode ? SIGNS.unicode : SIGNS.ascii;
  // Tables use the full width.
  const lead = `${"  ".repeat(event.kind === "table" ? 0 : depth)}${signs[event.kind]} `;
  const stacked = options.width() - INDENT - lead.length < MIN_TEXT_WIDTH;
  const margin = stacked ? 2 : INDENT;
  const textWidth = options.width() - margin - lead.length;

  const { text, paint, details } = content(event, signs.arrow, options);
  const said = printable(shown(text, options));
  const first = event.kind === "note" ? wrapNote(said, textWidth) : wrap(said, textWidth);
  const rest = details(textWidth).flatMap((detail) => wrap(printable(detail), textWidth));
  const body = [...first.map((line) => paint(line)), ...rest.map((line) => chalk.dim(line))];
  const head = `${chalk.dim(seconds)} ${actorColour(event.actor, chalk)(actor)} `;
  const sign = signColour(event, chalk)(lead);
  const hang = " ".repeat(margin + lead.length);
  const lines = body.map((line, i) => {
    if (i > 0 && event.kind === "note" && isCommand(line) && line.length > textWidth) return line;
    if (i > 0) return `${hang}${line}`;
    return stacked ? `${" ".repeat(margin)}${sign}${line}` : `${head}${sign}${line}`;
  });
  return (stacked ? [head.trimEnd(), ...lines] : lines).map((line) => line.trimEnd());
}

/** Two leading spaces in a note mark text to paste. */
function isCommand(line: string): boolean {
  return line.startsWith("  ");
}

/**
 * A command that is too wide starts at the margin and stays on one line, because a broken command would be several
 * commands.
 */
function wrapNote(text: string, width: number): string[] {
  return text.split("\n").flatMap((line, i) => (i > 0 && isCommand(line) ? [line] : wrap(line, width)));
}

/** An event without time and actor columns, for a caller with its own layout. Pure. */
export interface FactText {
  readonly sign: string;
  readonly text: string;
  /** lines below the text; for a table, its aligned rows */
  readonly details: readonly string[];
}

/** An event as sign, sentence and details, without colours and safe to print, for a caller with its own layout. */
export function factText(event: TraceEvent, options: TerminalOptions): FactText {
  const signs = options.unicode ? SIGNS.unicode : SIGNS.ascii;
  const { text, details } = content(event, signs.arrow, options);
  return {
    sign: signOf(event, options.unicode).trim(),
    text: printable(shown(text, options)),
    details: details(options.width()).map(printable),
  };
}

interface Content {
  readonly text: string;
  readonly paint: (line: string) => string;
  /** dimmed lines below the text; `width` is the width of the text column */
  readonly details: (width: number) => readonly string[];
}

const none = (): string[] => [];

function content(fact: TraceEvent, arrow: string, options: TerminalOptions): Content {
  const { text, paint, details } = contentOf(fact, arrow, options);
  const number = options.numberOf?.(fact);
  const lead = number === undefined ? "" : `${number}. `;
  if (fact.kind === "frame" || !HAN.test(text)) return { text: lead + text, paint, details };
  return { text: lead + tidied(text), paint, details };
}

const HAN = /\p{Script=Han}/u;

/** The parts of a Chinese sentence together: without spaces between Chinese characters, and with their punctuation. */
function tidied(text: string): string {
  return text
    .replace(/(?<=\p{Script=Han}): |: (?=\p{Script=Han})/gu, "：")
    .replace(/(?<=[\p{Script=Han}，；：。）]) (?=[\p{Script=Han}（])|(?<=[，；：。]) | (?=（)/gu, "");
}

function contentOf(fact: TraceEvent, arrow: string, { chalk, verbosity, say }: TerminalOptions): Content {
  const event = say === undefined ? fact : translated(fact, say);
  // A trace file may request bodies in the events; the terminal shows them only at its own level.
  const bodies = verbosity >= 4 ? bodyLines : none;
  // Notes, events and tables name their source from -v 2 on, because they are one line at -v 1.
  const source = (upstream: Upstream | undefined, width: number) =>
    upstreamLines(verbosity >= 2 ? upstream : undefined, width);
  switch (event.kind) {
    case "step":
      return { text: event.title, paint: chalk.bold, details: (width) => upstreamLines(event.upstream, width) };
    case "request":
      return { text: requestText(event, arrow, say), paint: asItIs, details: () => bodies(event) };
    case "rpc":
      return { text: rpcText(event, arrow), paint: asItIs, details: () => bodies(event) };
    case "decision":
      return {
        text: event.what,
        paint: asItIs,
        details: (width) => [
          ...(event.why === "" ? [] : [event.why]),
          ...constantLines(event.constants),
          ...changeLines(event.changes, verbosity),
          ...upstreamLines(event.upstream, width),
        ],
      };
    case "state": {
      const change = event.from === undefined ? event.to : `${event.from} ${arrow} ${event.to}`;
      const text = `${event.subject}: ${event.what === "" ? "" : `${event.what} `}${change}`;
      return { text, paint: asItIs, details: (width) => upstreamLines(event.upstream, width) };
    }
    case "watch":
      return { text: `watch event ${event.type} ${event.resource} ${event.object}`, paint: asItIs, details: none };
    case "event":
      return {
        text: `${event.object} ${event.reason}: ${event.message}`,
        paint: event.type === "Warning" ? chalk.yellow : asItIs,
        details: (width) => source(event.upstream, width),
      };
    case "note":
      return { text: event.text, paint: asItIs, details: (width) => source(event.upstream, width) };
    case "table":
      return {
        text: event.title,
        paint: asItIs,
        details: (width) => [...tableLines(event, width), ...source(event.upstream, width)],
      };
    case "frame":
      return { text: frameText(event), paint: asItIs, details: none };
    case "story":
      return { text: event.title, paint: asItIs, details: () => event.steps.map(({ text }) => text) };
    case "error":
      return {
        text: event.message,
        paint: chalk.red,
        details: () => (event.hint === undefined ? [] : [event.hint]),
      };
  }
}

/** A line of the kubelet's log, which its IDs make longer than a terminal's. */
const GENERIC_PLEG = /^GenericPLEG podUID=([^\s-]{8})\S* containerID="(\w{1,12})\w*" oldState=(\S+) newState=(\S+)$/;

/** Shows the whole text only if bodies are shown, too. */
function shown(text: string, { verbosity, unicode }: TerminalOptions): string {
  if (verbosity >= 4) return text;
  const short = text.replace(GENERIC_PLEG, `GenericPLEG $1/$2: $3 ${unicode ? "→" : "->"} $4`);
  return shortenWords(shortenLists(short));
}

function requestText(event: TraceEvent & { kind: "request" }, arrow: string, say = asItIs): string {
  const answer = event.status === undefined ? (event.failure ?? "no answer") : String(event.status);
  const outcome = event.outcome === undefined ? "" : ` ${event.outcome}`;
  return `${event.method} ${event.path} ${arrow} ${answer}${outcome} ${say(`(${event.durationMs.toFixed(0)} ms, as ${event.identity})`)}`;
}

function rpcText(event: TraceEvent & { kind: "rpc" }, arrow: string): string {
  const answer = [event.code, event.outcome].filter((part) => part !== undefined).join(" ");
  return `${event.service}/${event.method} ${arrow} ${answer} (${event.durationMs.toFixed(0)} ms)`;
}

/** `> stdin  DATA 5 bytes "hello"`: direction, stream, size, beginning. */
function frameText(event: TraceEvent & { kind: "frame" }): string {
  const { direction, type, channel, streamId, length, head, note } = event;
  const of = channel ?? (streamId === undefined ? "connection" : `stream ${streamId}`);
  const words = [direction === "sent" ? ">" : "<", of.padEnd(6), type, `${length} bytes`];
  return [...words, note, head === undefined ? undefined : JSON.stringify(head)]
    .filter((word) => word !== undefined && word !== "")
    .join(" ");
}

function bodyLines(event: TraceEvent & { kind: "request" | "rpc" }): string[] {
  const out: string[] = [];
  if (event.requestBody !== undefined) out.push(`sent ${JSON.stringify(event.requestBody)}`);
  if (event.responseBody !== undefined) out.push(`got ${JSON.stringify(event.responseBody)}`);
  return out;
}

/**
 * The file and the function in one line. A path that is too long loses its first folders, because its end and the function are what readers search
 * for.
 */
export function upstreamLine(upstream: Upstream, width: number): string {
  const folders = upstream.file.split("/");
  const room = width - upstream.func.length - 1;
  let path = upstream.file;
  while (path.length > room && folders.length > 1) {
    folders.shift();
    path = `.../${folders.join("/")}`;
  }
  return `${path} ${upstream.func}`;
}

function upstreamLines(upstream: Upstream | undefined, width: number): string[] {
  return upstream === undefined ? [] : [upstreamLine(upstream, width)];
}

function constantLines(constants: readonly Constant[] | undefined): string[] {
  if (constants === undefined || constants.length === 0) return [];
  return [
    constants
      .map(({ name, value, release }) => `${name} = ${value}${release === undefined ? "" : ` (${release})`}`)
      .join(", "),
  ];
}

const MAX_VALUE_LENGTH = 60;

/** `add /spec/nodeName "n1", /spec/hostNetwork true`: one line for operations of one kind. */
function changeLines(changes: readonly Change[] = [], verbosity: Level): string[] {
  const byOp = new Map<string, string[]>();
  for (const { op, path, value } of changes) {
    const texts = byOp.get(op) ?? [];
    texts.push(value === undefined ? path : `${path} ${valueText(value, verbosity)}`);
    byOp.set(op, texts);
  }
  return [...byOp].map(([op, texts]) => `${op} ${texts.join(", ")}`);
}

/** JSON, whose end is left out where bodies are. */
function valueText(value: unknown, verbosity: Level): string {
  const text = JSON.stringify(value);
  return verbosity >= 4 || text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH)}...`;
}
