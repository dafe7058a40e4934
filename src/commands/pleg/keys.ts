import type { Pleg } from "../../testbed/pleg/pleg.js";
import type { LabAction, LabRuntime, LabTarget } from "../../testbed/runtime/lab-runtime.js";
import { runInScope, type Scope } from "../../trace/scope.js";
import type { Trace } from "../../trace/trace.js";
import { asItIs } from "../../trace/translated.js";
import type { LiveKey } from "../../trace/ui/live-protocol.js";
import { allUntilOneEnds } from "../../util/async/concurrency.js";
import { Mutex } from "../../util/async/mutex.js";
import type { Clock } from "../../util/clock.js";
import { LabError } from "../../util/errors.js";
import type { Say } from "../../util/i18n/sentences.js";
import { readKeys } from "../cli/terminal-keys.js";
import {
  asAction,
  type InspectorKey,
  type KeyDeps,
  keyButtons,
  keyLine,
  runKey,
  tableIn,
  withStatus,
} from "../inspector/key-table.js";
import { plegRecords } from "../inspector/pleg-records.js";
import type { StatusTable } from "../inspector/status-table.js";
import { KeyNumbers } from "./key-numbers.js";

const ID_LENGTH = 10;
/** The input of a terminal, and the action of a page's button. */
const NEXT: ReadonlySet<string> = new Set(["\t", "Tab"]);
const FOLLOW_MS = 250;

/**
 * Reads keys until `q`, Ctrl-C, the end of the input or `signal`: digits select a container or sandbox, letters act on it.
 * @throws AbortError for Ctrl-C
 */
