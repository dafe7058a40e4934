import { evaluate } from "./arithmetic.js";
import type { ParameterOperation, ParameterPart, WordNode } from "./ast.js";
import { arithmeticContext, type ExpansionHost, expandPieces, expandText } from "./expand.js";
import { type Piece, patternSource } from "./patterns.js";
import { ShellError } from "./state.js";

/** The value of `$name`, `${name:-word}` and the like. @throws ShellError if a required parameter is not set */
export async function expandOperation(part: ParameterPart, host: ExpansionHost): Promise<string> {
  const { parameter, operation } = part;
  const value = lookUp(parameter, host);
  if (operation === null) {
    if (value === undefined) refuseUnset(parameter, host);
    return value ?? "";
  }
  const isUnset = value === undefined || ("checkEmpty" in operation && operation.checkEmpty && value === "");
  switch (operation.type) {
    case "DefaultValue":
      return isUnset ? expandText(operation.word, host) : (value ?? "");
    case "AssignDefault": {
      if (!isUnset) return value ?? "";
      const word = await expandText(operation.word, host);
      if (!host.state.set(parameter, word)) throw new ShellError(`${parameter}: is read only`);
      return word;
    }
    case "ErrorIfUnset": {
      if (!isUnset) return value ?? "";
      const message = operation.word === null ? "parameter not set" : await expandText(operation.word, host);
      throw new ShellError(`${parameter}: ${message}`);
    }
    case "UseAlternative":
      return isUnset ? "" : expandText(operation.word, host);
    default:
      if (value === undefined) refuseUnset(parameter, host);
      return change(operation, value ?? "", parameter, host);
  }
}

function lookUp(name: string, host: ExpansionHost): string | undefined {
  if (name === "@" || name === "*") {
    const { parameters } = host.state;
    return parameters.length === 0 ? undefined : parameters.join((host.state.get("IFS") ?? " ").charAt(0));
  }
  return host.special(name) ?? host.state.get(name);
}

function refuseUnset(name: string, host: ExpansionHost): void {
  if (host.state.options.has("u") && name !== "@" && name !== "*") throw new ShellError(`${name}: parameter not set`);
}

async function change(
  operation: ParameterOperation,
  value: string,
  parameter: string,
  host: ExpansionHost,
): Promise<string> {
  switch (operation.type) {
    case "Length":
      return String(parameter === "@" || parameter === "*" ? host.state.parameters.length : [...value].length);
    case "Substring": {
      const context = arithmeticContext(host);
      const offset = Number(await evaluate(operation.offset.expression, context));
      const length =
        operation.length === null ? undefined : Number(await evaluate(operation.length.expression, context));
      return substring([...value], offset, length);
    }
    case "PatternRemoval":
      return removePattern(value, await expandPieces(operation.pattern, host), operation.side, operation.greedy);
    case "PatternReplacement": {
      const pattern = await expandPieces(operation.pattern, host);
      const text = operation.replacement === null ? "" : await expandText(operation.replacement, host);
      return replacePattern(value, pattern, text, operation);
    }
    case "CaseModification": {
      const convert = (text: string) => (operation.direction === "upper" ? text.toUpperCase() : text.toLowerCase());
      return operation.all ? convert(value) : convert(value.slice(0, 1)) + value.slice(1);
    }
    default:
      throw new ShellError(`${parameter}: bad substitution`);
  }
}

function substring(chars: readonly string[], offset: number, length: number | undefined): string {
  const start = offset < 0 ? Math.max(0, chars.length + offset) : offset;
  const end = length === undefined ? chars.length : length < 0 ? chars.length + length : start + length;
  return chars.slice(start, end).join("");
}

function removePattern(value: string, pattern: readonly Piece[], side: "prefix" | "suffix", isGreedy: boolean): string {
  const expression = new RegExp(`^(?:${patternSource(pattern)})$`, "u");
  const lengths = Array.from({ length: value.length + 1 }, (_, length) => length);
  if (isGreedy) lengths.reverse();
  for (const length of lengths) {
    const part = side === "prefix" ? value.slice(0, length) : value.slice(value.length - length);
    if (!expression.test(part)) continue;
    return side === "prefix" ? value.slice(length) : value.slice(0, value.length - length);
  }
  return value;
}

function replacePattern(
  value: string,
  pattern: readonly Piece[],
  text: string,
  { all, anchor }: { readonly all: boolean; readonly anchor: "start" | "end" | null },
): string {
  const source = patternSource(pattern);
  if (source === "") return value;
  const anchored = anchor === "start" ? `^(?:${source})` : anchor === "end" ? `(?:${source})$` : source;
  return value.replace(new RegExp(anchored, all ? "gu" : "u"), () => text);
}

/** Whether a word is a single literal: names of builtins and functions usually are. */
export function literalText(word: WordNode): string | undefined {
  const [part] = word.parts;
  return word.parts.length === 1 && part?.type === "Literal" ? part.value : undefined;
}
