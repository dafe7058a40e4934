import { messageOf } from "../../../util/errors.js";
import type { Step, TestCase } from "../task.js";
import { CaseEnded, Fakes } from "./fakes.js";
import type { Got, Wanted, Wrong } from "./messages.js";
import { isPromise, isSame, shown, shownCall } from "./show.js";

/** How the stub begins. */
const NOT_WRITTEN = "not written yet";
/** How V8 begins the message about a write to a frozen value. */
const WRITES_FROZEN =
  /^(?:Cannot (?:assign to read only|add property|delete property|define property|redefine)|.* object is not extensible)/;

/** What a case shows: the calls up to the one that failed; undefined: all is right. */
type CaseResult = (Difference & Pick<Wrong, "calls" | "given">) | undefined;

type Difference = Pick<Wrong, "want" | "got">;

interface CaseDeps {
  /** reports the calls that are about to run, for a process that does not come back */
  readonly at: (calls: readonly string[]) => void;
  /** the learner's code goes on although it was stopped; does not return */
  readonly swallowed: () => never;
  /** the learner's file, to find its line in a stack */
  readonly url: string;
  /** the functions and methods that may give a promise */
  readonly async: readonly string[];
}

type Outcome =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "thrown"; readonly error: unknown }
  /** ended: by a fake; promise: instead of the value */
  | { readonly kind: "ended" }
  | { readonly kind: "promise" };

/** Runs a case, and adds what its fakes answered. */
export async function runCase(name: string, written: unknown, test: TestCase, deps: CaseDeps): Promise<CaseResult> {
  const fakes = new Fakes(test.fakes ?? {}, deps.swallowed);
  const result = await compared(name, written, test, { ...deps, fakes });
  const { tooEarly } = fakes;
  const wrong =
    tooEarly === undefined
      ? result
      : {
          calls: [shownCall(name, test.args)],
          want: shownValue(test.want),
          ...result,
          got: { kind: "too-early", ...tooEarly } as const,
        };
  if (wrong === undefined) return undefined;
  // What came after the call that differs did not lead to it.
  const given = fakes.answersBefore(wrong.want.kind === "call" ? wrong.want.number : Number.POSITIVE_INFINITY);
  return given.length === 0 ? wrong : { ...wrong, given };
}

/** Calls the learner's function, or makes its object and calls that, and compares each result with what the case wants. */
async function compared(
  name: string,
  written: unknown,
  test: TestCase,
  deps: CaseDeps & { readonly fakes: Fakes },
): Promise<CaseResult> {
  const first = shownCall(name, test.args);
  if (typeof written !== "function")
    return { calls: [first], want: shownValue(test.want), got: { kind: "not-exported" } };
  deps.at([first]);
  const { fakes } = deps;
  const isClass = /^class\b/.test(Function.prototype.toString.call(written));
  const make = written as (...args: unknown[]) => unknown;
  const args = fakes.filledIn(test.args);
  const outcome = await outcomeOf(
    () => (isClass ? Reflect.construct(written, args) : make(...args)),
    deps.async.includes(name),
  );
  const wrong = (want: Wanted, got: Got) => ({ calls: [first], want, got });
  if (outcome.kind === "promise") return wrong(wantedOf(test), { kind: "promise" });
  if (test.steps !== undefined) {
    if (outcome.kind !== "value") return wrong({ kind: "value", text: "an object" }, gotOf(outcome, deps.url));
    const result = await new Steps(outcome.value, deps, fakes).run(first, test.steps);
    // The calls say more than the error of one too many.
    if (test.log === undefined || isSame(fakes.log, test.log) || result?.got.kind === "not-written") return result;
    const calls = result?.calls ?? [first, ...test.steps.map((one) => shownCall(one.call, one.args))];
    return { calls, ...callsDiffer(fakes, test.log) };
  }
  if (outcome.kind === "thrown" && test.throws === undefined) return wrong(wantedOf(test), gotOf(outcome, deps.url));
  if (test.throws !== undefined && !throws(outcome, test.throws))
    return wrong(wantedOf(test), gotOf(outcome, deps.url));
  if (test.log !== undefined && !isSame(fakes.log, test.log)) {
    return { calls: [first], ...callsDiffer(fakes, test.log) };
  }
  if ("want" in test && !(outcome.kind === "value" && isSame(outcome.value, test.want))) {
    return wrong(shownValue(test.want), gotOf(outcome, deps.url));
  }
  return undefined;
}

/** The calls of one object, some of which may wait for others. */
class Steps {
  readonly #settled = new Map<string, Outcome>();
  readonly #calls: string[] = [];

  constructor(
    readonly subject: unknown,
    readonly deps: CaseDeps,
    readonly fakes: Fakes,
  ) {}