export async function serveKeys(
  deps: Omit<KeyDeps, "status"> & { readonly keys: LabKeys; readonly pleg?: Pleg; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const { keys, pleg, progress, clock } = deps;
  await keys.look();
  keys.showHelp();
  let known = await comparison(pleg, keys.lab);
  const { say = asItIs } = progress;
  using _line = progress.progress((columns) => withStatus(() => tableIn(say, known), columns, keys.line(columns, say)));
  const follow = async (inner: AbortSignal) => {
    while (!inner.aborted) {
      await clock.sleep(FOLLOW_MS, inner).catch(() => undefined);
      known = await comparison(pleg, keys.lab);
    }
  };
  const press = async (key: string) => {
    await keys.press(key);
    known = await comparison(pleg, keys.lab);
  };
  await allUntilOneEnds(signal, [follow, (inner) => readKeys(deps.stdin, press, inner)]);
}

/** The runtime's state and PLEG's records; empty without a PLEG. */
async function comparison(pleg: Pleg | undefined, lab: LabRuntime): Promise<StatusTable> {
  return pleg === undefined ? NO_TABLE : plegRecords(pleg.knownPods(), await lab.targets());
}
const NO_TABLE: StatusTable = { title: "", columns: [], rows: [] };

/** The keys of a runtime, for the terminal and the live page. Keys pressed at both take effect one after the other. */
export class LabKeys {
  readonly #numbers = new KeyNumbers<LabTarget>();
  readonly #turns = new Mutex();
  readonly #scope: Scope | undefined;
  readonly #causes = new Map<string, string | undefined>();
  #chosenId: string | undefined;
  /** the runtime's containers and sandboxes when `look` was last called */
  #targets: readonly LabTarget[] = [];
  /** the targets whose digits were shown */
  #told: ReadonlySet<string> = new Set();

  /**
   * Created in the scope for the facts of keys, because a request of the page has no scope.
   * @param others keys that act on no target
   */
  constructor(
    readonly lab: LabRuntime,
    readonly trace: Trace,
    readonly others: readonly InspectorKey[] = [],
    readonly signal: AbortSignal = new AbortController().signal,
  ) {
    this.#scope = trace.keepScope().scope;
  }

  /** The key that last changed a container, which PLEG's list does not tell. */
  causeOf(containerId: string): string | undefined {
    return this.#causes.get(containerId);
  }

  async look(): Promise<void> {
    this.#targets = await this.lab.targets();
  }

  /** The selection and its actions' keys. */
  line(columns: number, say?: Say): string {
    const chosen = this.#chosen();
    const head = chosen === undefined ? "" : `${chosen.name}: `;
    const keys = this.lab.actions.filter(({ on }) => on === chosen?.kind);
    return keyLine([...keys, ...this.others], columns, head, say);
  }

  /** The things to select, and the actions on the selection. */
  get buttons(): LiveKey[] {
    this.#numbers.assign(this.#targets);
    const chosen = this.#chosen();
    const targets = this.#targets.flatMap((target): LiveKey[] => {
      const key = this.#numbers.digitOf(target.id);
      const isChosen = target.id === chosen?.id;
      const label = `${isChosen ? "chosen" : "choose"}: ${labelOf(target)}`;
      return key === undefined ? [] : [{ key, short: nameOf(target), label, enabled: !isChosen }];
    });
    const beyond = this.#targets.length - targets.length;
    const next = { key: "Tab", short: "next", label: `choose the next, of these and ${beyond} more`, enabled: true };
    const letters = [...new Set(this.lab.actions.map(({ key }) => key))];
    const actions = letters.flatMap((key): LiveKey[] => {
      const action = this.#actionOf(key, chosen);
      if (action === undefined) return [];
      const enabled = action.on === "runtime" || this.#targetOf(action, chosen) !== undefined;
      return [{ key, short: action.short, label: action.label, enabled }];
    });
    return [
      ...targets.sort((a, b) => (a.key < b.key ? -1 : 1)),
      ...(beyond > 0 ? [next] : []),
      ...actions,
      ...keyButtons(this.others),
    ];
  }

  /** Performs a key's action; an unknown key shows the help. */
  press(key: string): Promise<void> {
    return this.#turns.run(() => runInScope(this.#scope, () => this.#press(key)));
  }

  async #press(key: string): Promise<void> {
    const other = this.others.find((one) => one.key === key);
    if (other !== undefined) return runKey(this.trace, other, this.signal);
    await this.look();
    if (/^[1-9]$/.test(key)) {
      this.#chooseNumber(key);
      return;
    }
    if (NEXT.has(key)) {
      this.#chooseNext();
      return;
    }
    const chosen = this.#chosen();
    const action = this.#actionOf(key, chosen);
    if (action === undefined) this.showHelp();
    else await this.#do(action, chosen);
  }

  /** A letter can have different meanings for containers and sandboxes. */
  #actionOf(key: string, chosen: LabTarget | undefined): LabAction | undefined {
    const meant = this.lab.actions.filter((one) => one.key === key);
    return meant.find(({ on }) => on === "runtime" || on === chosen?.kind) ?? meant[0];
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
      const title = target === undefined ? action.label : `${action.label}: ${labelOf(target)}`;
      await asAction(this.trace, title, async () => {
        if (target !== undefined) this.#causes.set(target.id, this.trace.cause);
        this.#say(await this.lab.act(action.id, target?.id));
      });
    } catch (error) {
      if (!(error instanceof LabError)) throw error;
      this.#complain(error.message, error.hint);
    }
    await this.look();
    this.#numbers.assign(this.#targets);
    // Other targets may have received digits earlier, for the page's buttons.
    const choices = this.#targets.flatMap((target) => {
      const digit = this.#numbers.digitOf(target.id);
      return digit === undefined || this.#told.has(target.id) ? [] : [`${digit} chooses ${labelOf(target)}`];
    });
    if (choices.length > 0) this.#say(choices.join("; "));
    this.#haveTold();
  }

  /** The learner has now seen all digits. */
  #haveTold(): void {
    this.#told = new Set(this.#targets.map(({ id }) => id));
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
    this.#haveTold();
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
    actions.push(...this.others.map(({ key, label }) => [key, "time", label]));
    this.trace.emit(
      {
        kind: "table",
        title: "What keys do (q ends, any other shows this):",
        columns: ["press", "acts on", "what it does"],
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
      { kind: "table", title: "What they act on (* now):", columns: ["press", "part", "state"], rows },
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

function labelOf(target: LabTarget): string {
  return `${nameOf(target)} ${target.id.slice(0, ID_LENGTH)}`;
}

/** Leaves out the namespace, which is the same for all, so that a row fits 80 columns. */
function nameOf({ pod, name }: LabTarget): string {
  return `${pod.replace(/^.*\//, "")} ${name}`;
}
