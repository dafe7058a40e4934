import type { WhatIf } from "../../lab/chaos/replay.js";
import { judgementText } from "../../lab/chaos/verdict.js";
import type { TraceEvent } from "../../trace/events.js";
import type { Difference } from "../../trace/graph/same-story.js";
import type { Say } from "../../util/i18n/sentences.js";
import { fitted, textWidth } from "../../util/text/text-width.js";
import { factWords } from "./fact-lines.js";

/** Below this width, one run is shown below the other one. */
const TWO_COLUMNS = 100;
const MAX_ROWS = 40;
/** The lowest level that a row needs, as `-v 1` shows it. */
const LEVEL = 1;

export interface Columns {
  /** of the terminal */
  readonly width: number;
  readonly unicode: boolean;
  /** from which times count, Unix ms */
  readonly zeroMs: number;
  /** every fact, not only those that matter */
  readonly isAll: boolean;
  readonly say: Say;
}

/** The first difference between a recorded run and the same run again. */
export function differenceText({ of, atMs, a, b }: Difference, columns: Columns): string {
  const rows = [[a, b]] as const;
  const { say } = columns;
  return [
    say(`The story differs first at ${secondsOf(atMs, columns)}, in ${of}:`),
    ...table([say("recorded"), say("this time")], rows, columns),
  ].join("\n");
}

/** Both runs from the step on, side by side, and the verdict of the other one. */
export function whatIfText(
  { fromMs, recorded, instead, judgements }: WhatIf,
  change: string,
  columns: Columns,
): string {
  const { say } = columns;
  const matters = (event: TraceEvent) => columns.isAll || isMilestone(event);
  const [a, b] = [recorded.filter(matters), instead.filter(matters)];
  const rows = inTime(a, b);
  const shown = columns.isAll ? rows : rows.slice(0, MAX_ROWS);
  const left = rows.length - shown.length;
  return [
    say(`From ${secondsOf(fromMs, columns)} on: ${change}. Until then both runs tell the same story.`),
    rows.length === 0 ? say("Nothing that matters differs: --all shows every fact.") : "",
    ...(rows.length === 0 ? [] : table([say("recorded"), say(`with ${change}`)], shown, columns)),
    ...(left > 0 ? [say(`... and ${left} more: --all lists them`)] : []),
    "",
    say("The expectations in the other run:"),
    ...judgements.map(judgementText),
  ].join("\n");
}

/** What an observer of the cluster would see: Events, states of nodes and pods, and what somebody did. */
function isMilestone(event: TraceEvent): boolean {
  if (event.level > LEVEL || event.every !== undefined) return false;
  return event.kind === "event" || event.kind === "state" || (event.kind === "step" && event.actor === "user");
}

type Row = readonly [a: TraceEvent | undefined, b: TraceEvent | undefined];

/** One fact a row, in the order of their times. */
function inTime(a: readonly TraceEvent[], b: readonly TraceEvent[]): readonly Row[] {
  const rows: (Row & { readonly length: 2 })[] = [
    ...a.map((event) => [event, undefined] as const),
    ...b.map((event) => [undefined, event] as const),
  ];
  return rows.sort((one, other) => timeOf(one) - timeOf(other));
}

function timeOf([a, b]: Row): number {
  return a?.atMs ?? b?.atMs ?? 0;
}

function table(heads: readonly [string, string], rows: readonly Row[], columns: Columns): readonly string[] {
  const cell = (event: TraceEvent | undefined) =>
    event === undefined ? "" : `${secondsOf(event.atMs, columns)}  ${factWords(event, columns)}`;
  if (columns.width < TWO_COLUMNS) {
    const line = (mark: string, text: string) => (text === "" ? [] : [fitted(`${mark} ${text}`, columns.width)]);
    return [
      `- ${heads[0]}`,
      `+ ${heads[1]}`,
      ...rows.flatMap(([a, b]) => [...line("-", cell(a)), ...line("+", cell(b))]),
    ];
  }
  const half = Math.floor((columns.width - 3) / 2);
  const pair = (left: string, right: string) => {
    const text = fitted(left, half);
    return `${text}${" ".repeat(half - textWidth(text))} | ${fitted(right, half)}`.trimEnd();
  };
  return [pair(...heads), ...rows.map(([a, b]) => pair(cell(a), cell(b)))];
}

/** `45.000 s` */
function secondsOf(ms: number, { zeroMs }: Columns): string {
  return `${((ms - zeroMs) / 1000).toFixed(3)} s`;
}
