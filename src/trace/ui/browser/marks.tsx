import { Fragment } from "preact";
import type { TraceEvent } from "../../events.js";
import legend from "./content/legend.json" with { type: "json" };
import type { PageState } from "./state.js";
import type { Step } from "./step.js";

type Kind = TraceEvent["kind"];

/** The sign of each kind, 10 units wide around 0,0. Its shape shows the kind without colour. */
const SHAPES: Readonly<Record<Exclude<Kind, "story">, string>> = {
  step: "M-5-5H5V5H-5Z",
  decision: "M0-6L6 0L0 6L-6 0Z",
  state: "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0Z",
  event: "M-4-6L5-1L-4 4Z",
  note: "M-2 0a2 2 0 1 0 4 0a2 2 0 1 0-4 0Z",
  table: "M-5-4H5V-1H-5ZM-5 1H5V4H-5Z",
  frame: "M-3-5H-1V5H-3ZM1-5H3V5H1Z",
  error: "M-5-3L-3-5L0-2L3-5L5-3L2 0L5 3L3 5L0 2L-3 5L-5 3L-2 0Z",
  request: "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0Z",
  rpc: "M-3-3H3V3H-3Z",
  watch: "M-4 0L3-4V4Z",
};

/** What each sign means, for the legend. */
export const KINDS = Object.entries(legend.kinds) as [Kind, string][];

/** The sign of a kind inside an SVG. */
export function Mark({ kind, x, y }: { readonly kind: Kind; readonly x: number; readonly y: number }) {
  return (
    <path
      class="mark"
      d={kind === "story" ? SHAPES.note : (SHAPES[kind] ?? SHAPES.note)}
      transform={`translate(${x} ${y})`}
    />
  );
}

/** The sign of a kind in a line of text. */
export function Sign({ kind, actor }: { readonly kind: Kind; readonly actor?: string }) {
  return (
    <svg class={`sign ${actor ?? ""}`} viewBox="-7 -7 14 14" aria-hidden="true">
      <Mark kind={kind} x={0} y={0} />
    </svg>
  );
}

/** A text in which the words of the search are marked. An address breaks between its parts, so that its words stay whole. */
export function Found({ text, words = "" }: { readonly text: string; readonly words?: string }) {
  const wanted = words.split(/\s+/).filter(Boolean).map(escaped);
  // Odd parts are those that the group matched.
  const parts = wanted.length === 0 ? [text] : text.split(new RegExp(`(${wanted.join("|")})`, "gi"));
  return <>{parts.map((part, i) => (i % 2 === 1 ? <mark key={i}>{part}</mark> : breakable(part)))}</>;
}

function breakable(text: string) {
  return text.split(/(?<=[?&]|[^\s/:]\/)/).map((part, i) => (
    <Fragment key={i}>
      {i > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
}

/** The step under the pointer is marked in the list and in the timeline. */
export function hovers(state: PageState, step: Step) {
  const set = (hovered: Step | undefined) => () => {
    state.hovered.value = hovered;
  };
  return { onPointerEnter: set(step), onPointerLeave: set(undefined) };
}
