import type { Ora } from "ora";
import type { ProcessStreams, Progress } from "../testbed/context.js";

/**
 * The one place that owns the last line of stderr: trace lines go above the spinner, the spinner stays below.
 */
export class ProgressLine {
  #spinner: Ora | undefined;
  #text = "";
  #active = 0;

  constructor(
    readonly stream: ProcessStreams["stderr"],
    readonly enabled: boolean,
  ) {}

  /** Writes a trace line without tearing the spinner apart. */
  write(text: string): void {
    this.#spinner?.clear();
    this.stream.write(text);
    this.#spinner?.render();
  }

  start(text: string): Progress {
    this.#text = text;
    this.#active++;
    if (this.enabled) void this.#show();
    let stopped = false;
    return {
      update: (next) => {
        this.#text = next;
        if (this.#spinner !== undefined) this.#spinner.text = next;
      },
      stop: () => {
        if (stopped) return;
        stopped = true;
        this.#active--;
        if (this.#active === 0) this.clear();
      },
    };
  }

  /** Takes the spinner away and gives the cursor back; safe to call at any time. */
  clear(): void {
    this.#spinner?.stop();
    this.#spinner = undefined;
  }

  async #show(): Promise<void> {
    const { default: ora } = await import("ora");
    if (this.#active === 0 || this.#spinner !== undefined) return;
    this.#spinner = ora({ text: this.#text, stream: this.stream, discardStdin: false }).start();
  }
}
