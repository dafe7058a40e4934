import type { TraceEvent } from "../../../events.js";
import { shortIds } from "../../../terminal/text.js";
import { messageName } from "../message-name.js";
import type { Exchange } from "../state.js";
import type { Step } from "../step.js";
import { outcomeOf } from "../words.js";
import { FLIGHT_MS, type Flight, Flights } from "./flights.js";
import { type Message, messageOf } from "./messages.js";
import { keyOf } from "./things.js";
import { type Box, wireAround, wireBetween } from "./wire.js";

const SVG = "http://www.w3.org/2000/svg";
const DOT_RADIUS = 3.5;
/** Limits the growth of a dot, so that many messages do not hide what is below. */
const MAX_GROWTH = 4;

/** The width of a letter of a message's name, about. */
const LETTER_PX = 7;
/** A name beside an upright line goes no farther than this to its right. */
const UPRIGHT_PX = 36;

/** Points along a line, measured once, because measuring in each frame is slow. */
const SAMPLES = 32;

interface Wire {
  readonly path: SVGPathElement;
  /** the path that `places` were measured on */
  course: string;
  places: readonly Place[];
}

/** CSS pixels in the picture. */
interface Place {
  readonly x: number;
  readonly y: number;
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
  #marked: Step | undefined;
  #sent: Step | undefined;
  #part: Exchange["part"] = "both";
  readonly #marks: Element[] = [];
  #isRunning = false;

  constructor(
    readonly svg: SVGSVGElement,
    readonly field: HTMLElement,
    readonly nodeOf: (pod: string) => string | undefined,
  ) {}

