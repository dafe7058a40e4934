/**
 * The syntax tree of just-bash's parser. Types that the package does not export are derived from those that it exports.
 */
import type { CommandNode, ScriptNode, SimpleCommandNode, StatementNode, WordNode } from "just-bash";

type Of<Union extends { readonly type: string }, Type extends Union["type"]> = Extract<Union, { readonly type: Type }>;

export type { CommandNode, PipelineNode, ScriptNode, SimpleCommandNode, StatementNode, WordNode } from "just-bash";

export type IfNode = Of<CommandNode, "If">;
export type ForNode = Of<CommandNode, "For">;
export type CStyleForNode = Of<CommandNode, "CStyleFor">;
export type WhileNode = Of<CommandNode, "While">;
export type UntilNode = Of<CommandNode, "Until">;
export type CaseNode = Of<CommandNode, "Case">;
export type FunctionDefNode = Of<CommandNode, "FunctionDef">;
export type ConditionalNode = Of<CommandNode, "ConditionalCommand">;
export type ConditionalExpression = ConditionalNode["expression"];
export type AssignmentNode = SimpleCommandNode["assignments"][number];
export type RedirectionNode = SimpleCommandNode["redirections"][number];
export type WordPart = WordNode["parts"][number];
export type ParameterPart = Of<WordPart, "ParameterExpansion">;
export type ParameterOperation = NonNullable<ParameterPart["operation"]>;
export type BracePart = Of<WordPart, "BraceExpansion">;
export type BraceItem = BracePart["items"][number];
export type BraceRange = Of<BraceItem, "Range">;
export type ArithmeticExpression = Of<WordPart, "ArithmeticExpansion">["expression"];
/** A number that just-bash's parser would round: `9223372036854775807`. */
export interface ArithLiteral {
  readonly type: "ArithLiteral";
  readonly text: string;
}
export type ArithExpr = ArithmeticExpression["expression"] | ArithLiteral;

const UNSUPPORTED = new Set([
  "ProcessSubstitution",
  "Transform",
  "Indirection",
  "ArrayKeys",
  "VarNamePrefix",
  "ArithArrayElement",
  "ArithDynamicAssignment",
  "ArithDynamicElement",
  "ArithDynamicBase",
  "ArithDynamicNumber",
  "ArithDoubleSubscript",
  "ArithNumberSubscript",
]);

/** Parameters of bash, which busybox's ash does not substitute. */
const BASH_PARAMETERS = new Set(["Transform", "Indirection", "ArrayKeys", "VarNamePrefix"]);

/**
 * The error of busybox's ash for syntax that only bash has; undefined without any.
 * Differs: ash runs the lines before the one with the error.
 */
export function ashSyntaxError(script: ScriptNode | StatementNode): string | undefined {
  let error: string | undefined;
  contains(script, (node) => {
    error = nodeError(node);
    return error !== undefined;
  });
  return error;
}

function nodeError(node: Readonly<Record<string, unknown>>): string | undefined {
  const type = String(node["type"]);
  if (type === "Assignment" && node["array"] !== null) return 'syntax error: unexpected "("';
  if (type === "Assignment" && String(node["name"]).includes("[")) return `${node["name"]}: not found`;
  const isArrayElement = type === "ParameterExpansion" && String(node["parameter"]).includes("[");
  if (isArrayElement || BASH_PARAMETERS.has(type)) return "syntax error: bad substitution";
  return type.startsWith("Arith") && UNSUPPORTED.has(type) ? "arithmetic syntax error" : undefined;
}

/** Whether our interpreter supports everything in a script: of arrays only BASH_REMATCH, and no process substitution. */
export function isInterpretable(script: ScriptNode | StatementNode, isBash: boolean): boolean {
  return !contains(script, (node) => {
    if (UNSUPPORTED.has(node["type"] as string)) return true;
    if (node["type"] === "Assignment") return node["array"] !== null || String(node["name"]).includes("[");
    if (node["type"] === "ParameterExpansion") return hasArray(String(node["parameter"]), isBash);
    if (node["type"] === "Redirection") return node["fdVariable"] !== undefined;
    return false;
  });
}

function hasArray(parameter: string, isBash: boolean): boolean {
  return parameter.includes("[") && !(isBash && /^BASH_REMATCH\[\d\]$/.test(parameter));
}

function contains(value: unknown, is: (node: Readonly<Record<string, unknown>>) => boolean): boolean {
  if (Array.isArray(value)) return value.some((item) => contains(item, is));
  if (typeof value !== "object" || value === null) return false;
  const node = value as Readonly<Record<string, unknown>>;
  return is(node) || Object.values(node).some((item) => contains(item, is));
}
