import { isRecord } from "../../../util/records.js";
import { frozen, isFakeName, shown, shownCall } from "./show.js";

/** More calls than this are not kept, and end the case. */
const MOST_CALLS = 60;
/** After a fake has ended the case, so many more calls mean that the learner's code swallows the abort. */
const MOST_CALLS_AFTER_END = 20;

/** So many answers explain a case, so short each. */
const MOST_ANSWERS = 3;
const MOST_ANSWER_CHARACTERS = 160;

/** A fake ends the case with it, as an abort ends a kubelet's loop. */
export class CaseEnded extends Error {
  override readonly name = "AbortError";
}

/**
 * Objects for the learner's code, with programmed answers: each call takes the next one and is logged; one that is no list
 * is given to all of them. The answer
 * `{ $throw: {...} }` is thrown, `{ $after: ms, value }` comes later, `{ $stop: true }` ends the case, `{ $sync: value }` is no promise. A fake `clock` has
 * `now` (ms) and `sleeps`: the number of sleeps that pass; the next one ends the case. A sleep is over when nothing else is
 * left to run, and a call before that ends the case too.
 */
export class Fakes {
  readonly log: unknown[][] = [];
  /** A call that did not wait for a sleep. */
  tooEarly: { readonly text: string; readonly sleep: string } | undefined;
  /** What the calls of the log gave, by their place in it. */
  readonly #answers: string[] = [];
  #sleeping: string | undefined;
  #nowMs = 0;
  readonly #objects: Readonly<Record<string, unknown>>;
  #callsAfterEnd = -1;

  /** @param onSwallowed called when the learner's code goes on although its case was ended */
  constructor(
    spec: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
    readonly onSwallowed: () => void,
  ) {
    this.#objects = Object.fromEntries(
      Object.entries(spec).map(([name, methods]) => [
        name,
        name === "clock" ? this.#clock(methods) : this.#object(name, methods),
      ]),
    );
  }

  /** The values with fakes in place of their names. */
  filledIn(args: readonly unknown[]): unknown[] {
    return args.map((one) => this.#filled(one));
  }

  /** The last answers before a call, each as one line. @param number of the call, from 1 */
  answersBefore(number: number): readonly string[] {
    const answers = this.#answers.slice(0, Math.min(number - 1, this.#answers.length));
    return answers.filter((one) => one !== undefined).slice(-MOST_ANSWERS);
  }

  #filled(value: unknown): unknown {
    if (isFakeName(value)) {
      const [name = "", method] = value.slice(1).split(".");
      const object = this.#objects[name];
      if (object !== undefined)
        return method === undefined ? object : (object as Readonly<Record<string, unknown>>)[method];
    }
    if (!isRecord(value)) return frozen(value);
    return Object.freeze(Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.#filled(one)])));
  }

  #object(name: string, methods: Readonly<Record<string, unknown>>) {
    return Object.fromEntries(
      Object.entries(methods).map(([method, given]) => {
        // What is no list is the answer to each call.
        const answers: unknown[] | undefined = Array.isArray(given) ? [...given] : undefined;
        const isSync = answers !== undefined && answers.length > 0 && answers.every(isSyncAnswer);
        const call = (...args: unknown[]) => {
          this.#record(`${name}.${method}`, args);
          if (answers?.length === 0 && isSync) this.#end();
          const answer = answers === undefined ? given : answers.length > 0 ? answers.shift() : { $stop: true };
          this.#noteAnswer(`${name}.${method}`, answer);
          if (isSyncAnswer(answer)) return frozen(answer["$sync"]);
          const answered = this.#answer(answer, shownCall(`${name}.${method}`, args));
          // The learner's code need not wait for a call that ends the case.
          if (isRecord(answer) && "$stop" in answer) answered.catch(() => {});
          return answered;
        };
        return [method, call];
      }),
    );
  }

  async #answer(answer: unknown, call: string): Promise<unknown> {
    if (!isRecord(answer)) return frozen(answer);
    if ("$after" in answer) {
      await this.#pass(Number(answer["$after"]), call);
      return frozen(answer["value"]);
    }
    if ("$stop" in answer) this.#end();
    const failure = answer["$throw"];
    if (isRecord(failure)) throw Object.assign(new Error(String(failure["message"])), failure);
    return frozen(answer);
  }

  /** @param during the call that takes this time: until it is over, another one comes too early */
  async #pass(ms: number, during: string): Promise<void> {
    this.#sleeping = during;
    await new Promise((resolve) => setImmediate(resolve));
    this.#sleeping = undefined;
    this.#nowMs += ms;
  }

  #clock({ now = 0, sleeps = 0 }: Readonly<Record<string, unknown>>) {
    let left = Number(sleeps);
    this.#nowMs = Number(now);
    return {
      now: () => this.#nowMs,
      sleep: async (ms: number) => {
        this.#record("clock.sleep", [ms]);
        if (left === 0) this.#end();
        left -= 1;
        await this.#pass(Number(ms), shownCall("clock.sleep", [ms]));
      },
    };
  }

  #noteAnswer(name: string, answer: unknown): void {
    // Some calls end the case, and some give nothing.
    if (!isRecord(answer) || "$stop" in answer || answer["$sync"] === null) return;
    const failure = answer["$throw"];
    const text = isRecord(failure)
      ? `threw ${shown(failure["message"])}`
      : shown("$sync" in answer ? answer["$sync"] : answer);
    const short = text.length > MOST_ANSWER_CHARACTERS ? `${text.slice(0, MOST_ANSWER_CHARACTERS)}…` : text;
    this.#answers[this.log.length - 1] = `${name}: ${short}`;
  }

  #record(name: string, args: readonly unknown[]): void {
    if (this.#callsAfterEnd >= 0) {
      this.#callsAfterEnd += 1;
      if (this.#callsAfterEnd > MOST_CALLS_AFTER_END) this.onSwallowed();
      throw new CaseEnded("the case has ended");
    }
    if (this.#sleeping !== undefined) {
      this.tooEarly ??= { text: shownCall(name, args), sleep: this.#sleeping };
      this.#end();
    }
    this.log.push([name, ...structuredCloned(args)]);
    if (this.log.length >= MOST_CALLS) this.#end();
  }

  #end(): never {
    this.#callsAfterEnd = 0;
    throw new CaseEnded("the case has ended");
  }
}

function isSyncAnswer(answer: unknown): answer is { readonly $sync: unknown } {
  return isRecord(answer) && "$sync" in answer;
}

/** As they were at the call: the learner's code may change them afterwards. */
function structuredCloned(args: readonly unknown[]): unknown[] {
  return args.map((one) => {
    try {
      return structuredClone(one);
    } catch {
      return one;
    }
  });
}
