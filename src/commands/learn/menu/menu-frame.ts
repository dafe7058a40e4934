import type { ChalkInstance } from "chalk";
import type { Say } from "../../../util/i18n/catalogue.js";
import { fitted, textWidth, wrap } from "../../../util/text/text-width.js";
import type { LabState } from "../standing.js";

export interface MenuEntry {
  /** what the learner can type to select it: `3e` */
  readonly key: string;
  readonly value: string;
  readonly name: string;
  /** shown below the list while the entry is selected */
  readonly description: string;
  /** the state of a lab, for the mark in front of its name */
  readonly state?: LabState;
}

export interface MenuGroup {
  /** entries without a heading are not counted in the line about hidden entries */
  readonly heading?: string;
  readonly entries: readonly MenuEntry[];
}

export interface Menu {
  /** the program's description, in one line */
  readonly about: string;
  readonly title: string;
  /** labs that are done */
  readonly done: number;
  /** labs that can be played here, or are done */
  readonly count: number;
  readonly groups: readonly MenuGroup[];
}

export interface FrameOptions {
  readonly chalk: ChalkInstance;
  readonly say: Say;
  readonly unicode: boolean;
  /** the learner's last input, if no entry begins with it */
  readonly unknown?: string;
}

/** Of the terminal. */
export interface FrameSize {
  readonly columns: number;
  readonly rows: number;
}

interface Row {
  readonly text: string;
  readonly state?: LabState | undefined;
  /** of headings: undefined */
  readonly entry?: number;
  readonly heading?: string | undefined;
}

/**
 * Draws the menu for one screen: no line is wider than the terminal, one row stays free, and hidden entries are counted by
 * group. Pure.
 */
export function menuFrame(menu: Menu, active: number, size: FrameSize, options: FrameOptions): string[] {
  const { chalk, say, unicode, unknown } = options;
  const cut = cutter(options);
  // A line as wide as the terminal would put the cursor into the next one.
  const width = Math.max(1, size.columns - 1);
  const room = Math.max(4, size.rows - 1);
  const all = rowsOf(menu);
  const chosen = menu.groups.flatMap(({ entries }) => entries)[active];
  const about = descriptionOf(chosen, width, room, cut);
  const head = headOf(menu, width, room, options);
  const free = room - 1 - head.length - reservedFor(width, room);
  const page = all.length <= free ? all.length : Math.max(1, free - 1);
  const first = firstRow(all, active, page);
  const shown = all.slice(first, first + page);
  const pointer = unicode ? "❯" : ">";
  return [
    ...head,
    ...shown.map((row) => {
      if (row.entry === undefined) return chalk.bold(cut(` ${row.text}`, width));
      const tick = tickOf(row.state, options);
      const text = cut(row.text, width - 4);
      return row.entry === active ? `${chalk.cyan(pointer)} ${tick} ${chalk.cyan(text)}` : `  ${tick} ${text}`;
    }),
    ...(page < all.length ? [chalk.dim(cut(hiddenLine(all, first, page, width, options), width))] : []),
    ...(about.length > 0 ? ["", ...about.map((line) => chalk.cyan(line))] : []),
    chalk.dim(cut(unknown === undefined ? say("menuKeys") : say("menuUnknown", { typed: unknown }), width)),
  ];
}

/** The line that stays on the screen after a choice. Pure. */
export function chosenLine(menu: Menu, active: number, { columns }: FrameSize, options: FrameOptions): string {
  const { chalk, unicode } = options;
  const name = menu.groups.flatMap(({ entries }) => entries)[active]?.name ?? "";
  const mark = unicode ? "✔" : "*";
  const head = titleLine(menu, mark, columns - 1, options);
  const left = columns - 2 - textWidth(head);
  return left > 0 ? `${head} ${chalk.cyan(cutter(options)(name, left))}` : head;
}

/**
 * Finds the entry for typed text: the entry with this key, else the first one whose key or name begins with it. Pure.
 */
export function entryTyped(menu: Menu, typed: string): number | undefined {
  const wanted = typed.trim().toLowerCase();
  if (wanted === "") return undefined;
  const entries = menu.groups.flatMap((group) => group.entries);
  const found = [
    entries.findIndex(({ key }) => key === wanted),
    entries.findIndex(({ key }) => key.startsWith(wanted)),
    entries.findIndex(({ name }) => name.toLowerCase().startsWith(wanted)),
  ];
  return found.find((index) => index >= 0);
}

type Cut = (text: string, width: number) => string;

