import { linkHorizontal, linkVertical } from "d3-shape";

/** A rectangle, in CSS pixels. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/**
 * The curve from one box to another, between the sides that face each other: an SVG path.
 * @param isStacked prefers boxes below each other to boxes side by side
 */
export function wireBetween(from: Box, to: Box, isStacked: boolean): string {
  const hasGap = (start: number, size: number, other: number, otherSize: number) =>
    other >= start + size || start >= other + otherSize;
  const isBeside = isStacked
    ? !hasGap(from.top, from.height, to.top, to.height)
    : hasGap(from.left, from.width, to.left, to.width);
  const link = isBeside ? linkHorizontal() : linkVertical();
  const sides = isBeside
    ? sidesOf(from.left, from.width, to.left, to.width)
    : sidesOf(from.top, from.height, to.top, to.height);
  const [start, end] = sides;
  const middle = (box: Box) => (isBeside ? box.top + box.height / 2 : box.left + box.width / 2);
  const point = (along: number, box: Box): [number, number] => (isBeside ? [along, middle(box)] : [middle(box), along]);
  return link({ source: point(start, from), target: point(end, to) }) ?? "";
}

/** The ends of two ranges that are next to each other. */
function sidesOf(from: number, fromSize: number, to: number, toSize: number): [number, number] {
  return to >= from ? [from + fromSize, to] : [from, to + toSize];
}
