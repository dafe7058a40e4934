import type { ProcessStreams } from "../../testbed/context.js";
import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import { readKeys } from "./terminal-keys.js";

/** One key of an inspector, and what it does. */
export interface InspectorKey {
  readonly key: string;
  /** `delete the mirror pod of the newest file` */
  readonly label: string;
  /** @returns what was done, as a sentence; undefined: it has told so itself @throws LabError */
  run(signal: AbortSignal): Promise<string | undefined>;
}

/**
 * Does what keys stand for until `q`, Ctrl-C, the end of the input or `signal`; a key that stands for nothing shows them all.
 * @throws AbortError for Ctrl-C
 */
export async function serveKeyTable(
  deps: { readonly keys: readonly InspectorKey[]; readonly trace: Trace; readonly stdin: ProcessStreams["stdin"] },
  signal: AbortSignal,
): Promise<void> {
  const { keys, trace, stdin } = deps;
  tellKeys(keys, trace);
  const press = async (pressed: string) => {
    const found = keys.find(({ key }) => key === pressed);
    if (found === undefined) {
      tellKeys(keys, trace);
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
  await readKeys(stdin, press, signal);
}

function tellKeys(keys: readonly InspectorKey[], trace: Trace): void {
  const rows = keys.map(({ key, label }) => [key, label]);
  trace.emit({ kind: "table", title: "Keys (q ends):", columns: ["key", "what"], rows }, { actor: "user" });
}
