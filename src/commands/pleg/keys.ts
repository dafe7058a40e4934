import { readKeys } from "../../cli/terminal-keys.js";
import type { Pleg } from "../../testbed/pleg/pleg.js";
import type { LabAction, LabRuntime, LabTarget } from "../../testbed/runtime/lab-runtime.js";
import type { Trace } from "../../trace/trace.js";
import { SystemClock } from "../../util/clock.js";
import { allUntilOneEnds, untilAborted, waitAtMost } from "../../util/concurrency.js";
import { LabError } from "../../util/errors.js";
import { type KeyDeps, keyLine, withStatus } from "../inspector/key-table.js";
import type { StatusTable } from "../inspector/status-table.js";
import { KeyNumbers } from "./key-numbers.js";
import { pageState } from "./page/state.js";

const ID_LENGTH = 10;
const TAB = "\t";
const FOLLOW_MS = 250;

/**
 * Reads keys until `q`, Ctrl-C, the end of the input or `signal`: digits select a container or sandbox, letters act on it.
 * @throws AbortError for Ctrl-C
 */
export async function serveKeys(
  deps: KeyDeps & { readonly lab: LabRuntime; readonly pleg?: Pleg },
  signal: AbortSignal,
): Promise<void> {
  const { lab, pleg, trace, progress } = deps;
  const keys = new Keyboard(lab, trace);
  await keys.look();
  keys.showHelp();
  let known = await comparison(pleg, lab);
  using _line = progress.progress((columns) => withStatus(() => known, columns, keys.line(columns)));
  const follow = async (inner: AbortSignal) => {
    while (!inner.aborted) {
      await waitAtMost(new SystemClock(), FOLLOW_MS, untilAborted(inner));
      known = await comparison(pleg, lab);
    }
  };
  const press = async (key: string) => {
    await keys.press(key);
    known = await comparison(pleg, lab);
  };
  await allUntilOneEnds(signal, [follow, (inner) => readKeys(deps.stdin, press, inner)]);
}

