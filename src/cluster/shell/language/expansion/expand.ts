import { decodeText } from "../../byte-text.js";
import { openForReading } from "../../fs/open-file.js";
import { resolvePath } from "../../fs/paths.js";
import { readAccounts } from "../../process/accounts.js";
import type { HeldMemory } from "../../process/memory-account.js";
import type { Self } from "../../process/process.js";
import type { ProcessTable } from "../../process/process-table.js";
import type { Terminal } from "../../process/terminal.js";
import { dropZeros, readAll } from "../../streams.js";
import { ShellError, type ShellState } from "../state.js";
import type { ArithExpr, ParameterOperation, ParameterPart, ScriptNode, WordNode, WordPart } from "../syntax/ast.js";
import { type ArithmeticContext, evaluate } from "./arithmetic.js";
import { BYTES_PER_FIELD, expandBraces, FIELDS_PER_CHECK, literalBraces } from "./braces.js";
import type { Piece } from "./glob.js";
import { countCharacters, removePattern, replacePattern, substring } from "./parameter-change.js";
import { expandPath, hasPattern, textOf } from "./patterns.js";

/** The parts of a shell that expansion needs. */
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
  /** the shell's own process: its memory, and its turn among others */
  readonly self: Pick<Self, "memory" | "turn">;
  readonly signal: AbortSignal;
  /** the target of `/dev/tty` */
  readonly terminal: Terminal | undefined;
}

/** Collects the fields of a word. */
class Fields {
  readonly all: Piece[][] = [];
  #current: Piece[] | undefined;

  constructor(readonly memory: HeldMemory) {}