  async run(first: string, steps: readonly Step[]): Promise<CaseResult> {
    this.#calls.push(first);
    for (const step of steps) {
      const result = await this.#step(step);
      if (result !== undefined) return { calls: this.#calls, ...result };
    }
    return undefined;
  }

  async #step(step: Step): Promise<Difference | undefined> {
    const { call, as, settles = {} } = step;
    this.#calls.push(shownCall(call, step.args));
    this.deps.at(this.#calls);
    const method = (this.subject as Readonly<Record<string, unknown>> | null | undefined)?.[call];
    if (typeof method !== "function") return { want: wantedOf(step), got: { kind: "no-method" } };
    const called = outcomeOf(
      () => Reflect.apply(method, this.subject, this.fakes.filledIn(step.args)),
      this.deps.async.includes(call),
    );
    if (as === undefined) {
      const outcome = await called;
      if (outcome.kind === "promise") return { want: wantedOf(step), got: { kind: "promise" } };
      const isRight =
        step.throws === undefined
          ? outcome.kind === "value" && (!("want" in step) || isSame(outcome.value, step.want))
          : throws(outcome, step.throws);
      if (!isRight) return { want: wantedOf(step), got: gotOf(outcome, this.deps.url) };
    } else void called.then((outcome) => this.#settled.set(as, outcome));
    await turns();
    const result = this.#released(as, settles);
    // A later step may name this call.
    if (as !== undefined && result === undefined) this.#calls.push(`${as} = ${this.#calls.pop()}`);
    return result;
  }

  /** Compares the calls that have come back with those that must have. */
  #released(as: string | undefined, settles: Readonly<Record<string, unknown>>) {
    const released = Object.fromEntries(
      Array.from(this.#settled, ([name, one]) => {
        const got = gotOf(one, this.deps.url);
        return [name, one.kind === "value" ? one.value : { throws: "text" in got ? got.text : got.kind }];
      }),
    );
    this.#settled.clear();
    if (isSame(released, settles)) return undefined;
    const own = as === undefined ? undefined : { is: Object.hasOwn(released, as), must: Object.hasOwn(settles, as) };
    if (own?.is === true && !own.must) return { want: { kind: "waits" }, got: shownValue(released[as ?? ""]) } as const;
    if (own?.must === true && !own.is) return { want: shownValue(settles[as ?? ""]), got: { kind: "waits" } } as const;
    const texts = [settles, released].map((one) => (Object.keys(one).length === 0 ? "" : shown(one)));
    return {
      want: { kind: "releases", text: texts[0] ?? "" },
      got: { kind: "releases", text: texts[1] ?? "" },
    } as const;
  }
}

/** Lets everything run that waits for nothing. */
async function turns(): Promise<void> {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** @param mayWait whether the call may give a promise */
async function outcomeOf(call: () => unknown, mayWait: boolean): Promise<Outcome> {
  try {
    const value = call();
    if (!mayWait && isPromise(value)) {
      // Nobody is told about its error otherwise than by the verdict.
      void Promise.resolve(value).catch(() => {});
      return { kind: "promise" };
    }
    return { kind: "value", value: await value };
  } catch (error) {
    return error instanceof CaseEnded ? { kind: "ended" } : { kind: "thrown", error };
  }
}

function throws(outcome: Outcome, part: string): boolean {
  return outcome.kind === "thrown" && messageOf(outcome.error).includes(part);
}

function wantedOf(test: { readonly want?: unknown; readonly throws?: string | undefined }): Wanted {
  return test.throws === undefined ? shownValue(test.want) : { kind: "error", text: test.throws };
}

function shownValue(value: unknown): { readonly kind: "value"; readonly text: string } {
  return { kind: "value", text: shown(value ?? undefined) };
}

function gotOf(outcome: Outcome, url: string): Got {
  if (outcome.kind === "value") return shownValue(outcome.value);
  if (outcome.kind === "ended") return { kind: "error", text: "AbortError" };
  if (outcome.kind === "promise") return { kind: "promise" };
  const { error } = outcome;
  const text = messageOf(error).slice(0, 300);
  if (text.includes(NOT_WRITTEN)) return { kind: "not-written" };
  const kind = error instanceof TypeError && WRITES_FROZEN.test(text) ? "changes-argument" : "error";
  const at = lineIn(error, url);
  const named = error instanceof Error && error.name !== "Error" ? `${error.name}: ${text}` : text;
  return { kind, text: named, ...(at === undefined ? {} : { at }) };
}

/** The line of the learner's file where an error began. */
export function lineIn(error: unknown, url: string): number | undefined {
  const stack = error instanceof Error ? (error.stack ?? "") : "";
  const at = stack.indexOf(`${url}:`);
  const line = at === -1 ? Number.NaN : Number.parseInt(stack.slice(at + url.length + 1), 10);
  return Number.isInteger(line) ? line : undefined;
}

/** The first call that differs. */
function callsDiffer({ log }: Fakes, wanted: readonly (readonly unknown[])[]): Difference {
  const at = wanted.findIndex((call, i) => !isSame(call, log[i]));
  const index = at === -1 ? wanted.length : at;
  const lineOf = (call: readonly unknown[] | undefined) => (call === undefined ? {} : { text: lineOfCall(call) });
  return {
    want: { kind: "call", number: index + 1, ...lineOf(wanted[index]) },
    got: { kind: "call", ...lineOf(log[index]) },
  };
}

function lineOfCall([name, ...args]: readonly unknown[]): string {
  return shownCall(String(name), args);
}
