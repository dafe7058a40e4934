import type { Ora } from "ora";
import type { ProcessStreams, Progress, ProgressText } from "../../testbed/context.js";
import { SystemClock } from "../../util/clock.js";
import type { Say } from "../../util/i18n/sentences.js";
import type { Timer } from "../../util/timer.js";
import { columnsOf } from "./width.js";

/** The spinner and the space after it. */
const SPINNER_WIDTH = 2;
/** As wide as the spinner: for the lines below the first. */
const MARGIN = "  ";
/** Some terminals wrap at the last column, so it stays free. */
const BESIDE_TEXT = SPINNER_WIDTH + 1;
const POLL_MS = 250;
const ERASE_LINE = "\u001b[2K";
const UP = "\u001b[A";
/** Makes a terminal cut long lines, which it would wrap before the program learns that it became narrower. */
const WRAP_OFF = "\u001b[?7l";
const WRAP_ON = "\u001b[?7h";

export interface ProgressOptions {
  /** false: nothing is shown */
  readonly enabled: boolean;
  /** false: ASCII only */
  readonly unicode: boolean;
  /** the user's language; default: English */
  readonly say?: Say;
}

type TextWidth = typeof import("../../util/text/text-width.js");

/** Owns the last lines of stderr: a spinner, with trace lines above it. It shows the newest of several progress lines. */
export class ProgressLine {
  #spinner: Ora | undefined;
  #widths: TextWidth | undefined;
  readonly #lines: { text: ProgressText }[] = [];
  /** calls the text functions again */
  #polling: Timer | undefined;
  /** the text on the screen */
  #shown = "";
  /** the text after the newest line */
  #aside = "";
  /** a separate line below the others */
  #pinned = "";

  constructor(
    readonly stream: ProcessStreams["stderr"],
    readonly options: ProgressOptions,
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
    void this.show();
    const stop = () => {
      const at = this.#lines.indexOf(line);
      if (at >= 0) this.#lines.splice(at, 1);
      if (this.#lines.length === 0) this.clear();
      else this.#refresh();
    };
    return {
      update: (next) => {
        line.text = next;
        this.#refresh();
      },
      stop,
      [Symbol.dispose]: stop,
    };
  }

  /** Shows a text after the newest line, in place of the former one. */
  showAside(text: string): void {
    this.#aside = text;
    this.#refresh();
  }

  /** Shows a text below each progress line, where it cannot scroll away. */
  pin(text: string): void {
    this.#pinned = text;
    this.#refresh();
  }

  /** Removes the spinner and shows the cursor again. Safe to call twice. */
  clear(): void {
    this.stream.off("resize", this.#resize);
    this.#spinner?.stop();
    this.#spinner = undefined;
    this.#polling?.stop();
  }

  /** Shows the newest line, also again after `clear`. */
  async show(): Promise<void> {
    if (!this.options.enabled || this.#lines.length === 0) return;
    // Loaded on demand, because most commands never wait.
    const [{ default: ora }, widths] = await Promise.all([import("ora"), import("../../util/text/text-width.js")]);
    if (this.#lines.length === 0 || this.#spinner !== undefined) return;
    this.#widths = widths;
    const spinner = this.options.unicode ? "dots" : "line";
    const options = { spinner, stream: this.stream, isEnabled: true, discardStdin: false } as const;
    this.#spinner = ora(options);
    this.#refresh();
    this.#spinner.start();
    this.#poll();
    this.stream.on("resize", this.#resize);
  }

  #poll(): void {
    this.#refresh();
    this.#polling = new SystemClock().timer(POLL_MS, () => this.#poll());
  }

  readonly #refresh = (): void => {
    if (this.#spinner === undefined) return;
    this.#shown = this.#pinned === "" ? this.#text : `${this.#text}\n${MARGIN}${this.#pinned}`;
    this.#spinner.text = `${WRAP_OFF}${this.#shown}${WRAP_ON}`;
  };

  /** A terminal that became narrower has wrapped the old line; the spinner alone would erase only the last of its rows. */
  readonly #resize = (): void => {
    const columns = columnsOf(this.stream);
    const widths = this.#shown.split("\n").map((line) => this.#widths?.textWidth(line) ?? 0);
    const rows = widths.reduce(
      (sum, width, i) => sum + Math.ceil((width + (i === 0 ? SPINNER_WIDTH : 0)) / columns),
      0,
    );
    this.#refresh();
    this.write(`${`${ERASE_LINE}${UP}`.repeat(Math.max(0, rows - 1))}${ERASE_LINE}\r`);
  };

  get #text(): string {
    const newest = this.#lines.at(-1)?.text ?? "";
    const text = typeof newest === "string" ? (this.options.say?.(newest) ?? newest) : newest;
    const columns = Math.max(1, columnsOf(this.stream) - BESIDE_TEXT);
    const aside = this.#aside === "" ? "" : ` ${this.options.unicode ? "·" : "-"} ${this.#aside}`;
    if (typeof text === "string") {
      return this.#widths?.fitted(text + aside, columns, this.options.unicode ? "…" : "...") ?? text + aside;
    }
    const lines = text(columns);
    const last = lines.slice(lines.lastIndexOf("\n") + 1) + aside;
    return (this.#widths?.textWidth(last) ?? last.length) <= columns ? lines + aside : lines;
  }
}
