/** Where there is no terminal, lines are as wide as the narrowest one we promise to be readable on. */
const PLAIN_WIDTH = 80;

/** Columns of a stream. A terminal that nobody has given a size says 0. */
export function columnsOf({ columns }: { readonly columns?: number }): number {
  return columns || PLAIN_WIDTH;
}
