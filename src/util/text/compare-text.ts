/**
 * Orders texts by their code units, for `sort`. `localeCompare` orders by language, and its first call in a process takes 7 ms.
 */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
