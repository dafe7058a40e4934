import type { Terminal } from "../../process/terminal.js";
import type { Completion } from "./completion.js";
import type { History } from "./history.js";
import { firstKey, type Key } from "./keys.js";

export interface EditorDeps {
  readonly terminal: Terminal;
  readonly history: History;
  /** completes the word before the cursor */
  readonly complete: (before: string) => Completion;
}

/** How a line ended. */
export type EditedLine =
  | { readonly kind: "line"; readonly text: string }
  | { readonly kind: "interrupted" }
  | { readonly kind: "end" };

/** The width of a terminal that did not report its size. */
const DEFAULT_COLUMNS = 80;
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u;

/**
 * Reads one line from a terminal without echo: draws it, moves the cursor, keeps a history. Mirrors busybox's
 * libbb/lineedit.c (read_line_input). Differs: redraws the whole line after a change before its end.
 */
export class LineEditor {
  #characters: string[] = [];
  #cursor = 0;
  #place = 0;
  /** the line before the history was opened */
  #draft = "";
  #completions = 0;

  constructor(readonly deps: EditorDeps) {}

  /** @throws the signal's reason */
  async readLine(prompt: string, signal: AbortSignal): Promise<EditedLine> {
    const { terminal } = this.deps;
    this.#characters = [];
    this.#cursor = 0;
    this.#place = this.deps.history.length;
    const before = terminal.modes;
    terminal.modes = { ...before, isCanonical: false, echoes: false, hasSignals: false };
    try {
      await this.#show(prompt, signal);
      return await this.#edit(prompt, signal);
    } finally {
      terminal.modes = before;
    }
  }

