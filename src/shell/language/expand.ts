import { openForReading } from "../fs/open-file.js";
import { resolvePath } from "../fs/paths.js";
import type { ProcessTable } from "../process/process.js";
import { readAll } from "../process/streams.js";
import type { Terminal } from "../process/terminal.js";
import { type ArithmeticContext, evaluate } from "./arithmetic.js";
import type { ArithExpr, BraceItem, ParameterOperation, ParameterPart, ScriptNode, WordNode, WordPart } from "./ast.js";
import { expandPath, hasPattern, type Piece, patternSource, textOf } from "./patterns.js";
import { ShellError, type ShellState } from "./state.js";

/** What expansion needs from its shell. */
export interface ExpansionHost {
  readonly state: ShellState;
  /** the stdout of a command */
  substitute(body: ScriptNode): Promise<string>;
  parse(text: string): ScriptNode;
  parseArithmetic(text: string): ArithExpr;
  /** `$?`, `$1`, `$#` and the like; undefined if unset, or for a variable */
  special(name: string): string | undefined;
  readonly files: Parameters<typeof openForReading>[0];
  readonly random: Parameters<typeof openForReading>[2];
  /** the container's processes: their streams are files below /proc */
  readonly processes: Pick<ProcessTable, "find">;
  readonly signal: AbortSignal;
  /** the target of `/dev/tty` */
  readonly terminal: Terminal | undefined;
}

/** Collects the fields of a word. */
class Fields {
  readonly all: Piece[][] = [];
  #current: Piece[] | undefined;

  add(text: string, isQuoted: boolean): void {
    this.#current ??= [];
    this.#current.push({ text, isQuoted });
  }

  end(): void {
    if (this.#current !== undefined) this.all.push(this.#current);
    this.#current = undefined;
  }

  /** Splits the result of an unquoted expansion at the characters of IFS. */
  split(text: string, ifs: string): void {
    if (text === "") return;
    if (ifs === "") {
      this.add(text, false);
      return;
    }
    const spaces = [...ifs].filter((char) => /[ \t\n]/.test(char)).join("");
    let word = "";
    let hasWord = false;
    const flush = () => {
      if (hasWord) this.add(word, false);
      word = "";
      hasWord = false;
    };
    for (const char of text) {
      if (!ifs.includes(char)) {
        word += char;
        hasWord = true;
        continue;
      }
      if (!spaces.includes(char) && !hasWord && this.#current === undefined) this.add("", false);
      flush();
      this.end();
    }
    flush();
  }
}

const DEFAULT_IFS = " \t\n";

/** Expands a word into fields, with splitting and file names. */
export async function expandWord(word: WordNode, host: ExpansionHost): Promise<string[]> {
  const out: string[] = [];
  for (const pieces of await expandFields(word, host)) {
    if (hasPattern(pieces) && !host.state.options.has("f")) {
      const paths = expandPath(host.files, host.state.cwd, pieces);
      out.push(...(paths.length > 0 ? paths : [textOf(pieces)]));
    } else out.push(textOf(pieces));
  }
  return out;
}

async function expandFields(word: WordNode, host: ExpansionHost): Promise<Piece[][]> {
  const out: Piece[][] = [];
  for (const parts of await expandBraces(word.parts, host)) {
    const fields = new Fields();
    for (const part of parts) await expandPart(part, host, fields);
    fields.end();
    out.push(...fields.all);
  }
  return out;
}

/** Expands a word into one text: for assignments, here documents, the word of `case`. */
export async function expandText(word: WordNode, host: ExpansionHost): Promise<string> {
  return textOf(await expandPieces(word, host));
}

/** Expands a word without splitting and keeps track of quotes: for patterns. */
export async function expandPieces(word: WordNode, host: ExpansionHost): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for (const part of word.parts) {
    const isQuoted = part.type === "SingleQuoted" || part.type === "DoubleQuoted" || part.type === "Escaped";
    pieces.push({ text: await partText(part, host), isQuoted });
  }
  return pieces;
}

async function expandPart(part: WordPart, host: ExpansionHost, fields: Fields): Promise<void> {
  const ifs = host.state.get("IFS") ?? DEFAULT_IFS;
  switch (part.type) {
    case "Literal":
      return fields.add(part.value, false);
    case "Glob":
      return fields.add(part.pattern, false);
    case "SingleQuoted":
    case "Escaped":
      return fields.add(part.value, true);
    case "DoubleQuoted":
      return expandQuoted(part.parts, host, fields);
    case "TildeExpansion":
      return fields.add(await partText(part, host), true);
    case "ParameterExpansion":
      if ((part.parameter === "@" || part.parameter === "*") && part.operation === null) {
        host.state.parameters.forEach((text, index) => {
          if (index > 0) fields.end();
          fields.split(text, ifs);
        });
        return;
      }
      return fields.split(await partText(part, host), ifs);
    default:
      return fields.split(await partText(part, host), ifs);
  }
}

async function expandQuoted(parts: readonly WordPart[], host: ExpansionHost, fields: Fields): Promise<void> {
  // "$@" alone becomes one field per parameter, possibly none.
  const isAll = (part: WordPart) =>
    part.type === "ParameterExpansion" && part.parameter === "@" && part.operation === null;
  if (parts.length !== 1 || !isAll(parts[0] as WordPart)) fields.add("", true);
  for (const part of parts) {
    if (!isAll(part)) {
      fields.add(await partText(part, host), true);
      continue;
    }
    host.state.parameters.forEach((text, index) => {
      if (index > 0) fields.end();
      fields.add(text, true);
    });
  }
}

async function partText(part: WordPart, host: ExpansionHost): Promise<string> {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "Escaped":
      return part.value;
    case "Glob":
      return part.pattern;
    case "DoubleQuoted": {
      const texts: string[] = [];
      for (const inner of part.parts) texts.push(await partText(inner, host));
      return texts.join("");
    }
    case "TildeExpansion":
      return part.user === null ? (host.state.get("HOME") ?? "/") : `~${part.user}`;
    case "ParameterExpansion":
      return expandParameter(part, host);
    case "CommandSubstitution":
      return substitute(part.body, host);
    case "ArithmeticExpansion":
      return String(await evaluate(part.expression.expression, arithmeticContext(host)));
    case "BraceExpansion":
      return (await Promise.all(part.items.map((item) => braceTexts(item, host)))).flat().join(" ");
    default:
      return "";
  }
}

