import { ShellError, type ShellState } from "../state.js";
import type { ArithExpr } from "../syntax/ast.js";
import { literalValue } from "../syntax/literals.js";

/** The parts of the shell that arithmetic needs in addition to variables. */
export interface ArithmeticContext {
  readonly state: ShellState;
  /** `$?`, `$#`, `$1`: parameters that are not variables */
  parameter(name: string): string | undefined;
  /** the value of `$(command)` */
  substitute(command: string): Promise<string>;
  /** the value of the text between `${` and `}` */
  braced(content: string): Promise<string>;
  /** parses an expression in a variable's value */
  parse(text: string): ArithExpr;
}

const MAX_DEPTH = 64;

/** Evaluates `$(( ... ))` in signed 64 bits. @throws ShellError for a division by 0, and for invalid numbers */
export async function evaluate(expr: ArithExpr, context: ArithmeticContext, depth = 0): Promise<bigint> {
  if (depth > MAX_DEPTH) throw new ShellError("arithmetic: expression recursion level exceeded");
  const value = (inner: ArithExpr) => evaluate(inner, context, depth + 1);
  switch (expr.type) {
    case "ArithNumber":
      if (!Number.isFinite(expr.value)) throw new ShellError("arithmetic syntax error");
      return BigInt.asIntN(64, BigInt(Math.trunc(expr.value)));
    case "ArithLiteral":
      return literal(expr.text, context);
    case "ArithGroup":
    case "ArithNested":
      return value(expr.expression);
    case "ArithVariable":
      return number(readVariable(context, expr.name), context, depth);
    case "ArithSpecialVar":
      return number(context.parameter(expr.name) ?? "0", context, depth);
    case "ArithBracedExpansion":
      return number(await context.braced(expr.content), context, depth);
    case "ArithCommandSubst":
      return number(await context.substitute(expr.command), context, depth);
    case "ArithUnary":
      return unary(expr, context, depth);
    case "ArithBinary":
      return binary(expr, value);
    case "ArithTernary":
      return (await value(expr.condition)) !== 0n ? value(expr.consequent) : value(expr.alternate);
    case "ArithAssignment": {
      const right = await value(expr.value);
      const operator = expr.operator.slice(0, -1);
      const left = operator === "" ? 0n : await number(readVariable(context, expr.variable), context, depth);
      return assign(context, expr.variable, operator === "" ? right : apply(operator, left, right));
    }
    default:
      throw new ShellError("arithmetic syntax error");
  }
}

function readVariable({ state, parameter }: ArithmeticContext, name: string): string {
  return parameter(name) ?? state.get(name) ?? "0";
}

/** A variable can contain an expression. */
async function number(text: string, context: ArithmeticContext, depth: number): Promise<bigint> {
  const trimmed = text.trim();
  if (trimmed === "") return 0n;
  if (/^[-+]?(\d+|0[xX][0-9a-fA-F]+)$/.test(trimmed)) {
    const value = literal(trimmed.replace(/^[-+]/, ""), context);
    return trimmed.startsWith("-") ? BigInt.asIntN(64, -value) : value;
  }
  return evaluate(context.parse(trimmed), context, depth + 1);
}

function literal(text: string, { state }: ArithmeticContext): bigint {
  const value = literalValue(text, state.isBash);
  if (value === undefined) throw new ShellError("arithmetic syntax error");
  return value;
}

function assign({ state }: ArithmeticContext, name: string, value: bigint): bigint {
  const wrapped = BigInt.asIntN(64, value);
  if (!state.set(name, String(wrapped))) throw new ShellError(`${name}: is read only`);
  return wrapped;
}

type Unary = Extract<ArithExpr, { readonly type: "ArithUnary" }>;

async function unary(expr: Unary, context: ArithmeticContext, depth: number): Promise<bigint> {
  const before = await evaluate(expr.operand, context, depth + 1);
  switch (expr.operator) {
    case "-":
      return BigInt.asIntN(64, -before);
    case "+":
      return before;
    case "!":
      return before === 0n ? 1n : 0n;
    case "~":
      return ~before;
    default: {
      if (expr.operand.type !== "ArithVariable") throw new ShellError("arithmetic syntax error");
      const after = assign(context, expr.operand.name, expr.operator === "++" ? before + 1n : before - 1n);
      return expr.prefix ? after : before;
    }
  }
}

type Binary = Extract<ArithExpr, { readonly type: "ArithBinary" }>;

async function binary(expr: Binary, value: (inner: ArithExpr) => Promise<bigint>): Promise<bigint> {
  const left = await value(expr.left);
  if (expr.operator === "&&") return left !== 0n && (await value(expr.right)) !== 0n ? 1n : 0n;
  if (expr.operator === "||") return left !== 0n || (await value(expr.right)) !== 0n ? 1n : 0n;
  return apply(expr.operator, left, await value(expr.right));
}

/** In 64 bits, by squaring. */
function power(base: bigint, exponent: bigint): bigint {
  let result = 1n;
  let square = base;
  for (let left = exponent; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) result = BigInt.asIntN(64, result * square);
    square = BigInt.asIntN(64, square * square);
  }
  return result;
}

const truth = (value: boolean): bigint => (value ? 1n : 0n);

function apply(operator: string, left: bigint, right: bigint): bigint {
  if ((operator === "/" || operator === "%") && right === 0n) throw new ShellError("divide by zero");
  if (operator === "**" && right < 0n) throw new ShellError("exponent less than 0");
  const operations: Readonly<Record<string, () => bigint>> = {
    "+": () => left + right,
    "-": () => left - right,
    "*": () => left * right,
    "/": () => left / right,
    "%": () => left % right,
    "**": () => power(left, right),
    "<<": () => left << (right & 63n),
    ">>": () => left >> (right & 63n),
    "<": () => truth(left < right),
    "<=": () => truth(left <= right),
    ">": () => truth(left > right),
    ">=": () => truth(left >= right),
    "==": () => truth(left === right),
    "!=": () => truth(left !== right),
    "&": () => left & right,
    "|": () => left | right,
    "^": () => left ^ right,
    ",": () => right,
  };
  const operation = operations[operator];
  if (operation === undefined) throw new ShellError("arithmetic syntax error");
  return BigInt.asIntN(64, operation());
}
