import { readKeys } from "../../cli/terminal-keys.js";
import type { ProcessStreams, ProgressReporter } from "../../testbed/context.js";
import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import { type StatusTable, statusLines } from "./status-table.js";

/** One key of an inspector, and its action. */
export interface InspectorKey {
  readonly key: string;
  /** `delete the mirror pod of the newest file` */
  readonly label: string;
  /** for the line of keys: `mirror` */
  readonly short: string;
  /** @returns what was done, as a sentence; undefined when the action has reported it @throws LabError */
  run(signal: AbortSignal): Promise<string | undefined>;
}

/** What reading keys needs of a command. */
export interface KeyDeps {
  readonly trace: Trace;
  readonly stdin: ProcessStreams["stdin"];
  readonly progress: ProgressReporter;
  /** shown above the line of keys */
  readonly status?: (() => StatusTable) | undefined;
}

/**
 * Performs the actions of keys until `q`, Ctrl-C, the end of the input or `signal`. The last line of the terminal names the
 * keys; an unknown key shows their table.
 * @throws AbortError for Ctrl-C
 */
export async function serveKeyTable(
  deps: KeyDeps & { readonly keys: readonly InspectorKey[] },
  signal: AbortSignal,
): Promise<void> {
  const { keys, trace, stdin, status } = deps;
  showKeys(keys, trace);
  const press = async (pressed: string) => {
    const found = keys.find(({ key }) => key === pressed);
    if (found === undefined) {
      showKeys(keys, trace);
      return;
    }
    try {
      const did = await found.run(signal);
      if (did !== undefined) trace.emit({ kind: "note", text: did }, { actor: "user" });
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      trace.emit({ kind: "error", message: error.message, hint: error.hint }, { actor: "user" });
    }
  };
  using _line = deps.progress.progress((columns) => withStatus(status, columns, keyLine(keys, columns)));
  await readKeys(stdin, press, signal);
}

/** The lines at the bottom of the terminal: the status table and the keys. */
export function withStatus(status: (() => StatusTable) | undefined, columns: number, keys: string): string {
  const lines = status === undefined ? [] : statusLines(status(), columns);
  return lines.length === 0 ? keys : [...lines, `  ${keys}`].join("\n");
}

/**
 * All keys in one line: with their actions if there is room, else the letters alone, else how to see them. Pure.
 * @param head what the keys act on; left out if there is no room
 */
export function keyLine(keys: readonly Pick<InspectorKey, "key" | "short">[], columns: number, head = ""): string {
  const actions = [...keys.map(({ key, short }) => `${key} ${short}`), "q quit"].join("  ");
  const letters = `${keys.map(({ key }) => key).join(" ")}  ? help  q quit`;
  const lines = [`${head}${actions}`, `${head}${letters}`, letters, "? help  q quit"];
  return lines.find((line) => line.length <= columns) ?? "q quit";
}

function showKeys(keys: readonly InspectorKey[], trace: Trace): void {
  const rows = keys.map(({ key, label }) => [key, label]);
  trace.emit({ kind: "table", title: "Keys (q ends):", columns: ["key", "what"], rows }, { actor: "user" });
}
