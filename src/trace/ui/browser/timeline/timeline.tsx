import { useSignal, useSignalEffect } from "@preact/signals";
import { type ScaleLinear, scaleLinear } from "d3-scale";
import { select } from "d3-selection";
import { type D3ZoomEvent, type ZoomBehavior, zoom, zoomIdentity } from "d3-zoom";
import { useEffect, useRef } from "preact/hooks";
import type { Lane } from "../lanes.js";
import { say } from "../language.js";
import type { PageState } from "../state.js";
import type { Step } from "../step.js";
import { watchSize } from "../watch-size.js";
import { durationWords, titleOf, whoOf } from "../words.js";
import { drawTimeline, LANE_HEIGHT, TIMELINE_PADDING } from "./draw-timeline.js";

/** The largest zoom: less than a hundredth of a millisecond is never useful. */
const MAX_ZOOM = 1e6;
/** Label, sign and factor of each button. The least zoom is 1, so a factor of 0 shows all. */
const ZOOMS = [
  ["Zoom in", "+", 2],
  ["Zoom out", "−", 0.5],
  ["Show all of the time", "all", 0],
] as const;
/** The span that the timeline of a running command shows. */
const FOLLOWED_MS = 60_000;
/** The largest distance of a click from its step, in CSS pixels. */
const REACH = 8;

/** When things happened: one line per actor, which can be zoomed and moved. */
export function Timeline({ state }: { readonly state: PageState }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const behavior = useRef<ZoomBehavior<HTMLCanvasElement, unknown> | null>(null);
  const width = useSignal(0);
  /** grows when the colours change */
  const scheme = useSignal(0);

  const scaleNow = (): ScaleLinear<number, number> => {
    const { startMs, endMs } = state.span.value;
    const left = TIMELINE_PADDING + labelWidth(width.value);
    const from = state.isFollowing.value ? Math.max(startMs, endMs - FOLLOWED_MS) : startMs;
    const whole = scaleLinear([from, Math.max(endMs, from + 1)], [left, width.value - TIMELINE_PADDING]);
    const { k, x } = state.zoom.value;
    return zoomIdentity.translate(x, 0).scale(k).rescaleX(whole);
  };

  useEffect(() => {
    const node = canvas.current;
    if (node === null) return;
    const zoomed = (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => {
      const { k, x } = event.transform;
      state.zoom.value = { k, x };
    };
    behavior.current = zoom<HTMLCanvasElement, unknown>().scaleExtent([1, MAX_ZOOM]).on("zoom", zoomed);
    select(node).call(behavior.current);
    const { k, x } = state.zoom.value;
    behavior.current.transform(select(node), zoomIdentity.translate(x, 0).scale(k));
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
      lanes: lanesOf(state),
      scale: scaleNow(),
      width: width.value,
      labelWidth: labelWidth(width.value),
      selected: state.selected.value,
      hovered: state.hovered.value,
      chain:
        state.view.value === "story"
          ? new Set(state.matching.value.filter((step) => state.chain.value.all.has(step)))
          : state.chain.value.all,
      inView:
        state.view.value === "story"
          ? []
          : state.inView.value.map((row) => state.rows.value[row]?.startMs ?? state.story.endMs),
      startMs: state.span.value.startMs,
    });
  });

  const scaleBy = (factor: number) => {
    if (canvas.current !== null) behavior.current?.scaleBy(select(canvas.current), factor);
  };
  state.revision.value;
  const lanes = lanesOf(state);
  const { startMs, endMs } = state.span.value;
  const hovered = state.hovered.value;
  return (
    <section class="timeline" aria-label={say("Timeline")}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={say(
          "{1} actors over {2}; the list has the same steps",
          lanes.length,
          durationWords(endMs - startMs),
        )}
        title={hovered === undefined ? "" : `${whoOf(hovered)}: ${titleOf(hovered.event)}`}
        onPointerMove={(event) => {
          state.hovered.value = stepAt(state, scaleNow(), event.offsetX, event.offsetY);
        }}
        onPointerLeave={() => {
          state.hovered.value = undefined;
        }}
        style={{ height: `${lanes.length * LANE_HEIGHT + 26}px` }}
        onClick={(event) => state.select(stepAt(state, scaleNow(), event.offsetX, event.offsetY))}
      />
      <div class="zoom">
        {ZOOMS.map(([label, sign, factor]) => (
          <button key={label} type="button" aria-label={say(label)} onClick={() => scaleBy(factor)}>
            {say(sign)}
          </button>
        ))}
      </div>
    </section>
  );
}

/** A story shows only the actors that its steps have. */
function lanesOf(state: PageState): readonly Lane[] {
  const lanes = state.story.lanes.sorted;
  const plot = state.view.value === "story" ? state.plot.value : undefined;
  return plot === undefined ? lanes : lanes.filter((lane) => plot.steps.some(({ step }) => step.lane === lane));
}

function labelWidth(width: number): number {
  return width < 380 ? 0 : 118;
}

/** The nearest step of the clicked lane. */
function stepAt(state: PageState, scale: ScaleLinear<number, number>, x: number, y: number): Step | undefined {
  const lane = lanesOf(state)[Math.floor((y - 4) / LANE_HEIGHT)];
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
