import type { Step } from "../step.js";
import { Scene } from "./scene.js";

/** Cluster and chapters as they were after any step. Going forward reads only the steps between. */
export class Moment {
  #scene = new Scene();
  #steps: readonly Step[] | undefined;
  #last: Step | undefined;

  /** @param count of the steps that have happened */
  after(steps: readonly Step[], count: number): Scene {
    const at = this.#scene.count;
    // A late fact can belong between those that were read.
    if (steps !== this.#steps || count < at || (at > 0 && steps[at - 1] !== this.#last)) this.#scene = new Scene();
    this.#steps = steps;
    for (let i = this.#scene.count; i < count; i++) {
      const step = steps[i];
      if (step !== undefined) this.#scene.add(step.event, step.bodies);
    }
    this.#last = steps[count - 1];
    return this.#scene;
  }
}