  /** Finds where the boxes are now, and draws the lines between them. */
  place(ways = this.#ways): void {
    this.#ways = ways;
    this.#boxes.clear();
    for (const box of this.field.querySelectorAll<HTMLElement>("[data-key]")) {
      this.#boxes.set(box.dataset["key"] ?? "", box);
    }
    const origin = this.field.getBoundingClientRect();
    const placeOf = (element: Element | null | undefined): Box | undefined => {
      const rect = element?.getBoundingClientRect();
      return rect && new DOMRect(rect.left - origin.left, rect.top - origin.top, rect.width, rect.height);
    };
    const nodes = placeOf(this.field.querySelector(".nodes"));
    const old = new Set(this.#wires.keys());
    for (const [from, to] of ways) {
      const [start, end] = [placeOf(this.#boxOf(from)), placeOf(this.#boxOf(to))];
      if (start === undefined || end === undefined) continue;
      const name = wayName(from, to);
      old.delete(name);
      const node = placeOf(this.#boxOf(from)?.closest(".node"));
      // A node that is not in the first column is reached between the nodes.
      const isBehind = node !== undefined && nodes !== undefined && node.left > nodes.left + 4 && end.left < nodes.left;
      const course = isBehind ? wireAround(end, start, node, nodes.left - 12) : wireBetween(start, end);
      this.#course(this.#wire(name), course, isBehind);
    }
    for (const name of old) {
      this.#wires.get(name)?.path.remove();
      this.#wires.delete(name);
    }
    this.mark(this.#marked, this.#sent, this.#part);
  }

  /** A fact may not say which node its kubelet has; then it is that of the only one. */
  #boxOf(key: string): HTMLElement | undefined {
    const known = this.#boxes.get(key);
    if (known !== undefined) return known;
    const [only, ...others] = [...this.#boxes.keys()].filter((one) => one.startsWith(`${key} `));
    return only !== undefined && others.length === 0 ? this.#boxes.get(only) : undefined;
  }

  /** The line of the message, in its direction. */
  #placesOf({ from, to }: Pick<Message, "from" | "to">): readonly Place[] {
    const [start, end] = [this.#boxOf(from), this.#boxOf(to)].map((box) => box?.dataset["key"] ?? "") as [
      string,
      string,
    ];
    const places = this.#wires.get(wayName(start, end))?.places ?? [];
    return this.#isForward(start, end) ? places : places.toReversed();
  }

  /**
   * Shows a step until another one is marked: its actors, its message's line with an arrow, its name, and the answer.
   * @param sent the message to show for a step that is no message itself
   * @param part of a request and its answer
   */
  mark(step: Step | undefined, sent: Step | undefined, part: Exchange["part"]): void {
    this.#marked = step;
    this.#sent = sent;
    this.#part = part;
    for (const element of this.field.querySelectorAll("[data-now]")) delete (element as HTMLElement).dataset["now"];
    for (const element of this.#marks.splice(0)) element.remove();
    if (step === undefined) return;
    const shown = sent ?? step;
    const { event } = shown;
    const message = messageOf(shown);
    for (const key of [step.lane.key, message?.from, message?.to]) {
      const box = key === undefined ? undefined : this.#boxOf(key);
      if (box !== undefined) box.dataset["now"] = key === step.lane.key ? "actor" : "other";
    }
    const pod = this.#boxes.get(keyOf({ kind: "pod", name: step.event.pod ?? "" }));
    const card = pod?.closest<HTMLElement>(".pod") ?? pod;
    if (card !== undefined) card.dataset["now"] = "other";
    const places = message === undefined ? [] : this.#placesOf(message);
    const [first, middle, last] = [places[0], places[SAMPLES / 2], places.at(-1)];
    if (message === undefined || first === undefined || middle === undefined || last === undefined) return;
    // A request whose answer has a step of its own has none yet.
    const isAnswered = part !== "question" && /^(?:request|rpc)$/.test(message.kind);
    const tone = message.isBad && part !== "question" ? "bad" : message.kind;
    const answer = isAnswered ? outcomeOf(event) : undefined;
    if (part !== "answer") this.#arrow(places, `sent ${tone}`);
    // Next to the line of the request.
    const isUpright = Math.abs(last.y - first.y) > Math.abs(last.x - first.x);
    const beside = places.toReversed().map(({ x, y }) => (isUpright ? { x: x + 7, y } : { x, y: y + 7 }));
    if (answer !== undefined) this.#arrow(beside, `answer ${tone}`);
    const flag = document.createElement("div");
    flag.className = `flag ${tone}${isUpright ? " upright" : ""}`;
    const name = shortIds(messageName(shown, this.nodeOf(event.pod ?? "")) || streamName(event), true);
    const maxWidth = isUpright ? 260 : Math.max(84, Math.abs(last.x - first.x) - 18);
    // A name breaks only if it is longer than the line, and then at its hyphens; an address between its parts.
    const isLong = name.split(/[\s/]/).some(({ length }) => length * LETTER_PX > maxWidth);
    const parts = (isLong ? name : name.replaceAll("-", "\u2011")).split(/(?<=\/)/);
    flag.append(...parts.flatMap((part) => [part, document.createElement("wbr")]));
    if (answer !== undefined) {
      const back = document.createElement("small");
      back.append(`← ${answer}`);
      flag.append(back);
    }
    flag.style.maxWidth = `${maxWidth}px`;
    this.field.append(flag);
    // Between two boxes, one below the other, there is room at the left only: at the right are pods.
    const beyond = isUpright ? Math.max(0, flag.offsetWidth / 2 - UPRIGHT_PX) : 0;
    flag.style.left = `${middle.x - beyond}px`;
    flag.style.top = `${middle.y}px`;
    this.#marks.push(flag);
  }

  #arrow(places: readonly Place[], name: string): void {
    const [end, before] = [places.at(-1), places.at(-3)];
    if (end === undefined || before === undefined) return;
    const path = document.createElementNS(SVG, "path");
    const line = places.slice(0, -1).map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`);
    path.setAttribute("d", `M${line.join("L")}`);
    path.setAttribute("class", `lit ${name}`);
    const tip = document.createElementNS(SVG, "path");
    const turn = (Math.atan2(end.y - before.y, end.x - before.x) * 180) / Math.PI;
    tip.setAttribute("d", "M0 0L-10 -5V5Z");
    tip.setAttribute("transform", `translate(${end.x.toFixed(1)} ${end.y.toFixed(1)}) rotate(${turn.toFixed(1)})`);
    tip.setAttribute("class", `tip-of ${name}`);
    this.svg.append(path, tip);
    this.#marks.push(path, tip);
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

  #course(wire: Wire, course: string, isReversed: boolean): void {
    if (wire.course === course) return;
    wire.course = course;
    wire.path.setAttribute("d", course);
    const length = wire.path.getTotalLength();
    const places = Array.from({ length: SAMPLES + 1 }, (_, i) => wire.path.getPointAtLength((length * i) / SAMPLES));
    wire.places = isReversed ? places.reverse() : places;
  }

  /** Animates steps: their messages move, and their objects light up. */
  show(steps: readonly Step[]): void {
    const now = performance.now();
    const messages = steps.flatMap((step) => messageOf(step) ?? []);
    if (!this.#calm.matches) {
      this.#flights.launch(messages, now);
      // An answer leaves when the question has arrived.
      const answered = messages.filter(({ kind }) => kind === "request" || kind === "rpc");
      const answers = answered.map((one) => ({ ...one, from: one.to, to: one.from }));
      this.#flights.launch(answers, now, now + FLIGHT_MS);
    }
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
      const element = this.#wires.get(key)?.path ?? this.#boxOf(key);
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
    const places = this.#placesOf({ from, to });
    const isHidden = places.length === 0 || now < startMs;
    change(dot, "class", isHidden ? "hidden" : `dot ${isBad ? "bad" : kind}`);
    if (isHidden) return;
    const at = Math.min(1, Math.max(0, (now - startMs) / FLIGHT_MS));
    const { x, y } = placeOn(places, at * at * (3 - 2 * at));
    dot.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    change(dot, "r", (DOT_RADIUS + Math.min(MAX_GROWTH, Math.log2(count))).toFixed(1));
  }

  #isForward(from: string, to: string): boolean {
    return this.#ways.some(([start, end]) => start === from && end === to);
  }
}

/** Between the two nearest places. @param at 0: the start, 1: the end */
function placeOn(places: readonly Place[], at: number): Place {
  const before = Math.min(SAMPLES - 1, Math.floor(at * SAMPLES));
  const [a, b] = [places[before], places[before + 1]];
  if (a === undefined || b === undefined) return { x: 0, y: 0 };
  const share = at * SAMPLES - before;
  return { x: a.x + (b.x - a.x) * share, y: a.y + (b.y - a.y) * share };
}

function change(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/** Without the address, which the step's sentence has. */
function streamName(event: TraceEvent): string {
  return event.kind === "decision" ? event.what.replace(/(?: to)? https?:.*/, "") : "";
}

/** The same in both directions. */
function wayName(from: string, to: string): string {
  return from < to ? `${from}|${to}` : `${to}|${from}`;
}
