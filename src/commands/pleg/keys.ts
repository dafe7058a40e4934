import type { CliStreams } from "../../cli/context.js";
import type { Trace } from "../../trace/trace.js";
import { LabError } from "../../util/errors.js";
import { readKeys } from "../window/terminal-keys.js";
import type { LabAction, LabRuntime, LabTarget } from "./lab-runtime.js";

/** Targets are chosen by these, in their order. */
const DIGITS = "123456789";
const ID_LENGTH = 10;

/**
 * Reads keys until `q`, Ctrl-C, the end of the input or `signal`: digits choose a container or sandbox, letters do
 * something to it.
 * @throws AbortError for Ctrl-C
 */
export async function serveKeys(
  deps: { readonly lab: LabRuntime; readonly trace: Trace; readonly stdin: CliStreams["stdin"] },
  signal: AbortSignal,
): Promise<void> {
  const keys = new Keyboard(deps.lab, deps.trace);
  keys.tellHelp();
  await readKeys(deps.stdin, (key) => keys.press(key), signal);
}

/** What keys mean. */
class Keyboard {
  #chosen: string | undefined;

  constructor(
    readonly lab: LabRuntime,
    readonly trace: Trace,
  ) {
    this.#chosen = lab.targets().find(({ kind }) => kind === "container")?.id;
  }

  /** Does what a key stands for; keys that stand for nothing show the help. */
  async press(key: string): Promise<void> {
    const index = key.length === 1 ? DIGITS.indexOf(key) : -1;
    if (index >= 0) {
      this.#choose(this.lab.targets()[index]);
      return;
    }
    const chosen = this.lab.targets().find(({ id }) => id === this.#chosen);
    const meant = this.lab.actions.filter((one) => one.key === key);
    // One letter may mean one thing for a container and another for a sandbox.
    const action = meant.find(({ on }) => on === "runtime" || on === chosen?.kind) ?? meant[0];
    if (action === undefined) {
      this.tellHelp();
      return;
    }
    try {
      const did = await this.lab.act(action.id, this.#targetOf(action, chosen));
      this.trace.emit({ kind: "note", text: did }, { actor: "user" });
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      this.trace.emit({ kind: "error", message: error.message, hint: error.hint }, { actor: "user" });
    }
  }

  /** What is done to a sandbox is done to that of the container that was chosen. */
  #targetOf({ on }: LabAction, chosen: LabTarget | undefined): string | undefined {
    if (on === "runtime") return undefined;
    if (on === "container" || chosen?.kind === "sandbox") return this.#chosen;
    return this.lab.targets().find(({ kind, pod }) => kind === "sandbox" && pod === chosen?.pod)?.id;
  }

  #choose(target: LabTarget | undefined): void {
    if (target === undefined) {
      this.tellHelp();
      return;
    }
    this.#chosen = target.id;
    this.trace.emit({ kind: "note", text: `keys now act on ${labelOf(target)}` }, { actor: "user" });
  }

  tellHelp(): void {
    const targets = this.lab.targets().slice(0, DIGITS.length);
    const rows = targets.map((target, i) => [
      DIGITS[i] ?? "",
      `${target.id === this.#chosen ? "*" : " "} ${labelOf(target)}`,
      target.state,
    ]);
    this.trace.emit(
      { kind: "table", title: "What keys act on (* now):", columns: ["key", "what", "state"], rows },
      { actor: "user" },
    );
    const actions = this.lab.actions.map(({ key, label, on }) => [key, on, label]);
    this.trace.emit(
      { kind: "table", title: "What they do (q ends):", columns: ["key", "to", "what"], rows: actions },
      { actor: "user" },
    );
  }
}

/** Without the namespace, which is the same for all: a row fits 80 columns. */
function labelOf({ pod, name, id }: LabTarget): string {
  return `${pod.replace(/^.*\//, "")} ${name} ${id.slice(0, ID_LENGTH)}`;
}
