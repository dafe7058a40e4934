import { type FindContext, FindProblem, type Found, PLAIN_TESTS, VALUE_TESTS } from "./find-tests.js";

/** What find does with a file. */
export type Action =
  | { readonly kind: "print"; readonly end: string }
  | { readonly kind: "exec"; readonly words: readonly string[] }
  | { readonly kind: "exec-all"; readonly words: readonly string[]; readonly names: string[] }
  | { readonly kind: "delete" | "quit" | "prune" };

/** The expression after the paths: tests and actions with !, -a and -o. */
export type Expression =
  | { readonly kind: "test"; readonly holds: (found: Found) => boolean }
  | { readonly kind: "not"; readonly of: Expression }
  | { readonly kind: "and" | "or"; readonly all: readonly Expression[] }
  | Action;

export interface FindOptions {
  maxDepth: number;
  minDepth: number;
  isDepthFirst: boolean;
  followsLinks: boolean;
  hasAction: boolean;
}

/** Reads the expression. @throws FindProblem */
export function parseExpression(
  words: readonly string[],
  context: FindContext,
): { readonly expression: Expression; readonly options: FindOptions } {
  const options = {
    maxDepth: Number.POSITIVE_INFINITY,
    minDepth: 0,
    isDepthFirst: false,
    followsLinks: false,
    hasAction: false,
  };
  let at = 0;
  const argumentOf = (name: string): string => {
    const value = words[at++];
    if (value === undefined) throw new FindProblem(`${name} requires an argument`);
    return value;
  };
  const depthOf = (name: string): number => {
    const value = argumentOf(name);
    if (!/^\d+$/.test(value)) throw new FindProblem(`invalid number '${value}'`);
    return Number(value);
  };
  const act = (action: Action): Action => {
    if (action.kind !== "prune") options.hasAction = true;
    return action;
  };
  const always: Expression = { kind: "test", holds: () => true };
  const commandOf = (): Action => {
    const end = words.findIndex(
      (word, index) => index >= at && (word === ";" || (word === "+" && words[index - 1] === "{}")),
    );
    if (end <= at) throw new FindProblem("-exec requires an argument");
    const command = words.slice(at, end);
    at = end + 1;
    return words[end] === ";" ? { kind: "exec", words: command } : { kind: "exec-all", words: command, names: [] };
  };
  const one = (): Expression => {
    const word = words[at++] ?? "";
    const [valueTest, plainTest] = [VALUE_TESTS[word], PLAIN_TESTS[word]];
    if (valueTest !== undefined) return { kind: "test", holds: valueTest(argumentOf(word), context) };
    if (plainTest !== undefined) return { kind: "test", holds: plainTest(context) };
    switch (word) {
      case "(": {
        const inner = any();
        if (words[at++] !== ")") throw new FindProblem("unpaired '('");
        return inner;
      }
      case "!":
      case "-not":
        return { kind: "not", of: one() };
      case "-maxdepth":
        options.maxDepth = depthOf(word);
        return always;
      case "-mindepth":
        options.minDepth = depthOf(word);
        return always;
      case "-depth":
        options.isDepthFirst = true;
        return always;
      case "-follow":
        options.followsLinks = true;
        return always;
      case "-xdev":
      case "-mount":
        return always;
      case "-print":
      case "-print0":
        return act({ kind: "print", end: word === "-print" ? "\n" : "\0" });
      case "-exec":
        return act(commandOf());
      case "-delete":
        options.isDepthFirst = true;
        return act({ kind: "delete" });
      case "-quit":
        return act({ kind: "quit" });
      case "-prune":
        return { kind: "prune" };
      default:
        throw new FindProblem(`unrecognized: ${word}`, true);
    }
  };
  const several = (): Expression => {
    const all: Expression[] = [];
    while (at < words.length && words[at] !== ")" && words[at] !== "-o" && words[at] !== "-or") {
      if (words[at] === "-a" || words[at] === "-and") at++;
      else all.push(one());
    }
    return { kind: "and", all };
  };
  const any = (): Expression => {
    const all = [several()];
    while (words[at] === "-o" || words[at] === "-or") {
      at++;
      all.push(several());
    }
    return { kind: "or", all };
  };
  const expression = any();
  if (at < words.length) throw new FindProblem(`unrecognized: ${words[at]}`, true);
  const print: Expression = { kind: "print", end: "\n" };
  return { expression: options.hasAction ? expression : { kind: "and", all: [expression, print] }, options };
}
