import { isReceived, type Lane } from "../lanes.js";
import { Mark } from "../marks.js";
import type { PageState } from "../state.js";
import type { Step } from "../step.js";
import { isBad } from "../words.js";

/** Where things are, in CSS pixels. */
export interface Geometry {
  readonly laneWidth: number;
  /** of all lanes */
  readonly width: number;
  readonly rowHeight: number;
  /** the middle of each lane */
  readonly xs: ReadonlyMap<Lane, number>;
}

interface ArrowsProps {
  readonly state: PageState;
  /** the first drawn row */
  readonly from: number;
  readonly shown: readonly Step[];
  readonly geometry: Geometry;
}

/** Lifelines, arrows and signs of the drawn rows, and the lines of the selected step's chain. */
export function Arrows({ state, from, shown, geometry }: ArrowsProps) {
  const { width, rowHeight, xs } = geometry;
  const height = shown.length * rowHeight;
  const selected = state.selected.value;
  return (
    <svg class="arrows" aria-hidden="true" width={width} height={height} style={{ top: `${from * rowHeight}px` }}>
      {[...xs.values()].map((x) => (
        <line key={x} class="lifeline" x1={x} x2={x} y1={0} y2={height} />
      ))}
      <ChainLines state={state} from={from} count={shown.length} geometry={geometry} />
      {shown.map((step, i) => (
        <Arrow key={step.event.id} step={step} y={(i + 0.5) * rowHeight} xs={xs} isSelected={step === selected} />
      ))}
    </svg>
  );
}

interface ArrowProps {
  readonly step: Step;
  readonly y: number;
  readonly xs: ReadonlyMap<Lane, number>;
  readonly isSelected: boolean;
}

function Arrow({ step, y, xs, isSelected }: ArrowProps) {
  const { event, lane, target } = step;
  const own = xs.get(lane) ?? 0;
  const other = target === undefined || target === lane ? undefined : xs.get(target);
  const classes = ["arrow", lane.actor, event.kind, isSelected ? "selected" : "", isBad(event) ? "failure" : ""];
  const [start, end] = isReceived(event) ? [other, own] : [own, other];
  return (
    <g class={classes.filter(Boolean).join(" ")}>
      {isSelected && <circle class="halo" cx={own} cy={y} r={11} />}
      {start !== undefined && end !== undefined && <Line start={start} end={end} y={y} />}
      <Mark kind={event.kind} x={own} y={y} />
    </g>
  );
}

interface LineProps {
  readonly start: number;
  readonly end: number;
  readonly y: number;
}

function Line({ start, end, y }: LineProps) {
  const back = end > start ? -1 : 1;
  const tip = end + 3 * back;
  return (
    <>
      <line class="shaft" x1={start} x2={tip + 4 * back} y1={y} y2={y} />
      <path class="tip" d={`M${tip} ${y}l${8 * back} -4.5v9Z`} />
    </>
  );
}

/** A line from each step of the chain to its effect, if both have a row. */
function ChainLines({ state, from, count, geometry }: Omit<ArrowsProps, "shown"> & { readonly count: number }) {
  const { all } = state.chain.value;
  if (all.size < 2) return null;
  const { rowHeight, xs } = geometry;
  const rows = rowsOf(state.rows.value, all);
  const lines = [...all].flatMap((step) => {
    const cause = shownCause(state, step, rows, all);
    const [row, causeRow] = [rows.get(step), cause && rows.get(cause)];
    if (cause === undefined || row === undefined || causeRow === undefined) return [];
    if (Math.max(row, causeRow) < from || Math.min(row, causeRow) >= from + count) return [];
    const [x1, x2] = [xs.get(cause.lane) ?? 0, xs.get(step.lane) ?? 0];
    const [y1, y2] = [causeRow, row].map((at) => (at - from + 0.5) * rowHeight) as [number, number];
    // Steps of one lane are joined by a bow next to the lifeline.
    const bend = x1 === x2 ? Math.min(geometry.laneWidth * 0.4, 8 + Math.abs(row - causeRow) * 2) : 0;
    const half = (y2 - y1) / 2;
    return [
      <path
        key={step.event.id}
        class="link"
        d={`M${x1} ${y1}C${x1 - bend} ${y1 + half} ${x2 - bend} ${y2 - half} ${x2} ${y2}`}
      />,
    ];
  });
  return <g>{lines}</g>;
}

/** The nearest cause that has a row: the filter may hide those between. */
function shownCause(
  state: PageState,
  step: Step,
  rows: ReadonlyMap<Step, number>,
  chain: ReadonlySet<Step>,
): Step | undefined {
  let cause = state.story.causeOf(step);
  // A damaged trace can have a cycle of causes.
  for (let left = chain.size; left > 0 && cause !== undefined && !rows.has(cause); left--) {
    cause = chain.has(cause) ? state.story.causeOf(cause) : undefined;
  }
  return cause;
}

function rowsOf(rows: readonly Step[], wanted: ReadonlySet<Step>): Map<Step, number> {
  const found = new Map<Step, number>();
  for (const [i, step] of rows.entries()) if (wanted.has(step)) found.set(step, i);
  return found;
}
