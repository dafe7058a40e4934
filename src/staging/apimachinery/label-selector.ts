import { isLabelValue, isQualifiedName } from "./api/names.js";
import { badRequest } from "./errors.js";

/**
 * Parses label selectors such as `app=x,tier in (a,b),!old`, with upstream's messages.
 * Mirrors k8s.io/apimachinery/pkg/labels/selector.go (Lexer, Parser, NewRequirement, Requirement.Matches).
 */

type Operator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";

interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  readonly values: ReadonlySet<string>;
}

type TokenKind =
  | ")"
  | ","
  | "!"
  | "=="
  | "="
  | ">"
  | "in"
  | "<"
  | "!="
  | "notin"
  | "("
  | "identifier"
  | "end"
  | "error";

interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const SYMBOLS = new Set(["=", "!", "(", ")", ",", ">", "<"]);
const KEYWORDS: ReadonlySet<string> = new Set([")", ",", "!", "==", "=", ">", "in", "<", "!=", "notin", "("]);
const BINARY_OPERATORS = "in, notin, =, ==, !=, gt, lt";

export type LabelSelector = (labels: Readonly<Record<string, string>> | undefined) => boolean;

/** @throws StatusError 400 */
export function parseLabelSelector(text: string): LabelSelector {
  const requirements = new Parser(scan(text)).parse();
  if (requirements.length <= MAX_SCANNED) return (labels = {}) => requirements.every((one) => meets(one, labels));
  const byKey = new Map<string, Requirement[]>();
  for (const one of requirements) {
    const same = byKey.get(one.key);
    if (same === undefined) byKey.set(one.key, [one]);
    else same.push(one);
  }
  const needed = new Set(requirements.flatMap(({ key, operator }) => (ABSENT_MATCHES.has(operator) ? [] : [key])));
  return (labels = {}) => {
    for (const key of needed) if (!Object.hasOwn(labels, key)) return false;
    return Object.keys(labels).every((key) => byKey.get(key)?.every((one) => meets(one, labels)) !== false);
  };
}

/** A longer selector is indexed by key, so the cost is the number of the object's labels. */
const MAX_SCANNED = 8;
/** Operators that match an object without the label. */
const ABSENT_MATCHES: ReadonlySet<Operator> = new Set(["!", "!=", "notin"]);

function meets({ key, operator, values }: Requirement, labels: Readonly<Record<string, string>>): boolean {
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    case "!=":
    case "notin":
      return value === undefined || !values.has(value);
    case "gt":
    case "lt": {
      if (value === undefined || !isInteger(value)) return false;
      const [first = "0"] = values;
      const bound = BigInt(first);
      return operator === "gt" ? BigInt(value) > bound : BigInt(value) < bound;
    }
    default:
      return value !== undefined && values.has(value);
  }
}

function isInteger(text: string): boolean {
  return /^-?\d{1,19}$/.test(text);
}

function scan(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const take = (isPart: (character: string) => boolean) => {
    const start = at;
    while (at < text.length && isPart(text[at] as string)) at++;
    return text.slice(start, at);
  };
  for (;;) {
    take(isBlank);
    if (at >= text.length) return [...tokens, { kind: "end", text: "" }];
    if (SYMBOLS.has(text[at] as string)) {
      const [symbol, length] = longestSymbol(text, at);
      at += length;
      tokens.push(symbol);
    } else {
      const word = take((one) => !SYMBOLS.has(one) && !isBlank(one));
      tokens.push({ kind: KEYWORDS.has(word) ? (word as TokenKind) : "identifier", text: word });
    }
  }
}

function isBlank(character: string): boolean {
  return character === " " || character === "\t" || character === "\r" || character === "\n";
}

/** Reads the longest run of symbols that forms a token: `==` before `=`. */
function longestSymbol(text: string, at: number): [Token, number] {
  const two = text.slice(at, at + 2);
  const symbol = KEYWORDS.has(two) ? two : text.slice(at, at + 1);
  return [{ kind: symbol as TokenKind, text: symbol }, symbol.length];
}

class Parser {
  #at = 0;
  constructor(readonly tokens: readonly Token[]) {}

