import type { Step } from "../step.js";
import { FLIGHT_MS, type Flight, Flights } from "./flights.js";
import { messageOf } from "./messages.js";
import { keyOf } from "./things.js";
import { type Box, wireBetween } from "./wire.js";

const SVG = "http://www.w3.org/2000/svg";
const DOT_RADIUS = 3.5;
/** Also a dot for many messages must not hide what is below it. */
const MAX_GROWTH = 4;

/** A line between two things, by their keys. */
export type Way = readonly [from: string, to: string];

/** Draws lines and dots over the boxes of a picture. Dots move frame by frame and so are not components. */
export class Drawing {
  readonly #flights = new Flights();
  readonly #wires = new Map<string, SVGPathElement>();
  readonly #boxes = new Map<string, HTMLElement>();
  readonly #dots: SVGCircleElement[] = [];
  /** until when boxes and lines are lit, by the page's clock */
  readonly #lit = new Map<string, number>();
  readonly #calm = matchMedia("(prefers-reduced-motion: reduce)");
  #ways: readonly Way[] = [];
  #isRunning = false;

  constructor(
    readonly svg: SVGSVGElement,
    readonly field: HTMLElement,
  ) {}

  /** Finds where the boxes are now, and draws the lines between them. */
  place(ways = this.#ways): void {
    this.#ways = ways;
    this.#boxes.clear();
    for (const box of this.field.querySelectorAll<HTMLElement>("[data-key]")) {
      this.#boxes.set(box.dataset["key"] ?? "", box);
    }
    const origin = this.field.getBoundingClientRect();
    const placeOf = (key: string): Box | undefined => {
      const rect = this.#boxes.get(key)?.getBoundingClientRect();
      return rect && new DOMRect(rect.left - origin.left, rect.top - origin.top, rect.width, rect.height);
    };
    // On a narrow page the grid has one column.
    const isStacked = !getComputedStyle(this.field).gridTemplateColumns.includes(" ");
    const old = new Set(this.#wires.keys());
    for (const [from, to] of ways) {
      const [start, end] = [placeOf(from), placeOf(to)];
      if (start === undefined || end === undefined) continue;
      const name = wayName(from, to);
      old.delete(name);
      this.#wire(name).setAttribute("d", wireBetween(start, end, isStacked));
    }
    for (const name of old) {
      this.#wires.get(name)?.remove();
      this.#wires.delete(name);
    }
  }

  #wire(name: string): SVGPathElement {
    const known = this.#wires.get(name);
    if (known !== undefined) return known;
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", "wire");
    this.svg.prepend(path);
    this.#wires.set(name, path);
    return path;
  }

  /** Shows that steps happen: what they sent moves, and what they are about lights up. */
  show(steps: readonly Step[]): void {
    const now = performance.now();
    const messages = steps.flatMap((step) => messageOf(step) ?? []);
    if (!this.#calm.matches) this.#flights.launch(messages, now);
    for (const { from, to } of messages) this.#lit.set(wayName(from, to), now + FLIGHT_MS);
    for (const { lane, event } of steps) {
      this.#lit.set(lane.key, now + FLIGHT_MS);
      if (event.pod !== undefined) this.#lit.set(keyOf({ kind: "pod", name: event.pod }), now + FLIGHT_MS);
    }
    if (!this.#isRunning) {
      this.#isRunning = true;
      requestAnimationFrame(this.#frame);
    }
  }

  /** One frame. Without dots and lights, no frame follows. */
  readonly #frame = (now: number): void => {
    const flights = this.#flights.at(now);
    for (const [i, flight] of flights.entries()) this.#move(this.#dot(i), flight, now);
    for (const dot of this.#dots.splice(flights.length)) dot.remove();
    for (const [key, until] of this.#lit) {
      // A box may have come after its first message.
      const element = this.#wires.get(key) ?? this.#boxes.get(key);
      element?.toggleAttribute("data-lit", now < until);
      if (now >= until) this.#lit.delete(key);
    }
    this.#isRunning = flights.length > 0 || this.#lit.size > 0;
    if (this.#isRunning) requestAnimationFrame(this.#frame);
  };

  #dot(i: number): SVGCircleElement {
    const known = this.#dots[i];
    if (known !== undefined) return known;
    const dot = document.createElementNS(SVG, "circle");
    this.svg.append(dot);
    this.#dots.push(dot);
    return dot;
  }

  #move(dot: SVGCircleElement, { from, to, kind, isBad, count, startMs }: Flight, now: number): void {
    const wire = this.#wires.get(wayName(from, to));
    dot.setAttribute("class", wire === undefined ? "hidden" : `dot ${isBad ? "bad" : kind}`);
    if (wire === undefined) return;
    const at = Math.min(1, Math.max(0, (now - startMs) / FLIGHT_MS));
    const eased = at * at * (3 - 2 * at);
    // A line is drawn once for both directions.
    const length = wire.getTotalLength() * (this.#isForward(from, to) ? eased : 1 - eased);
    const { x, y } = wire.getPointAtLength(length);
    dot.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    dot.setAttribute("r", String(DOT_RADIUS + Math.min(MAX_GROWTH, Math.log2(count))));
  }

  #isForward(from: string, to: string): boolean {
    return this.#ways.some(([start, end]) => start === from && end === to);
  }
}

/** The same in both directions. */
function wayName(from: string, to: string): string {
  return from < to ? `${from}|${to}` : `${to}|${from}`;
}
