import type { Ora } from "ora";
import type { ProcessStreams, Progress, ProgressText } from "../testbed/context.js";
import { columnsOf } from "./width.js";

/** The spinner with the space after it, and the last column, at which some terminals wrap. */
const BESIDE_TEXT = 3;

/** Owns the last line of stderr: a spinner, with trace lines above it. Of several progress lines it shows the newest. */
export class ProgressLine {
  #spinner: Ora | undefined;
  readonly #lines: { text: ProgressText }[] = [];

  constructor(
    readonly stream: ProcessStreams["stderr"],
    readonly enabled: boolean,
  ) {}

  /** Writes text above the line. @param stream stdout may be the same terminal */
  write(text: string, stream: NodeJS.WritableStream = this.stream): void {
    this.#spinner?.clear();
    stream.write(text);
    this.#spinner?.render();
  }

  start(text: ProgressText): Progress {
    const line = { text };
    this.#lines.push(line);
    this.#refresh();
    if (this.enabled) void this.#show();
    return {
      update: (next) => {
        line.text = next;
        this.#refresh();
      },
      stop: () => {
        const at = this.#lines.indexOf(line);
        if (at >= 0) this.#lines.splice(at, 1);
        if (this.#lines.length === 0) this.clear();
        else this.#refresh();
      },
    };
  }

  /** Removes the spinner and shows the cursor again. Safe to call twice. */
  clear(): void {
    this.stream.off("resize", this.#refresh);
    this.#spinner?.stop();
    this.#spinner = undefined;
  }

  readonly #refresh = (): void => {
    if (this.#spinner !== undefined) this.#spinner.text = this.#text;
  };

  get #text(): string {
    const text = this.#lines.at(-1)?.text ?? "";
    return typeof text === "string" ? text : text(columnsOf(this.stream) - BESIDE_TEXT);
  }

  async #show(): Promise<void> {
    const { default: ora } = await import("ora");
    if (this.#lines.length === 0 || this.#spinner !== undefined) return;
    this.#spinner = ora({ text: this.#text, stream: this.stream, discardStdin: false }).start();
    this.stream.on("resize", this.#refresh);
  }
}
