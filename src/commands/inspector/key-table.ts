import type { ProcessStreams, ProgressReporter } from "../../testbed/context.js";
import { runInScope, type Scope } from "../../trace/scope.js";
import { KEY_LEVEL } from "../../trace/story/roles.js";
import type { Trace } from "../../trace/trace.js";
import { asItIs } from "../../trace/translated.js";
import type { LiveKey } from "../../trace/ui/live-protocol.js";
import { Mutex } from "../../util/async/mutex.js";
import { LabError } from "../../util/errors.js";
import type { Say } from "../../util/i18n/sentences.js";
import { textWidth } from "../../util/text/text-width.js";
import { readKeys } from "../cli/terminal-keys.js";
import { type StatusTable, statusLines } from "./status-table.js";

/** One key of an inspector, and its action. */
export interface InspectorKey {
  readonly key: string;
  /** `delete the mirror pod of the newest file` */
  readonly label: string;
  /** for the line of keys: `mirror` */
  readonly short: string;
  /** whether the action has a target now; default: always */
  isPossible?(): boolean;
  /** @returns a sentence about what was done; undefined if the action has reported it @throws LabError */
  run(signal: AbortSignal): Promise<string | undefined>;
}

/** Runs a key's action: the key is the cause of all that follows. */
export function asAction<T>(trace: Trace, title: string, run: () => T): T {
  const { id } = trace.emit({ kind: "step", title }, { actor: "user", level: KEY_LEVEL });
  return trace.because({ causedBy: id }, run);
}

/** Performs a key's action, and reports what it did, or why it failed. */
export async function runKey(trace: Trace, key: InspectorKey, signal: AbortSignal): Promise<void> {
  try {
    await asAction(trace, key.label, async () => {
      const did = await key.run(signal);
      if (did !== undefined) trace.emit({ kind: "note", text: did }, { actor: "user" });
    });
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    trace.emit({ kind: "error", message: error.message, hint: error.hint }, { actor: "user" });
  }
}

export function keyButtons(keys: readonly InspectorKey[]): LiveKey[] {
  return keys.map(({ key, short, label, isPossible }) => ({ key, short, label, enabled: isPossible?.() ?? true }));
}

/** The parts of a command that reading keys needs. */
export interface KeyDeps {
  readonly stdin: ProcessStreams["stdin"];
  readonly progress: ProgressReporter & { readonly say?: Say | undefined };
  /** shown above the line of keys */
  readonly status?: (() => StatusTable) | undefined;
}

/** The keys of an inspector, for its terminal and its live page. Keys pressed at both take effect one after the other. */
export class InspectorKeys {
  readonly #turns = new Mutex();
  readonly #scope: Scope | undefined;

  /** Created in the scope for the facts of keys, because a request of the page has no scope. */
  constructor(
    readonly keys: readonly InspectorKey[],
    readonly trace: Trace,
  ) {
    this.#scope = trace.keepScope().scope;
  }

  /** Performs a key's action and reports what it did; an unknown key shows the table of keys. */
  press(pressed: string, signal: AbortSignal): Promise<void> {
    return this.#turns.run(() => runInScope(this.#scope, () => this.#press(pressed, signal)));
  }

  async #press(pressed: string, signal: AbortSignal): Promise<void> {
    const found = this.keys.find(({ key }) => key === pressed);
    if (found === undefined) return this.show();
    await runKey(this.trace, found, signal);
  }

  /** Reports the table of keys. */
  show(): void {
    const rows = this.keys.map(({ key, label }) => [key, label]);
    this.trace.emit(
      { kind: "table", title: "Keys (q ends):", columns: ["press", "what it does"], rows },
      { actor: "user" },
    );
  }

  /** The keys as buttons. */
  get buttons(): LiveKey[] {
    return keyButtons(this.keys);
  }
}

/**
 * Performs the actions of keys until `q`, Ctrl-C, the end of the input or `signal`. The last line of the terminal names the
 * keys; an unknown key shows their table.
 * @throws AbortError for Ctrl-C
 */
export async function serveKeyTable(
  { keys, stdin, status, progress }: KeyDeps & { readonly keys: InspectorKeys },
  signal: AbortSignal,
): Promise<void> {
  keys.show();
  const { say = asItIs } = progress;
  const shown = status && (() => tableIn(say, status()));
  using _line = progress.progress((columns) => withStatus(shown, columns, keyLine(keys.keys, columns, "", say)));
  await readKeys(stdin, (pressed) => keys.press(pressed, signal), signal);
}

/** The lines at the bottom of the terminal: the status table and the keys. */
export function withStatus(status: (() => StatusTable) | undefined, columns: number, keys: string): string {
  const lines = status === undefined ? [] : statusLines(status(), columns);
  return lines.length === 0 ? keys : [...lines, `  ${keys}`].join("\n");
}

/**
 * All keys in one line: with the actions of as many of the first ones as there is room for, else only the letters, else a hint how to list
 * them. Pure.
 * @param head the target of the keys; left out if there is no room
 */
export function keyLine(
  keys: readonly Pick<InspectorKey, "key" | "short">[],
  columns: number,
  head = "",
  say: Say = asItIs,
): string {
  // The same word means something else in a fact.
  const word = (short: string) => say(`key: ${short}`).replace(/^key: /, "");
  const [help, quit] = [`? ${word("help")}`, `q ${word("quit")}`];
  const actions = keys.map(({ key, short }) => `${key} ${word(short)}`);
  const letters = (from: number) => keys.slice(from).map(({ key }) => key);
  const shortened = actions.map((_, i) => {
    const named = keys.length - 1 - i;
    return [...actions.slice(0, named), letters(named).join(" "), help, quit].join("  ");
  });
  const lines = [[...actions, quit].join("  "), ...shortened].map((line) => head + line);
  lines.push(shortened.at(-1) ?? quit, `${help}  ${quit}`);
  return lines.find((line) => textWidth(line) <= columns) ?? quit;
}

/** A status table in another language; a cell of one word is a name. */
export function tableIn(say: Say, { title, columns, rows, ...others }: StatusTable): StatusTable {
  const inCells = (row: readonly string[]) => row.map((cell) => (cell.includes(" ") ? say(cell) : cell));
  return { ...others, title: say(title), columns: columns.map(say), rows: rows.map(inCells) };
}
