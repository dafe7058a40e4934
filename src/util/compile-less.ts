import { setFlagsFromString } from "node:v8";

/** The bytecode size that V8 may inline into one optimised function; the default is 920. */
const MOST_INLINED = 200;
/** The bytecode that a function executes before V8 11 considers optimising it; the default is 132 KB. */
const BYTES_BEFORE_A_LOOK = 300_000;

/**
 * Lets V8's optimiser put fewer functions into one another, and take up a function half as soon. It runs in threads of its
 * own, and for a process that lives for seconds on two cores, one of which a peer needs, its work is most of what is done.
 *
 * Of the first relist of 1,000 pods, CPU of V8's threads beside the main one: 0.40 s without either, 0.19 s with less put
 * together, 0.06 s with both, and the main thread takes no longer. In the long run the code is as fast: a function that
 * matters has run so many bytes after a millisecond or two.
 *
 * V8 12 (Node 22) has a cheap compiler between the interpreter and the optimiser, counts calls, and does not know the budget.
 */
export function compileLess(): void {
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${MOST_INLINED}`);
  if (Number.parseInt(process.versions.v8, 10) < 12) setFlagsFromString(`--interrupt-budget=${BYTES_BEFORE_A_LOOK}`);
}