  async #edit(prompt: string, signal: AbortSignal): Promise<EditedLine> {
    const { source } = this.deps.terminal;
    let pending: Buffer = Buffer.alloc(0);
    for (;;) {
      const bytes = await source.read(signal);
      if (bytes === undefined) return { kind: "end" };
      pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes]);
      for (let found = firstKey(pending); found !== undefined; found = firstKey(pending)) {
        pending = pending.subarray(found.length);
        const ended = await this.#press(found.key, prompt, signal);
        if (ended === undefined) continue;
        // Later input is for the next reader.
        if (pending.length > 0) source.unread(pending);
        return ended;
      }
    }
  }

  async #press(key: Key, prompt: string, signal: AbortSignal): Promise<EditedLine | undefined> {
    this.#completions = key.kind === "complete" ? this.#completions + 1 : 0;
    switch (key.kind) {
      case "enter":
        await this.#toEnd(prompt, signal);
        await this.#show("\n", signal);
        return { kind: "line", text: this.#characters.join("") };
      case "interrupt":
        await this.#toEnd(prompt, signal);
        await this.#show("^C\n", signal);
        return { kind: "interrupted" };
      case "end-of-input":
        if (this.#characters.length > 0) return this.#cut(prompt, this.#cursor, this.#cursor + 1, signal);
        await this.#show("\n", signal);
        return { kind: "end" };
      case "text":
        return this.#insert(key.text, prompt, signal);
      case "complete":
        return this.#complete(prompt, signal);
      case "clear":
        await this.#show("\x1b[H\x1b[2J", signal);
        await this.#show(prompt, signal);
        return this.#draw(prompt, this.#column(prompt, 0), signal);
      case "backspace":
        return this.#cut(prompt, this.#cursor - 1, this.#cursor, signal);
      case "delete":
        return this.#cut(prompt, this.#cursor, this.#cursor + 1, signal);
      case "kill-before":
        return this.#cut(prompt, 0, this.#cursor, signal);
      case "kill-after":
        return this.#cut(prompt, this.#cursor, this.#characters.length, signal);
      case "kill-word":
        return this.#cut(
          prompt,
          this.#wordLeft((char) => char !== " "),
          this.#cursor,
          signal,
        );
      case "up":
        return this.#remember(this.#place - 1, prompt, signal);
      case "down":
        return this.#remember(this.#place + 1, prompt, signal);
      case "unknown":
        return undefined;
      default:
        return this.#move(this.#target(key.kind), prompt, signal);
    }
  }

  #target(kind: "left" | "right" | "home" | "end" | "word-left" | "word-right"): number {
    switch (kind) {
      case "left":
        return this.#cursor - 1;
      case "right":
        return this.#cursor + 1;
      case "home":
        return 0;
      case "end":
        return this.#characters.length;
      case "word-left":
        return this.#wordLeft((char) => /\w/.test(char));
      default: {
        let at = this.#cursor;
        while (at < this.#characters.length && !/\w/.test(this.#characters[at] ?? "")) at++;
        while (at < this.#characters.length && /\w/.test(this.#characters[at] ?? "")) at++;
        return at;
      }
    }
  }

  #wordLeft(isWord: (char: string) => boolean): number {
    let at = this.#cursor;
    while (at > 0 && !isWord(this.#characters[at - 1] ?? "")) at--;
    while (at > 0 && isWord(this.#characters[at - 1] ?? "")) at--;
    return at;
  }

  async #insert(text: string, prompt: string, signal: AbortSignal): Promise<undefined> {
    const added = [...text];
    const from = this.#cursor;
    this.#characters.splice(from, 0, ...added);
    this.#cursor += added.length;
    if (this.#cursor < this.#characters.length) return this.#draw(prompt, this.#column(prompt, from), signal);
    await this.#show(text, signal);
    await this.#wrap(prompt, signal);
  }

  async #cut(prompt: string, from: number, to: number, signal: AbortSignal): Promise<undefined> {
    const start = Math.max(0, from);
    const shown = this.#column(prompt, this.#cursor);
    if (to <= start || start >= this.#characters.length) return;
    this.#characters.splice(start, to - start);
    this.#cursor = start;
    await this.#draw(prompt, shown, signal);
  }

  async #move(to: number, prompt: string, signal: AbortSignal): Promise<undefined> {
    const target = Math.min(Math.max(0, to), this.#characters.length);
    const from = this.#column(prompt, this.#cursor);
    this.#cursor = target;
    await this.#show(this.#travel(from, this.#column(prompt, target)), signal);
  }

  async #remember(place: number, prompt: string, signal: AbortSignal): Promise<undefined> {
    const { history } = this.deps;
    if (place < 0 || place > history.length) return;
    if (this.#place === history.length) this.#draft = this.#characters.join("");
    this.#place = place;
    const shown = this.#column(prompt, this.#cursor);
    this.#characters = [...(history.at(place) ?? this.#draft)];
    this.#cursor = this.#characters.length;
    await this.#draw(prompt, shown, signal);
  }

  async #complete(prompt: string, signal: AbortSignal): Promise<undefined> {
    const before = this.#characters.slice(0, this.#cursor).join("");
    const { insert, choices } = this.deps.complete(before);
    if (insert !== "") return this.#insert(insert, prompt, signal);
    if (choices.length < 2 || this.#completions < 2) return;
    await this.#toEnd(prompt, signal);
    await this.#show(`\n${choices.join("  ")}\n${prompt}`, signal);
    await this.#draw(prompt, this.#column(prompt, 0), signal);
  }

  /** Redraws the line. @param shown the cursor's current column, counted from the prompt's beginning */
  async #draw(prompt: string, shown: number, signal: AbortSignal): Promise<undefined> {
    const text = this.#characters.join("");
    const back = this.#travel(shown, this.#column(prompt, 0));
    const end = this.#column(prompt, this.#characters.length);
    const wrap = end % this.#columns === 0 && end > 0 ? " \b" : "";
    const forth = this.#travel(end, this.#column(prompt, this.#cursor));
    await this.#show(`${back}\x1b[J${text}${wrap}${forth}`, signal);
  }

  async #toEnd(prompt: string, signal: AbortSignal): Promise<void> {
    await this.#move(this.#characters.length, prompt, signal);
  }

  /**
   * A terminal stays in the last column until more text follows; a blank moves it to the next line, as busybox does.
   */
  async #wrap(prompt: string, signal: AbortSignal): Promise<void> {
    if (this.#column(prompt, this.#cursor) % this.#columns === 0) await this.#show(" \b", signal);
  }

  get #columns(): number {
    return this.deps.terminal.size.width || DEFAULT_COLUMNS;
  }

  /** The column of a character, counted from the prompt's beginning. */
  #column(prompt: string, index: number): number {
    return widthOf([...prompt]) + widthOf(this.#characters.slice(0, index));
  }

  /** The escape sequences that move the cursor from one column to another, counted from the prompt's beginning. */
  #travel(from: number, to: number): string {
    const columns = this.#columns;
    const rows = Math.floor(to / columns) - Math.floor(from / columns);
    return move(rows, "A", "B") + move((to % columns) - (from % columns), "D", "C");
  }

  async #show(text: string, signal: AbortSignal): Promise<void> {
    if (text !== "") await this.deps.terminal.sink.write(Buffer.from(text), signal);
  }
}

function move(by: number, backwards: string, forwards: string): string {
  if (by === 0) return "";
  if (by === -1 && backwards === "D") return "\b";
  return `\x1b[${Math.abs(by)}${by < 0 ? backwards : forwards}`;
}

function widthOf(characters: readonly string[]): number {
  let width = 0;
  for (const character of characters) width += WIDE.test(character) ? 2 : 1;
  return width;
}