  add(text: string, isQuoted: boolean): void {
    if (this.#current === undefined) this.#current = [{ text, isQuoted }];
    else this.#current.push({ text, isQuoted });
  }

  /** @throws OutOfMemoryError */
  end(): void {
    if (this.#current === undefined) return;
    this.all.push(this.#current);
    this.#current = undefined;
    if (this.all.length % FIELDS_PER_CHECK === 0) this.memory.require(this.all.length * BYTES_PER_FIELD);
  }

  /** Splits the result of an unquoted expansion at the characters of IFS. */
  split(text: string, ifs: string): void {
    if (text === "") return;
    let from = 0;
    for (let at = 0; at <= text.length; at++) {
      const char = text.charAt(at);
      if (char !== "" && !ifs.includes(char)) continue;
      const hasWord = at > from;
      if (char !== "" && !SPACES.includes(char) && !hasWord && this.#current === undefined) this.add("", false);
      if (hasWord) this.add(text.slice(from, at), false);
      if (char !== "") this.end();
      from = at + 1;
    }
  }
}

const SPACES = " \t\n";

const NEWLINE = 0x0a;
const DEFAULT_IFS = " \t\n";

/** Expands a word into fields, with splitting and file names. */
export async function expandWord(word: WordNode, host: ExpansionHost): Promise<string[]> {
  const out: string[] = [];
  for (const pieces of await expandFields(word, host)) {
    if (out.length % FIELDS_PER_CHECK === FIELDS_PER_CHECK - 1) await host.self.turn(FIELDS_PER_CHECK / 16);
    const text = join(pieces, host);
    if (hasPattern(pieces) && !host.state.options.has("f")) {
      const paths = await expandPath({ files: host.files, cwd: host.state.cwd, self: host.self }, pieces);
      if (paths.length === 0) out.push(text);
      else for (const path of paths) out.push(path);
    } else out.push(text);
  }
  return out;
}

/** The text of a word. @throws OutOfMemoryError if it is too long */
function join(pieces: readonly Piece[], { self }: ExpansionHost): string {
  if (pieces.length === 1) return (pieces[0] as Piece).text;
  let length = 0;
  for (const { text } of pieces) length += text.length;
  self.memory.requireText(length);
  return textOf(pieces);
}

async function expandFields(word: WordNode, host: ExpansionHost): Promise<Piece[][]> {
  const fields = new Fields(host.self.memory);
  const words = await expandBraces(word.parts, host);
  for (const [index, parts] of words.entries()) {
    if (index % FIELDS_PER_CHECK === FIELDS_PER_CHECK - 1) await host.self.turn(FIELDS_PER_CHECK / 16);
    for (const part of parts) await expandPart(part, host, fields);
    fields.end();
  }
  return fields.all;
}

/** Expands a word into one text: for assignments, here documents, the word of `case`. */
export async function expandText(word: WordNode, host: ExpansionHost): Promise<string> {
  return join(await expandPieces(word, host), host);
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
    for (const [index, text] of host.state.parameters.entries()) {
      if (index > 0) fields.end();
      fields.add(text, true);
      if (index % FIELDS_PER_CHECK === FIELDS_PER_CHECK - 1) await host.self.turn(FIELDS_PER_CHECK / 16);
    }
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
      const pieces: Piece[] = [];
      for (const inner of part.parts) pieces.push({ text: await partText(inner, host), isQuoted: true });
      return join(pieces, host);
    }
    case "TildeExpansion":
      if (part.user === null) return host.state.get("HOME") ?? "/";
      return readAccounts(host.files).find(({ name }) => name === part.user)?.home ?? `~${part.user}`;
    case "ParameterExpansion":
      return expandOperation(part, host);
    case "CommandSubstitution":
      return substitute(part.body, host);
    case "ArithmeticExpansion":
      return String(await evaluate(part.expression.expression, arithmeticContext(host)));
    case "BraceExpansion":
      return expandText({ type: "Word", parts: literalBraces(part) }, host);
    default:
      return "";
  }
}

/** `$(cmd)`, without trailing newlines; `$(< file)` reads the file. */
async function substitute(body: ScriptNode, host: ExpansionHost): Promise<string> {
  const text = (await readOnly(body, host)) ?? (await host.substitute(body));
  let end = text.length;
  while (text.charCodeAt(end - 1) === NEWLINE) end--;
  return text.slice(0, end);
}

async function readOnly(body: ScriptNode, host: ExpansionHost): Promise<string | undefined> {
  const command = body.statements.length === 1 ? body.statements[0]?.pipelines[0]?.commands[0] : undefined;
  if (command?.type !== "SimpleCommand" || command.name !== null || command.redirections.length !== 1) return undefined;
  const redirection = command.redirections[0];
  if (redirection?.operator !== "<" || redirection.target.type !== "Word") return undefined;
  const path = resolvePath(host.state.cwd, await expandText(redirection.target, host));
  const bytes = await readAll(openForReading(host.files, path, host.random), host.signal, host.self, dropZeros);
  host.self.memory.requireText(bytes.length);
  host.self.memory.release(bytes.length);
  return decodeText(bytes);
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
      const message = operation.word === null ? "" : await expandText(operation.word, host);
      throw new ShellError(`${parameter}: ${message || `parameter not set${operation.checkEmpty ? " or null" : ""}`}`);
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
    if (parameters.length === 0) return undefined;
    let length = parameters.length;
    for (const text of parameters) length += text.length;
    host.self.memory.requireText(length);
    return parameters.join((host.state.get("IFS") ?? " ").charAt(0));
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
      return String(parameter === "@" || parameter === "*" ? host.state.parameters.length : countCharacters(value));
    case "Substring": {
      const context = arithmeticContext(host);
      const offset = Number(await evaluate(operation.offset.expression, context));
      const length =
        operation.length === null ? undefined : Number(await evaluate(operation.length.expression, context));
      return substring(value, offset, length);
    }
    case "PatternRemoval":
      return removePattern(value, await expandPieces(operation.pattern, host), operation, host.self);
    case "PatternReplacement": {
      const pattern = await expandPieces(operation.pattern, host);
      const text = operation.replacement === null ? "" : await expandText(operation.replacement, host);
      return replacePattern(value, pattern, text, operation, host.self);
    }
    case "CaseModification": {
      const convert = (text: string) => (operation.direction === "upper" ? text.toUpperCase() : text.toLowerCase());
      return operation.all ? convert(value) : convert(value.slice(0, 1)) + value.slice(1);
    }
    default:
      throw new ShellError(`${parameter}: bad substitution`);
  }
}

/** Whether a word is a single literal: names of builtins and functions usually are. */
export function literalText(word: WordNode): string | undefined {
  const [part] = word.parts;
  return word.parts.length === 1 && part?.type === "Literal" ? part.value : undefined;
}
