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
export type BraceItem = Of<WordPart, "BraceExpansion">["items"][number];
export type ArithmeticExpression = Of<WordPart, "ArithmeticExpansion">["expression"];
export type ArithExpr = ArithmeticExpression["expression"];

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

/** Whether our interpreter supports everything in a script: it has no arrays and no process substitution. */
export function isInterpretable(script: ScriptNode | StatementNode): boolean {
  return !contains(script, (node) => {
    if (UNSUPPORTED.has(node["type"] as string)) return true;
    if (node["type"] === "Assignment") return node["array"] !== null || String(node["name"]).includes("[");
    if (node["type"] === "ParameterExpansion") return String(node["parameter"]).includes("[");
    if (node["type"] === "Redirection") return node["fdVariable"] !== undefined;
    return false;
  });
}

function contains(value: unknown, is: (node: Readonly<Record<string, unknown>>) => boolean): boolean {
  if (Array.isArray(value)) return value.some((item) => contains(item, is));
  if (typeof value !== "object" || value === null) return false;
  const node = value as Readonly<Record<string, unknown>>;
  return is(node) || Object.values(node).some((item) => contains(item, is));
}