  parse(): Requirement[] {
    const requirements: Requirement[] = [];
    for (;;) {
      const { kind, text } = this.#peek();
      if (kind === "end") return requirements;
      if (kind !== "identifier" && kind !== "!") fail(`found '${text}', expected: !, identifier, or 'end of string'`);
      requirements.push(this.#requirement());
      const next = this.#take();
      if (next.kind === "end") return requirements;
      if (next.kind !== ",") fail(`found '${next.text}', expected: ',' or 'end of string'`);
      const after = this.#peek();
      if (after.kind !== "identifier" && after.kind !== "!") {
        fail(`found '${after.text}', expected: identifier after ','`);
      }
    }
  }

  /** In the position of a key or value, `in` and `notin` are ordinary words. */
  #peek(): Token {
    return plainWord(this.tokens[this.#at] ?? { kind: "end", text: "" });
  }

  #take(): Token {
    const token = this.#peek();
    this.#at++;
    return token;
  }

  #requirement(): Requirement {
    let token = this.#take();
    const isNegated = token.kind === "!";
    if (isNegated) token = this.#take();
    if (token.kind !== "identifier") failRequirement(`found '${token.text}', expected: identifier`);
    const key = token.text;
    const keyErrors = isQualifiedName(key);
    if (keyErrors.length > 0) failRequirement(`<nil>: Invalid value: ${JSON.stringify(key)}: ${keyErrors.join("; ")}`);
    const next = this.#peek().kind;
    if (isNegated && (next === "end" || next === ",")) return { key, operator: "!", values: NO_VALUES };
    if (next === "end" || next === ",") return { key, operator: "exists", values: NO_VALUES };
    if (isNegated) return { key, operator: "!", values: NO_VALUES };
    return requirement(key, this.#operator(), (operator) =>
      operator === "in" || operator === "notin" ? this.#values() : [this.#exactValue()],
    );
  }

  #operator(): Operator {
    const { kind, text } = this.tokens[this.#at] ?? { kind: "end", text: "" };
    this.#at++;
    switch (kind) {
      case "=":
      case "==":
      case "!=":
      case "in":
      case "notin":
        return kind;
      case ">":
        return "gt";
      case "<":
        return "lt";
      default:
        return failRequirement(`found '${text}', expected: ${BINARY_OPERATORS}`);
    }
  }

  #exactValue(): string {
    const next = this.#peek().kind;
    if (next === "end" || next === ",") return "";
    const { kind, text } = this.#take();
    return kind === "identifier" ? text : failRequirement(`found '${text}', expected: identifier`);
  }

  #values(): string[] {
    const open = this.#take();
    if (open.kind !== "(") failRequirement(`found '${open.text}' expected: '('`);
    const first = this.#peek();
    if (first.kind === ")") {
      this.#take();
      return [""];
    }
    if (first.kind !== "identifier" && first.kind !== ",") {
      failRequirement(`found '${first.text}', expected: ',', ')' or identifier`);
    }
    const values = this.#identifiers();
    if (this.#take().kind !== ")") failRequirement(`found '${first.text}', expected: ')'`);
    return values;
  }

  #identifiers(): string[] {
    const values = new Set<string>();
    for (;;) {
      const { kind, text } = this.#take();
      const next = this.#peek();
      if (kind === "identifier") {
        values.add(text);
        if (next.kind === ")") return [...values];
        if (next.kind !== ",") failRequirement(`found '${next.text}', expected: ',' or ')'`);
      } else if (kind === ",") {
        if (values.size === 0) values.add("");
        if (next.kind === ")" || next.kind === ",") values.add("");
        if (next.kind === ")") return [...values];
      } else failRequirement(`found '${text}', expected: ',', or identifier`);
    }
  }
}

function plainWord(token: Token): Token {
  return token.kind === "in" || token.kind === "notin" ? { kind: "identifier", text: token.text } : token;
}

function requirement(key: string, operator: Operator, read: (operator: Operator) => string[]): Requirement {
  const values = read(operator).sort();
  const errors: string[] = [];
  if ((operator === "gt" || operator === "lt") && !isInteger(values[0] ?? "")) {
    const text = "for 'Gt', 'Lt' operators, the value must be an integer";
    errors.push(`values[0]: Invalid value: ${JSON.stringify(values[0])}: ${text}`);
  }
  values.forEach((value, index) => {
    const messages = isLabelValue(value);
    if (messages.length === 0) return;
    errors.push(`values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${messages.join("; ")}`);
  });
  if (errors.length > 0) failRequirement(errors.length === 1 ? String(errors[0]) : `[${errors.join(", ")}]`);
  return { key, operator, values: new Set(values) };
}

const NO_VALUES: ReadonlySet<string> = new Set();

function fail(message: string): never {
  throw badRequest(message);
}

function failRequirement(message: string): never {
  return fail(`unable to parse requirement: ${message}`);
}
