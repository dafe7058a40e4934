/** The width without a terminal: the narrowest supported one. */
const PLAIN_WIDTH = 80;

/** Columns of a stream. A terminal without a known size reports 0. */
export function columnsOf({ columns }: { readonly columns?: number }): number {
  return columns || PLAIN_WIDTH;
}
