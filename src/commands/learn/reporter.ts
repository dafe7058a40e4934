import type { LabMessage } from "../../labs/message.js";
import type { LearnContext } from "./context.js";
import type { LabRenderer } from "./render.js";
import { WaitingLine, type WaitKeys } from "./waiting.js";

/** Tells on one stream what a lab tells. A wait is a line on stderr, gone as soon as there is something else to tell. */
export class LabReporter {
  readonly #renderer: LabRenderer;
  readonly #waiting: WaitingLine;

  constructor(env: LearnContext, stream: "stdout" | "stderr") {
    this.#renderer = env.renderer(stream);
    this.#waiting = new WaitingLine(env);
  }

  /** Said behind a wait on a terminal: which keys do something. */
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

  /** Nothing is waited for any more. Safe to call twice. */
  stop(): void {
    this.#waiting.stop();
  }
}