/** What the runtime has, and what PLEG knows of it; nothing without a PLEG. */
async function comparison(pleg: Pleg | undefined, lab: LabRuntime): Promise<StatusTable> {
  if (pleg === undefined) return { title: "", columns: [], rows: [] };
  const { pods } = await pageState(pleg, "", lab);
  const rows = pods.flatMap(({ name, entries }) =>
    entries.map((entry) => {
      const pod = name.replace(/^.*\//, "");
      return [`${pod} ${entry.name} ${entry.id.slice(0, ID_LENGTH)}`, entry.actual ?? "", entry.known];
    }),
  );
  return { title: "", columns: ["container", "runtime has", "PLEG knows"], rows };
}

/** Interprets keys. */
class Keyboard {
  readonly #numbers = new KeyNumbers<LabTarget>();
  #chosenId: string | undefined;
  /** the runtime's containers and sandboxes when `look` was last called */
  #targets: readonly LabTarget[] = [];

  constructor(
    readonly lab: LabRuntime,
    readonly trace: Trace,
  ) {}

  async look(): Promise<void> {
    this.#targets = await this.lab.targets();
  }

  /** The selection, and the keys of actions on it. */
  line(columns: number): string {
    const chosen = this.#chosen();
    const head = chosen === undefined ? "" : `${chosen.name}: `;
    const keys = this.lab.actions.filter(({ on }) => on === chosen?.kind);
    return keyLine(keys, columns, head);
  }

  /** Performs a key's action; an unknown key shows the help. */
  async press(key: string): Promise<void> {
    await this.look();
    if (/^[1-9]$/.test(key)) {
      this.#chooseNumber(key);
      return;
    }
    if (key === TAB) {
      this.#chooseNext();
      return;
    }
    const chosen = this.#chosen();
    const meant = this.lab.actions.filter((one) => one.key === key);
    // A letter can have different meanings for containers and sandboxes.
    const action = meant.find(({ on }) => on === "runtime" || on === chosen?.kind) ?? meant[0];
    if (action === undefined) this.showHelp();
    else await this.#do(action, chosen);
  }

  async #do(action: LabAction, chosen: LabTarget | undefined): Promise<void> {
    const target = this.#targetOf(action, chosen);
    if (action.on !== "runtime" && target === undefined) {
      const isNow = chosen === undefined ? "nothing is chosen" : `${labelOf(chosen)} is chosen`;
      this.#complain(
        `${action.key} is for a ${action.on}, and ${isNow}`,
        "Choose by a number; any other key shows them.",
      );
      return;
    }
    try {
      const did = await this.lab.act(action.id, target?.id);
      this.#say(did);
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      this.#complain(error.message, error.hint);
    }
    await this.look();
    for (const made of this.#numbers.assign(this.#targets))
      this.#say(`${this.#numbers.digitOf(made.id)} chooses ${labelOf(made)}`);
  }

  /** The current state of the selection; undefined: it is gone, or nothing was selected. */
  #chosen(): LabTarget | undefined {
    this.#chosenId ??= this.#targets.find(({ kind }) => kind === "container")?.id;
    return this.#targets.find(({ id }) => id === this.#chosenId);
  }

  /** An action on a sandbox applies to the sandbox of the selected container. */
  #targetOf({ on }: LabAction, chosen: LabTarget | undefined): LabTarget | undefined {
    if (on === chosen?.kind) return chosen;
    if (on !== "sandbox" || chosen === undefined) return undefined;
    return this.#targets.find(({ id }) => id === chosen.sandboxId);
  }

  #chooseNumber(digit: string): void {
    const meant = this.#numbers.thingOf(digit);
    if (meant === undefined) this.showHelp();
    else if (this.#targets.some(({ id }) => id === meant.id)) this.#choose(meant);
    else this.#complain(`${digit} was ${labelOf(meant)}, which is gone`, "Any other key shows what there is.");
  }

  /** Selects the next target, including those without a digit. */
  #chooseNext(): void {
    const targets = this.#targets;
    const at = targets.findIndex(({ id }) => id === this.#chosen()?.id);
    const next = targets[(at + 1) % Math.max(1, targets.length)];
    if (next === undefined) this.showHelp();
    else this.#choose(next);
  }

  #choose(target: LabTarget): void {
    this.#chosenId = target.id;
    this.#say(`keys now act on ${labelOf(target)}`);
  }

  showHelp(): void {
    const targets = this.#targets;
    this.#numbers.assign(targets);
    const chosen = this.#chosen();
    const all = targets.map((target) => [
      this.#numbers.digitOf(target.id) ?? "",
      `${target.id === chosen?.id ? "*" : " "} ${labelOf(target)}`,
      target.state,
    ]);
    const rows = all.filter(([digit]) => digit !== "");
    const beyond = all.length - rows.length;
    if (beyond > 0) rows.push(["Tab", `  the next one, of these and ${beyond} more`, ""]);
    const actions = this.lab.actions.map(({ key, label, on }) => [key, on, label]);
    this.trace.emit(
      {
        kind: "table",
        title: "What keys do (q ends, any other shows this):",
        columns: ["key", "to", "what"],
        rows: actions,
      },
      { actor: "user" },
    );
    if (rows.length === 0) {
      this.#say("there are no containers or sandboxes yet");
      return;
    }
    // Targets come last because they change, and a screen of 24 lines may not show both tables.
    this.trace.emit(
      { kind: "table", title: "What they act on (* now):", columns: ["key", "what", "state"], rows },
      { actor: "user" },
    );
  }

  #say(text: string): void {
    this.trace.emit({ kind: "note", text }, { actor: "user" });
  }

  #complain(message: string, hint: string): void {
    this.trace.emit({ kind: "error", message, hint }, { actor: "user" });
  }
}

/** Leaves out the namespace, which is the same for all, so that a row fits 80 columns. */
function labelOf({ pod, name, id }: LabTarget): string {
  return `${pod.replace(/^.*\//, "")} ${name} ${id.slice(0, ID_LENGTH)}`;
}
