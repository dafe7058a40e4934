import type { Step } from "../step.js";
import { FLIGHT_MS, type Flight, Flights } from "./flights.js";
import { messageOf } from "./messages.js";
import { keyOf } from "./things.js";
import { type Box, wireBetween } from "./wire.js";

const SVG = "http://www.w3.org/2000/svg";
const DOT_RADIUS = 3.5;
/** Limits the growth of a dot, so that many messages do not hide what is below. */
const MAX_GROWTH = 4;

/** Points along a line, measured once, because measuring in each frame is slow. */
const SAMPLES = 32;

interface Wire {
  readonly path: SVGPathElement;
  /** the path that `places` were measured on */
  course: string;
  places: readonly { readonly x: number; readonly y: number }[];
}

/** A line between two things, by their keys. */
export type Way = readonly [from: string, to: string];

/** Draws lines and dots over the boxes of a picture. Dots move frame by frame and so are not components. */
export class Drawing {
  readonly #flights = new Flights();
  readonly #wires = new Map<string, Wire>();
  readonly #boxes = new Map<string, HTMLElement>();
  readonly #dots: SVGCircleElement[] = [];
  /** the end of each box's and line's light, by the page's clock */
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
      this.#course(this.#wire(name), wireBetween(start, end, isStacked));
    }
    for (const name of old) {
      this.#wires.get(name)?.path.remove();
      this.#wires.delete(name);
    }
  }

  #wire(name: string): Wire {
    const known = this.#wires.get(name);
    if (known !== undefined) return known;
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", "wire");
    this.svg.prepend(path);
    const wire: Wire = { path, course: "", places: [] };
    this.#wires.set(name, wire);
    return wire;
  }

  #course(wire: Wire, course: string): void {
    if (wire.course === course) return;
    wire.course = course;
    wire.path.setAttribute("d", course);
    const length = wire.path.getTotalLength();
    wire.places = Array.from({ length: SAMPLES + 1 }, (_, i) => wire.path.getPointAtLength((length * i) / SAMPLES));
  }

  /** Animates steps: their messages move, and their objects light up. */
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
      // A box can appear after its first message.
      const element = this.#wires.get(key)?.path ?? this.#boxes.get(key);
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
    change(dot, "class", wire === undefined ? "hidden" : `dot ${isBad ? "bad" : kind}`);
    if (wire === undefined) return;
    const at = Math.min(1, Math.max(0, (now - startMs) / FLIGHT_MS));
    const eased = at * at * (3 - 2 * at);
    // A line is drawn once for both directions.
    const { x, y } = placeOn(wire, this.#isForward(from, to) ? eased : 1 - eased);
    dot.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    change(dot, "r", (DOT_RADIUS + Math.min(MAX_GROWTH, Math.log2(count))).toFixed(1));
  }

  #isForward(from: string, to: string): boolean {
    return this.#ways.some(([start, end]) => start === from && end === to);
  }
}

/** Between the two nearest places. @param at 0: the start, 1: the end */
function placeOn({ places }: Wire, at: number): { readonly x: number; readonly y: number } {
  const before = Math.min(SAMPLES - 1, Math.floor(at * SAMPLES));
  const [a, b] = [places[before], places[before + 1]];
  if (a === undefined || b === undefined) return { x: 0, y: 0 };
  const share = at * SAMPLES - before;
  return { x: a.x + (b.x - a.x) * share, y: a.y + (b.y - a.y) * share };
}

function change(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** The same in both directions. */
function wayName(from: string, to: string): string {
  return from < to ? `${from}|${to}` : `${to}|${from}`;
}