function expandParameter(part: ParameterPart, host: ExpansionHost): Promise<string> | string {
  return expandOperation(part, host);
}

/** `$(cmd)`, without trailing newlines; `$(< file)` reads the file. */
async function substitute(body: ScriptNode, host: ExpansionHost): Promise<string> {
  const file = await readOnly(body, host);
  const text = file ?? (await host.substitute(body));
  return text.replace(/\n+$/, "").replaceAll("\0", "");
}

async function readOnly(body: ScriptNode, host: ExpansionHost): Promise<string | undefined> {
  const command = body.statements.length === 1 ? body.statements[0]?.pipelines[0]?.commands[0] : undefined;
  if (command?.type !== "SimpleCommand" || command.name !== null || command.redirections.length !== 1) return undefined;
  const redirection = command.redirections[0];
  if (redirection?.operator !== "<" || redirection.target.type !== "Word") return undefined;
  const path = resolvePath(host.state.cwd, await expandText(redirection.target, host));
  return (await readAll(openForReading(host.files, path, host.random), host.signal)).toString();
}

export function arithmeticContext(host: ExpansionHost): ArithmeticContext {
  return {
    state: host.state,
    parameter: (name) => host.special(name),
    substitute: (command) => substitute(host.parse(command), host),
    braced: async (content) => {
      const script = host.parse(`: "\${${content}}"`);
      const command = script.statements[0]?.pipelines[0]?.commands[0];
      const word = command?.type === "SimpleCommand" ? command.args[0] : undefined;
      return word === undefined ? "" : expandText(word, host);
    },
    parse: (text) => host.parseArithmetic(text),
  };
}

/** `a{b,c}` becomes `ab ac`, before all other expansions. */
async function expandBraces(parts: readonly WordPart[], host: ExpansionHost): Promise<WordPart[][]> {
  const at = parts.findIndex((part) => part.type === "BraceExpansion");
  const brace = parts[at];
  if (brace?.type !== "BraceExpansion") return [[...parts]];
  const out: WordPart[][] = [];
  for (const item of brace.items) {
    const middles: (readonly WordPart[])[] =
      item.type === "Word"
        ? [item.word.parts]
        : (await braceTexts(item, host)).map((value) => [{ type: "Literal", value } as const]);
    for (const middle of middles) {
      out.push(...(await expandBraces([...parts.slice(0, at), ...middle, ...parts.slice(at + 1)], host)));
    }
  }
  return out;
}

const MAX_RANGE = 10_000;

async function braceTexts(item: BraceItem, host: ExpansionHost): Promise<string[]> {
  if (item.type === "Word") return [await expandText(item.word, host)];
  const isText = typeof item.start === "string";
  const code = (value: string | number) => (typeof value === "string" ? value.charCodeAt(0) : value);
  const [start, end] = [code(item.start), code(item.end)];
  const step = Math.max(1, Math.abs(item.step ?? 1));
  const out: string[] = [];
  for (let value = start; start <= end ? value <= end : value >= end; value += start <= end ? step : -step) {
    out.push(isText ? String.fromCharCode(value) : String(value));
    if (out.length > MAX_RANGE) break;
  }
  return out;
}

/** The value of `$name`, `${name:-word}` and the like. @throws ShellError if a required parameter is not set */
async function expandOperation(part: ParameterPart, host: ExpansionHost): Promise<string> {
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
