import type { TraceEvent } from "../../events.js";
import { lineOf } from "../../formats/name.js";
import { english } from "./language.js";
import type { Step } from "./step.js";
import { outcomeOf } from "./words.js";

/** A periodic activity, such as the renewal of a Lease: its first occurrence represents all. */
export interface Repeat {
  /** the origin of the first occurrence */
  readonly first: Step;
  /** the origins of the other occurrences */
  readonly others: Step[];
}

/** A tree of facts that a timer began. */
interface Tree {
  readonly root: Step;
  /** the number of the root, once it is needed */
  beginning: number | undefined;
  /** whose numbers are not in `happened` yet: most trees are never compared */
  unread: Step[];
  /** numbers of what happened */
  readonly happened: Set<number>;
  /** Something changed, or something happened that is not shown as a repeat. */
  isTelling: boolean;
}

/** Facts that wait for their cause: a request is reported when it ends, after what it caused. */
const MAX_WAITING = 2000;
/** The limit of different trees with the same beginning; more are not folded. */
const MAX_VARIANTS = 30;
/** A number, a time or a random name: not the number at the end of a name. */
const VARIABLE = /(^|[^\w-])(?:\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{12,}|\d+(?:\.\d+)?(?:ms|s|m|h)?)(?![\w-])/g;

/**
 * Finds repeats: trees that a timer began and in which only the same facts happened as in another one. A change of
 * state is never a repeat, unless it is reported as one (`every`).
 */
export class Repeats {
  readonly #trees = new Map<Step, Tree>();
  /** the root of a step's tree, or a step that is nearer to it */
  readonly #above = new Map<Step, Step>();
  readonly #numbers = new Map<string, number>();
  #waiting: Step[] = [];

  /** @param causeOf finds a step's cause, if it was reported */
  constructor(readonly causeOf: (step: Step) => Step | undefined) {}

  /** The steps are read when repeats are looked for. */
  add(steps: readonly Step[]): void {
    for (const step of steps) this.#waiting.push(step);
  }

  #settle(): void {
    const waiting: Step[] = [];
    for (const step of this.#waiting) {
      const cause = this.causeOf(step);
      if (cause !== undefined) this.#join(step, this.rootOf(cause));
      else if (!this.#trees.has(step)) this.#begin(step);
      if (cause === undefined && step.event.causedBy !== undefined) waiting.push(step);
    }
    for (const step of waiting.splice(0, waiting.length - MAX_WAITING)) this.#trees.delete(step);
    this.#waiting = waiting;
  }

  /** The first step of a step's chain, as `find` knew it. */
  rootOf(step: Step): Step {
    let root = step;
    for (let above = this.#above.get(root); above !== undefined; above = this.#above.get(root)) root = above;
    // Shortens the next search.
    for (let at = step; at !== root; ) {
      const above = this.#above.get(at) ?? root;
      this.#above.set(at, root);
      at = above;
    }
    return root;
  }

  /** The repeats, by the first step of each occurrence. */
  find(): ReadonlyMap<Step, Repeat> {
    this.#settle();
    const variants = new Map<number, { readonly tree: Tree; readonly repeat: Repeat }[]>();
    const found = new Map<Step, Repeat>();
    for (const tree of this.#trees.values()) {
      const { root, isTelling } = tree;
      if (root.event.origin !== "timer" || isTelling) continue;
      tree.beginning ??= this.#numberOf(root);
      const known = variants.get(tree.beginning) ?? [];
      if (known.length === 0) variants.set(tree.beginning, known);
      const same = known.find((one) => isPartOf(this.#read(tree), this.#read(one.tree)));
      if (same === undefined) {
        if (known.length < MAX_VARIANTS) known.push({ tree, repeat: { first: root, others: [] } });
        continue;
      }
      same.repeat.others.push(root);
      found.set(same.repeat.first, same.repeat).set(root, same.repeat);
    }
    return found;
  }

  /** Only steps that a timer began, or that wait for their cause, can be a repeat. */
  #begin(step: Step): void {
    const { origin, causedBy } = step.event;
    if (origin !== "timer" && causedBy === undefined) return;
    const tree = { root: step, beginning: undefined, unread: [step], happened: new Set<number>() };
    this.#trees.set(step, { ...tree, isTelling: isTelling(step.event) });
  }

  #join(step: Step, root: Step): void {
    // A damaged trace can have a cycle of causes.
    if (root === step) return;
    this.#above.set(step, root);
    const own = this.#trees.get(step);
    this.#trees.delete(step);
    const tree = this.#trees.get(root);
    if (tree === undefined) return;
    tree.isTelling ||= own?.isTelling ?? isTelling(step.event);
    if (own === undefined) tree.unread.push(step);
    for (const one of own?.unread ?? []) tree.unread.push(one);
    for (const number of own?.happened ?? []) tree.happened.add(number);
  }

  #read(tree: Tree): ReadonlySet<number> {
    for (const step of tree.unread) tree.happened.add(this.#numberOf(step));
    tree.unread = [];
    return tree.happened;
  }

  /** The same text for facts that look the same. */
  #numberOf({ event, lane }: Step): number {
    const words = whatHappened(event).replace(VARIABLE, "$1#");
    const key = `${lane.key} ${event.pod ?? ""} ${event.kind} ${outcomeOf(event) ?? ""} ${words}`;
    const number = this.#numbers.get(key) ?? this.#numbers.size;
    this.#numbers.set(key, number);
    return number;
  }
}

function isPartOf(some: ReadonlySet<number>, all: ReadonlySet<number>): boolean {
  for (const one of some) if (!all.has(one)) return false;
  return true;
}

/** Whether a fact reports a change. */
function isTelling(event: TraceEvent): boolean {
  if (event.kind !== "state" || event.every !== undefined) return false;
  // A write belongs to a request, and the requests are compared.
  return event.version === undefined || english(event.what) !== "stored";
}

/** The step's text without what differs between occurrences. */
function whatHappened(event: TraceEvent): string {
  switch (event.kind) {
    case "request":
      return `${event.method} ${event.path.split("?", 1)[0]}`;
    case "state":
      return `${event.subject} ${event.what}`;
    case "event":
      return `${event.object} ${event.reason}`;
    default:
      return lineOf(event);
  }
}
