import type { LabMessage } from "../../../lab/labs/session/message.js";
import type { LearnContext } from "../context.js";
import type { LabRenderer } from "./render.js";
import { WaitingLine, type WaitKeys } from "./waiting.js";

/** Prints a lab's messages on one stream. A wait is a line on stderr that disappears before the next message. */
export class LabReporter {
  readonly #renderer: LabRenderer;
  readonly #waiting: WaitingLine;

  /** @param hasKeys whether a key shows the whole trace */
  constructor(env: LearnContext, stream: "stdout" | "stderr", hasKeys = false) {
    this.#renderer = env.renderer(stream, hasKeys);
    this.#waiting = new WaitingLine(env);
  }

  /** Names the keys that work during a wait, for a terminal. */
  set keys(keys: WaitKeys) {
    this.#waiting.keys = keys;
  }

  tell(message: LabMessage): void {
    if (message.kind === "waiting") this.#waiting.update(message);
    else if (message.kind === "waited") this.stop();
    else {
      this.stop();
      this.#renderer.write(message);
    }
  }

  /** Removes the line of a wait. Safe to call twice. */
  stop(): void {
    this.#waiting.stop();
  }
}
