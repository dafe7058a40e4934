import { useSignal, useSignalEffect } from "@preact/signals";
import { type ScaleLinear, scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { type D3ZoomEvent, type ZoomBehavior, zoom, zoomIdentity } from "d3-zoom";
import { useEffect, useRef } from "preact/hooks";
import { watchSize } from "../sequence.js";
import type { PageState } from "../state.js";
import type { Step } from "../step.js";
import { durationWords } from "../words.js";
import { drawTimeline, LANE_HEIGHT, TIMELINE_PADDING } from "./draw-timeline.js";

/** The largest zoom: less than a hundredth of a millisecond is never useful. */
const MAX_ZOOM = 1e6;
/** The span that the timeline of a running command shows. */
const FOLLOWED_MS = 60_000;
/** The largest distance of a click from its step, in CSS pixels. */
const REACH = 8;

/** When things happened: one line per actor, which can be zoomed and moved. */
export function Timeline({ state }: { readonly state: PageState }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const behavior = useRef<ZoomBehavior<HTMLCanvasElement, unknown> | null>(null);
  const width = useSignal(0);
  const transform = useSignal(zoomIdentity);
  /** grows when the colours change */
  const scheme = useSignal(0);

  const scaleNow = (): ScaleLinear<number, number> => {
    const { startMs, endMs } = state.story;
    const left = TIMELINE_PADDING + labelWidth(width.value);
    const from = state.isFollowing.value ? Math.max(startMs, endMs - FOLLOWED_MS) : startMs;
    const whole = scaleLinear([from, Math.max(endMs, from + 1)], [left, width.value - TIMELINE_PADDING]);
    return transform.value.rescaleX(whole);
  };

  useEffect(() => {
    const node = canvas.current;
    if (node === null) return;
    const zoomed = (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
      transform.value = event.transform;
    };
    behavior.current = zoom<HTMLCanvasElement, unknown>().scaleExtent([1, MAX_ZOOM]).on("zoom", zoomed);
    select(node).call(behavior.current);
    const colours = matchMedia("(prefers-color-scheme: dark)");
    const repaint = () => scheme.value++;
    colours.addEventListener("change", repaint);
    const unwatch = watchSize(node, (now) => {
      width.value = now;
      behavior.current
        ?.translateExtent([
          [0, 0],
          [now, 0],
        ])
        .extent([
          [0, 0],
          [now, 1],
        ]);
    });
    return () => {
      unwatch();
      colours.removeEventListener("change", repaint);
    };
  }, []);

  useSignalEffect(() => {
    scheme.value;
    if (canvas.current === null || width.value === 0) return;
    drawTimeline(canvas.current, {
      rows: state.matching.value,
      lanes: state.story.lanes.sorted,
      scale: scaleNow(),
      width: width.value,
      labelWidth: labelWidth(width.value),
      selected: state.selected.value,
      chain: state.chain.value.all,
      inView: state.inView.value.map((row) => state.rows.value[row]?.startMs ?? state.story.endMs),
      startMs: state.story.startMs,
    });
  });

  const scaleBy = (factor: number) => {
    if (canvas.current !== null) behavior.current?.scaleBy(select(canvas.current), factor);
  };
  state.revision.value;
  const lanes = state.story.lanes.sorted;
  const { startMs, endMs } = state.story;
  return (
    <section class="timeline" aria-label="Timeline">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${lanes.length} actors over ${durationWords(endMs - startMs)}; the list below has the same steps`}
        style={{ height: `${lanes.length * LANE_HEIGHT + 26}px` }}
        onClick={(event) => state.select(stepAt(state, scaleNow(), event.offsetX, event.offsetY))}
      />
      <div class="zoom">
        <button type="button" aria-label="Zoom in" onClick={() => scaleBy(2)}>
          +
        </button>
        <button type="button" aria-label="Zoom out" onClick={() => scaleBy(0.5)}>
          −
        </button>
        <button
          type="button"
          aria-label="Show all of the time"
          onClick={() => {
            if (canvas.current !== null) behavior.current?.transform(select(canvas.current), zoomIdentity);
          }}
        >
          all
        </button>
      </div>
    </section>
  );
}

function labelWidth(width: number): number {
  return width < 560 ? 0 : 118;
}

/** The nearest step of the clicked lane. */
function stepAt(state: PageState, scale: ScaleLinear<number, number>, x: number, y: number): Step | undefined {
  const lane = state.story.lanes.sorted[Math.floor((y - 4) / LANE_HEIGHT)];
  let nearest: Step | undefined;
  let distance = REACH;
  for (const step of state.matching.value) {
    if (step.lane !== lane) continue;
    const [from, to] = [scale(step.startMs), scale(step.event.atMs)];
    const away = x < from ? from - x : x > to ? x - to : 0;
    if (away < distance) [nearest, distance] = [step, away];
  }
  return nearest;
}
