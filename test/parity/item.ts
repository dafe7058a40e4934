/** One exchange or note of a recording, after the normaliser. */
export interface Item {
  readonly name: string;
  readonly [field: string]: unknown;
}