function cutter({ unicode }: FrameOptions): Cut {
  return (text, width) => fitted(text, width, unicode ? "…" : "...");
}

/** The line about the program, unless the screen is small, and the title with the progress bar. */
function headOf(menu: Menu, width: number, room: number, options: FrameOptions): string[] {
  const { chalk, say } = options;
  const title = titleLine(menu, "?", width, options);
  const counted = say("menuDone", { done: menu.done, count: menu.count });
  const line = `${title}  ${chalk.green(progressBar(menu, options))} ${counted}`;
  return [
    ...(room < 16 ? [] : [chalk.dim(cutter(options)(menu.about, width))]),
    textWidth(line) <= width ? line : title,
  ];
}

const BAR_COLUMNS = 20;

/** A lab that is done fills at least one column, and only all labs fill the last one. */
function progressBar({ done, count }: Menu, { unicode }: FrameOptions): string {
  const part = Math.floor((done / Math.max(1, count)) * BAR_COLUMNS);
  const filled = done === 0 ? 0 : Math.max(1, part);
  const [full, empty] = unicode ? ["█", "░"] : ["#", "."];
  return full.repeat(filled) + empty.repeat(BAR_COLUMNS - filled);
}

function tickOf(state: LabState | undefined, { chalk, unicode }: FrameOptions): string {
  if (state === "done") return chalk.green(unicode ? "✓" : "+");
  return state === "begun" ? chalk.yellow("~") : " ";
}

function titleLine({ title }: Menu, mark: string, width: number, options: FrameOptions): string {
  const { chalk } = options;
  return `${chalk[mark === "?" ? "blue" : "green"](mark)} ${chalk.bold(cutter(options)(title, width - 2))}`;
}

function rowsOf({ groups }: Menu): Row[] {
  let entry = 0;
  return groups.flatMap(({ heading, entries }) => [
    ...(heading === undefined ? [] : [{ text: heading }]),
    ...entries.map(({ name, state }) => ({ text: name, state, entry: entry++, heading })),
  ]);
}

/** Keeps the pointer in the middle, except at the ends of the list. */
function firstRow(rows: readonly Row[], active: number, page: number): number {
  const at = rows.findIndex(({ entry }) => entry === active);
  return Math.max(0, Math.min(at - Math.floor(page / 2), rows.length - page));
}

/** ` ↑ above: Chapters 8   ↓ below: Chapters 2, Incidents 12`; if that is too wide, arrows replace the words. */
function hiddenLine(
  rows: readonly Row[],
  first: number,
  page: number,
  width: number,
  { say, unicode }: FrameOptions,
): string {
  const [up, down] = unicode ? ["↑", "↓"] : ["^", "v"];
  const above = countsIn(rows.slice(0, first), say);
  const below = countsIn(rows.slice(first + page), say);
  const line = (words: (key: "menuAbove" | "menuBelow", what: string) => string) => {
    const parts = [
      ...(above === undefined ? [] : [`${up} ${words("menuAbove", above)}`]),
      ...(below === undefined ? [] : [`${down} ${words("menuBelow", below)}`]),
    ];
    return ` ${parts.join("   ")}`;
  };
  const whole = line((key, what) => say(key, { what }));
  return textWidth(whole) <= width ? whole : line((_, what) => what);
}

/** `Chapters 1, Incidents 12` @returns undefined for no rows */
function countsIn(rows: readonly Row[], say: Say): string | undefined {
  const counts = new Map<string, number>();
  for (const { heading } of rows) if (heading !== undefined) counts.set(heading, (counts.get(heading) ?? 0) + 1);
  if (counts.size === 0) return undefined;
  const parts = [...counts].map(([heading, count]) => `${heading} ${count}`);
  return parts.reduce((first, second) => say("menuAnd", { first, second }));
}

/** Rows for a description and the empty row above it: the same for each entry, so that the list does not move. */
function reservedFor(width: number, room: number): number {
  if (room < 10) return 0;
  const lines = width > 140 ? 2 : width > 70 ? 3 : 4;
  return 1 + Math.min(lines, Math.floor(room / 4));
}

function descriptionOf(entry: MenuEntry | undefined, width: number, room: number, cut: Cut): string[] {
  const most = reservedFor(width, room) - 1;
  if (entry === undefined || entry.description === "" || most < 1) return [];
  const lines = wrap(entry.description, width);
  return [...lines.slice(0, most - 1), lines.slice(most - 1).join(" ")]
    .filter((line) => line !== "")
    .map((line) => cut(line, width));
}
