import { linkHorizontal, linkVertical } from "d3-shape";

/** A rectangle, in CSS pixels. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The curve from one box to another, between the sides that face each other: an SVG path. */
export function wireBetween(from: Box, to: Box): string {
  const isBeside = to.left >= from.left + from.width || from.left >= to.left + to.width;
  const link = isBeside ? linkHorizontal() : linkVertical();
  const [start, end] = isBeside
    ? sidesOf(from.left, from.width, to.left, to.width)
    : sidesOf(from.top, from.height, to.top, to.height);
  const middle = (box: Box) => (isBeside ? box.top + box.height / 2 : box.left + box.width / 2);
  const point = (along: number, box: Box): [number, number] => (isBeside ? [along, middle(box)] : [middle(box), along]);
  return link({ source: point(start, from), target: point(end, to) }) ?? "";
}

/**
 * The way from a box to one in a frame that is behind others: down a gutter, along the gap above the frame, and in from its left.
 * @param gutter where the way goes up or down
 */
export function wireAround(from: Box, to: Box, frame: Box, gutter: number): string {
  const [start, end] = [from.top + from.height / 2, to.top + to.height / 2];
  return `M${from.left + from.width} ${start}H${gutter}V${frame.top - 7}H${frame.left - 7}V${end}H${to.left}`;
}

/** The ends of two ranges that are next to each other. */
function sidesOf(from: number, fromSize: number, to: number, toSize: number): [number, number] {
  return to >= from ? [from + fromSize, to] : [from, to + toSize];
}
