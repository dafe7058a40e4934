import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { counted } from "../../../../util/text/counted.js";
import type { Lane } from "../lanes.js";
import { say } from "../language.js";
import { Found, hovers } from "../marks.js";
import { messageName } from "../message-name.js";
import type { Repeat } from "../repeats.js";
import type { PageState } from "../state.js";
import type { Step } from "../step.js";
import { watchSize } from "../watch-size.js";
import { durationWords, isBad, outcomeOf, secondsOf, sentenceOf, titleOf, transportOf } from "../words.js";
import { Arrows, type Geometry } from "./arrows.js";

const ROW_HEIGHT = 30;
/** Rows beyond the view that are drawn as well, so that scrolling shows no gap. */
const MARGIN_ROWS = 6;

/** The sequence diagram: one row per step, with its arrow between the actors' lanes and its text next to them. */
export function Sequence({ state }: { readonly state: PageState }) {
  const scroller = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const size = useSignal({ width: 800, height: 600 });
  useEffect(
    () =>
      watchSize(scroller.current, (width, height) => {
        size.value = { width, height };
      }),
    [],
  );
  const range = useComputed(() => {
    const first = Math.floor(top.value / ROW_HEIGHT);
    const count = Math.ceil(size.value.height / ROW_HEIGHT);
    return [first, Math.min(state.rows.value.length, first + count)] as const;
  });
  useSignalEffect(() => {
    state.inView.value = [range.value[0], Math.max(range.value[0], range.value[1] - 1)];
  });
  useSignalEffect(() => {
    size.value;
    reveal(scroller.current, state.row.value);
  });
  const isFollowing = state.isFollowing.value;
  // After the rows are drawn.
  useEffect(() => {
    if (isFollowing && scroller.current !== null) scroller.current.scrollTop = scroller.current.scrollHeight;
  });

  const rows = state.rows.value;
  const geometry = geometryOf(state, size.value.width);
  const from = Math.max(0, range.value[0] - MARGIN_ROWS);
  const shown = rows.slice(from, range.value[1] + MARGIN_ROWS);
  const selected = state.selected.value;
  return (
    <section class="sequence" aria-label={say("Sequence")}>
      <LaneHeads lanes={state.story.lanes.sorted} geometry={geometry} />
      <div
        class="rows"
        id="rows"
        ref={scroller}
        role="listbox"
        tabIndex={0}
        aria-label={counted(rows.length, "step")}
        aria-activedescendant={selected === undefined ? undefined : `step-${selected.event.id}`}
        // The list stops following while a reader looks back.
        onWheel={(event) => {
          if (event.deltaY < 0) state.follow(false);
        }}
        onPointerDown={(event) => {
          if (event.offsetX > event.currentTarget.clientWidth || event.pointerType === "touch") state.follow(false);
        }}
        onScroll={(event) => {
          top.value = event.currentTarget.scrollTop;
        }}
      >
        {rows.length === 0 && <Nothing state={state} />}
        <div class="whole" role="presentation" style={{ height: `${rows.length * ROW_HEIGHT}px` }}>
          <Arrows state={state} from={from} shown={shown} geometry={geometry} />
          {shown.map((step, i) => (
            <Row key={step.event.id} state={state} step={step} index={from + i} geometry={geometry} />
          ))}
        </div>
      </div>
    </section>
  );
}

function Nothing({ state }: { readonly state: PageState }) {
  const isEverything = state.view.value === "all";
  return (
    <p class="nothing">
      {say("No step matches the filter.")}{" "}
      {!isEverything && (
        <button type="button" onClick={() => state.look("all")}>
          {say("Look at everything")}
        </button>
      )}
    </p>
  );
}

interface RowProps {
  readonly state: PageState;
  readonly step: Step;
  readonly index: number;
  readonly geometry: Geometry;
}

