import type { ArithExpr, ArithLiteral, ScriptNode } from "./ast.js";

/** As C and bash write a number: `12`, `010`, `0x1f`, `2#101`. */
const LITERAL = /(?<![\w#])(?:0[xX][\da-fA-F]+|\d+(?:#[\w@]+)?)(?![\w#@])/g;
/** Literals that a JavaScript number may not represent exactly. The parser handles shorter ones. */
const LARGE = /\d{16}|0[xX][\da-fA-F]{14}|#[\w@]{9}/;
/** A variable in place of a large literal, while just-bash parses the expression. */
const PLACEHOLDER = "__kubelab_literal_";
/** Digits that are added at once, because each addition cuts the sum to 64 bits. */
const CHUNK_DIGITS = 8;

/**
 * Replaces the numbers of a script that just-bash's parser rounds to 53 bits.
 * @param parse an arithmetic expression
 */
export function restoreLargeLiterals(text: string, script: ScriptNode, parse: (text: string) => ArithExpr): void {
  if (!LARGE.test(text)) return;
  walk(script, (node) => {
    const original = node["originalText"];
    if (node["type"] !== "ArithmeticExpression" || typeof original !== "string" || !LARGE.test(original)) return;
    const literals: string[] = [];
    const replaced = outsideSubstitutions(original, (part) =>
      part.replace(LITERAL, (literal) =>
        LARGE.test(literal) ? `${PLACEHOLDER}${literals.push(literal) - 1}` : literal,
      ),
    );
    if (literals.length === 0) return;
    const expression = { expression: parse(replaced) };
    walk(expression, (inner) => {
      const name = inner["type"] === "ArithVariable" ? String(inner["name"]) : "";
      const literal = name.startsWith(PLACEHOLDER) ? literals[Number(name.slice(PLACEHOLDER.length))] : undefined;
      if (literal !== undefined) Object.assign(inner, { type: "ArithLiteral", text: literal } satisfies ArithLiteral);
    });
    node["expression"] = expression.expression;
  });
}

/**
 * The value of a literal without a sign, in 64 bits. Mirrors strto_arith_t in busybox's shell/math.c: a number of more than 64
 * bits is 0. In bash it wraps around.
 * @returns undefined for a digit that the base does not have
 */
export function literalValue(text: string, isBash: boolean): bigint | undefined {
  const { base, digits } = partsOf(text);
  let value = 0n;
  for (let at = 0; at < digits.length; at += CHUNK_DIGITS) {
    const chunk = digits.slice(at, at + CHUNK_DIGITS);
    let number = 0n;
    for (const char of chunk) {
      const digit = digitOf(char, base);
      if (digit >= base) return undefined;
      number = number * BigInt(base) + BigInt(digit);
    }
    value = value * BigInt(base) ** BigInt(chunk.length) + number;
    if (!isBash && value >= 2n ** 64n) return 0n;
    value = BigInt.asUintN(64, value);
  }
  return BigInt.asIntN(64, value);
}

function partsOf(text: string): { readonly base: number; readonly digits: string } {
  const [base, digits] = text.split("#");
  if (digits !== undefined) return { base: Number(base), digits };
  if (/^0[xX]/.test(text)) return { base: 16, digits: text.slice(2) };
  return { base: text.startsWith("0") ? 8 : 10, digits: text };
}

/** Up to base 36 both cases are equal; above, `a` is 10, `A` 36, `@` 62 and `_` 63. */
function digitOf(char: string, base: number): number {
  if (char === "@") return 62;
  if (char === "_") return 63;
  const digit = Number.parseInt(char, 36);
  return base > 36 && /[A-Z]/.test(char) ? digit + 26 : digit;
}

/** Changes the parts of an expression outside `$(...)`, `${...}` and backquotes, whose text is parsed when it runs. */
function outsideSubstitutions(text: string, change: (part: string) => string): string {
  let out = "";
  let from = 0;
  for (let at = 0; at < text.length; at++) {
    const end = substitutionEnd(text, at);
    if (end === at) continue;
    out += change(text.slice(from, at)) + text.slice(at, end);
    from = end;
    at = end - 1;
  }
  return out + change(text.slice(from));
}

/** The end of the substitution that begins at `start`; `start` if none does. */
function substitutionEnd(text: string, start: number): number {
  if (text[start] === "`") return text.indexOf("`", start + 1) + 1 || text.length;
  if (text[start] !== "$" || !/[({]/.test(text[start + 1] ?? "")) return start;
  let depth = 0;
  for (let at = start + 1; at < text.length; at++) {
    if (/[({]/.test(text[at] as string)) depth++;
    else if (/[)}]/.test(text[at] as string)) depth--;
    if (depth === 0) return at + 1;
  }
  return text.length;
}

function walk(value: unknown, visit: (node: Record<string, unknown>) => void): void {
  const todo: unknown[] = [value];
  for (let one = todo.pop(); one !== undefined; one = todo.pop()) {
    if (typeof one !== "object" || one === null) continue;
    if (!Array.isArray(one)) visit(one as Record<string, unknown>);
    for (const inner of Object.values(one)) if (typeof inner === "object" && inner !== null) todo.push(inner);
  }
}
