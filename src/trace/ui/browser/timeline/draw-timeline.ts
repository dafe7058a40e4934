import type { ScaleLinear } from "d3-scale";
import type { Lane } from "../lanes.js";
import { say } from "../language.js";
import type { Step } from "../step.js";
import { isBad } from "../words.js";

export const LANE_HEIGHT = 18;
export const TIMELINE_PADDING = 12;
const TOP = 4;

/** The content of a timeline. */
export interface TimelineContent {
  readonly rows: readonly Step[];
  readonly lanes: readonly Lane[];
  /** Unix ms to CSS pixels */
  readonly scale: ScaleLinear<number, number>;
  readonly width: number;
  /** 0: lanes have no names */
  readonly labelWidth: number;
  readonly selected: Step | undefined;
  /** under the pointer */
  readonly hovered: Step | undefined;
  readonly chain: ReadonlySet<Step>;
  /** Unix ms of the first and last step in view */
  readonly inView: readonly number[];
  readonly startMs: number;
}

/** Draws all steps in a few milliseconds, also of a long run: steps that share a pixel are drawn once. */
export function drawTimeline(canvas: HTMLCanvasElement, content: TimelineContent): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const { width, lanes } = content;
  const height = canvas.clientHeight;
  const ratio = devicePixelRatio;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(`--${name}`);
  context.font = `12px ${style.fontFamily}`;
  context.textBaseline = "middle";

  drawView(context, content, colour("soft"));
  drawAxis(context, content, colour("line"), colour("dim"));
  drawLanes(context, content, colour);
  context.save();
  context.beginPath();
  context.rect(content.labelWidth, 0, width - content.labelWidth, height);
  context.clip();
  drawSteps(context, content, new Map(lanes.map((lane) => [lane, colour(lane.actor)])), colour("bad"));
  drawChain(context, content, colour("accent"));
  context.restore();
}

function laneTop(lanes: readonly Lane[], lane: Lane): number {
  return TOP + lanes.indexOf(lane) * LANE_HEIGHT;
}

/** The time that the list shows. */
function drawView(
  context: CanvasRenderingContext2D,
  { scale, inView, lanes, labelWidth }: TimelineContent,
  fill: string,
) {
  if (inView.length === 0) return;
  const [from = 0, to = 0] = inView.map((ms) => Math.max(labelWidth, scale(ms)));
  context.fillStyle = fill;
  context.fillRect(from - 2, 0, Math.max(4, to - from + 4), TOP + lanes.length * LANE_HEIGHT);
}

function drawAxis(context: CanvasRenderingContext2D, content: TimelineContent, line: string, text: string) {
  const { scale, width, lanes, labelWidth, startMs } = content;
  const bottom = TOP + lanes.length * LANE_HEIGHT;
  const seconds = scale.copy().domain(scale.domain().map((ms) => (ms - startMs) / 1000));
  const format = seconds.tickFormat(width / 110);
  context.textAlign = "center";
  for (const tick of seconds.ticks(width / 110)) {
    const x = Math.round(seconds(tick)) + 0.5;
    if (x < labelWidth + 4) continue;
    context.fillStyle = line;
    context.fillRect(x - 0.5, 0, 1, bottom + 3);
    context.fillStyle = text;
    const label = `${format(tick)} s`;
    // The last label stays inside the picture.
    const most = width - 2 - context.measureText(label).width / 2;
    context.fillText(label, Math.min(x, most), bottom + 12);
  }
}

function drawLanes(context: CanvasRenderingContext2D, content: TimelineContent, colour: (name: string) => string) {
  const { lanes, width, labelWidth } = content;
  context.textAlign = "left";
  for (const lane of lanes) {
    const middle = laneTop(lanes, lane) + LANE_HEIGHT / 2;
    context.fillStyle = colour("line");
    context.fillRect(labelWidth, Math.round(middle), width - labelWidth, 1);
    if (labelWidth === 0) continue;
    context.fillStyle = colour("text");
    context.fillText([say(lane.name), lane.instance].filter(Boolean).join(" "), 12, middle, labelWidth - 20);
  }
}

function drawSteps(
  context: CanvasRenderingContext2D,
  { rows, lanes, scale, width }: TimelineContent,
  colours: ReadonlyMap<Lane, string>,
  bad: string,
) {
  const lastX = new Map<Lane, number>();
  const tops = new Map(lanes.map((lane) => [lane, laneTop(lanes, lane)]));
  for (const step of rows) {
    const [from, to] = [scale(step.startMs), scale(step.event.atMs)];
    if (to < 0 || from > width) continue;
    const failed = isBad(step.event);
    const x = Math.round(from);
    const length = Math.max(2, to - from);
    if (!failed && length <= 2 && lastX.get(step.lane) === x) continue;
    lastX.set(step.lane, x);
    const top = tops.get(step.lane) ?? 0;
    context.fillStyle = colours.get(step.lane) ?? "";
    // A bar is a request or a call that took time; a failed one is taller and has a cap.
    if (length > 2) context.fillRect(x, top + 6, length, LANE_HEIGHT - 12);
    else context.fillRect(x, top + 3, 2, LANE_HEIGHT - 6);
    if (!failed) continue;
    context.fillStyle = bad;
    context.fillRect(x - 2, top, 6, 3);
    context.fillRect(x, top, 2, LANE_HEIGHT - 2);
  }
}

function drawChain(context: CanvasRenderingContext2D, content: TimelineContent, accent: string) {
  const { selected, hovered, lanes, scale } = content;
  const chain = [...content.chain].filter((step) => lanes.includes(step.lane));
  context.strokeStyle = accent;
  context.fillStyle = accent;
  for (const step of chain) {
    const [x, middle] = [scale(step.startMs), laneTop(lanes, step.lane) + LANE_HEIGHT / 2];
    context.beginPath();
    context.arc(x + 1, middle, step === selected ? 5 : 3, 0, 2 * Math.PI);
    if (step === selected) context.fill();
    else context.stroke();
  }
  if (hovered !== undefined && hovered !== selected) {
    context.globalAlpha = 0.4;
    context.fillRect(Math.round(scale(hovered.startMs)) - 1, 0, 3, TOP + lanes.length * LANE_HEIGHT);
    context.globalAlpha = 1;
  }
  if (selected === undefined) return;
  context.fillRect(Math.round(scale(selected.startMs)), 0, 1, TOP + lanes.length * LANE_HEIGHT);
}