function Row({ state, step, index, geometry }: RowProps) {
  const { event } = step;
  const { causes, all } = state.chain.value;
  const isSelected = step === state.selected.value;
  const relation = isSelected || !all.has(step) ? "" : causes.includes(step) ? "cause" : "effect";
  const outcome = outcomeOf(event);
  const words = state.filter.value.search;
  // The row is the event; how it travelled is small.
  const [name, transport] = [event.kind === "state" ? "" : messageName(step), transportOf(event)];
  const classes = [
    "row",
    event.kind,
    relation,
    isSelected ? "selected" : "",
    isBad(event) ? "failure" : "",
    step === state.hovered.value ? "hovered" : "",
  ];
  const repeat = state.counters.get(step);
  const said = [
    sentenceOf(step, state.story.startMs),
    relation === "" ? undefined : `${relation} of the selected step`,
    repeat && `${timesOf(repeat)} times, Enter shows ${state.opened.value.has(repeat.first) ? "one" : "all"}`,
  ];
  return (
    // The list has the focus and handles the keys of its options.
    // biome-ignore lint/a11y/useFocusableInteractive: aria-activedescendant of the listbox
    // biome-ignore lint/a11y/useKeyWithClickEvents: the listbox handles keys
    <div
      id={`step-${event.id}`}
      class={classes.filter(Boolean).join(" ")}
      role="option"
      aria-selected={isSelected}
      aria-setsize={state.rows.value.length}
      aria-posinset={index + 1}
      aria-label={said.filter(Boolean).join(", ")}
      style={{ top: `${index * ROW_HEIGHT}px` }}
      onClick={() => state.select(step)}
      {...hovers(state, step)}
    >
      <span class="time">{secondsOf(step.startMs - state.story.startMs)}</span>
      <span class="space" style={{ width: `${geometry.width}px` }} />
      <span class="relation">{relation === "cause" ? "↑" : relation === "effect" ? "↓" : ""}</span>
      {outcome !== undefined && <span class="outcome">{outcome}</span>}
      <span class="title" title={titleOf(event)}>
        <Found text={name || titleOf(event)} words={words} />
        {name !== "" && (
          <small>
            {" "}
            <Found text={transport} words={words} />
          </small>
        )}
      </span>
      {repeat !== undefined && <Counter state={state} repeat={repeat} />}
      {"durationMs" in event && <span class="took">{durationWords(event.durationMs)}</span>}
    </div>
  );
}

/** How often it happened. The keyboard opens it in the list. */
function Counter({ state, repeat }: { readonly state: PageState; readonly repeat: Repeat }) {
  const isOpen = state.opened.value.has(repeat.first);
  const last = secondsOf((repeat.others.at(-1)?.startMs ?? 0) - state.story.startMs);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a listbox's option has no buttons
    // biome-ignore lint/a11y/useKeyWithClickEvents: the listbox handles keys
    <span
      class="times"
      title={`the last time at ${last} s; click or Enter shows ${isOpen ? "only the first" : "each time"}`}
      onClick={(event) => {
        event.stopPropagation();
        state.open(repeat);
      }}
    >
      {isOpen ? "▾" : "▸"} {timesOf(repeat)}×
    </span>
  );
}

function timesOf({ others }: Repeat): number {
  return others.length + 1;
}

function LaneHeads({ lanes, geometry }: { readonly lanes: readonly Lane[]; readonly geometry: Geometry }) {
  return (
    <div class="heads">
      <span class="time">{say("seconds")}</span>
      {lanes.map((lane) => (
        <span key={lane.key} class={`head ${lane.actor}`} style={{ width: `${geometry.laneWidth}px` }} title={lane.key}>
          <b>{say(lane.name)}</b>
          {lane.instance}
        </span>
      ))}
      <span class="title">{say("what happened")}</span>
    </div>
  );
}

function geometryOf(state: PageState, width: number): Geometry {
  const lanes = state.story.lanes.sorted;
  const room = (width * 0.42) / Math.max(1, lanes.length);
  const laneWidth = Math.round(Math.max(20, Math.min(72, room)));
  const xs = new Map(lanes.map((lane, i) => [lane, (i + 0.5) * laneWidth]));
  return { laneWidth, width: laneWidth * lanes.length, rowHeight: ROW_HEIGHT, xs };
}

/** Scrolls as little as needed. */
function reveal(scroller: HTMLElement | null, row: number): void {
  if (scroller === null || row < 0) return;
  const [top, bottom] = [row * ROW_HEIGHT, (row + 1) * ROW_HEIGHT];
  const margin = 2 * ROW_HEIGHT;
  if (top < scroller.scrollTop) scroller.scrollTop = top - margin;
  else if (bottom > scroller.scrollTop + scroller.clientHeight) {
    scroller.scrollTop = bottom - scroller.clientHeight + margin;
  }
}
