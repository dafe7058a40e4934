import type { Step } from "../step.js";
import { Cluster } from "./cluster.js";

/** The cluster as it was after any step. Going forward reads only the steps between. */
export class Moment {
  #cluster = new Cluster();
  #steps: readonly Step[] | undefined;
  #last: Step | undefined;

  /** @param count of the steps that have happened */
  after(steps: readonly Step[], count: number): Cluster {
    const at = this.#cluster.count;
    // A late fact can belong between those that were read.
    if (steps !== this.#steps || count < at || (at > 0 && steps[at - 1] !== this.#last)) this.#cluster = new Cluster();
    this.#steps = steps;
    for (let i = this.#cluster.count; i < count; i++) {
      const step = steps[i];
      if (step !== undefined) this.#cluster.add(step.event, step.bodies);
    }
    this.#last = steps[count - 1];
    return this.#cluster;
  }
}
