import { createContext, Script } from "node:vm";
import { messageOf } from "../../../../util/errors.js";
import { ShellError } from "../state.js";
import type { ArithExpr, ScriptNode } from "./ast.js";
import { syntaxProblem } from "./error-words.js";
import { restoreLargeLiterals } from "./literals.js";

/** just-bash's parser, loaded when a shell first needs it, because loading takes a tenth of a second. */
export interface ShellLanguage {
  /** @throws ShellError for a syntax error */
  parse(text: string): ScriptNode;
  parseArithmetic(text: string): ArithExpr;
  /** Whether the text is an incomplete script. */
  isIncomplete(text: string): boolean;
}

let loaded: Promise<ShellLanguage> | undefined;

/** Loads the parser once per process: it has no state. */
export function loadLanguage(): Promise<ShellLanguage> {
  loaded ??= import("./parser.js").then(({ parse }) => createLanguage(parse));
  return loaded;
}

/** just-bash's limit (MAX_INPUT_SIZE). */
const MAX_SCRIPT_LENGTH = 1_000_000;
const MAX_CACHED_SCRIPTS = 100;

/** The time limit for parsing one script. 128 KiB, the longest argument of `sh -c`, take about 100 ms. */
const PARSE_LIMIT_MS = 150;
const PARSE_LIMIT_MS_PER_KIB = 4;
/** A process that had to wait for the machine's CPU gets the time limit again. */
const MAX_PARSE_ATTEMPTS = 5;

function createLanguage(parseUnbounded: (text: string) => ScriptNode): ShellLanguage {
  const parseBash = bounded((text) => parseWords(text, parseUnbounded));
  // The same `sh -c` text is parsed again and again: probes, restarts.
  const cache = new Map<string, ScriptNode>();
  const parse = (text: string): ScriptNode => {
    const known = cache.get(text);
    if (known !== undefined) return known;
    if (text.length > MAX_SCRIPT_LENGTH) {
      throw new ShellError(`script too large: ${text.length} characters, this shell reads up to ${MAX_SCRIPT_LENGTH}`);
    }
    let script: ScriptNode;
    try {
      script = parseBash(text);
      restoreLargeLiterals(text, script, (expression) => arithmeticOf(parseBash(`((${expression}))`)));
    } catch (error) {
      throw new ShellError(`syntax error: ${syntaxProblem(messageOf(error))}`);
    }
    if (cache.size >= MAX_CACHED_SCRIPTS) cache.clear();
    cache.set(text, script);
    return script;
  };
  return {
    parse,
    parseArithmetic: (text) => arithmeticOf(parse(`((${text}))`)),
    isIncomplete(text) {
      try {
        parseBash(text);
        return /(^|[^\\])(\\\\)*\\\n$/.test(text);
      } catch (error) {
        return /\bEOF\b|end of file/i.test(messageOf(error));
      }
    },
  };
}

function arithmeticOf(script: ScriptNode): ArithExpr {
  const command = script.statements[0]?.pipelines[0]?.commands[0];
  if (command?.type !== "ArithmeticCommand") throw new ShellError("arithmetic syntax error");
  return command.expression.expression;
}

/**
 * Parses a script in which words look like assignments: `for x in a=b`, `case $1 in a=b)`, `< a=b`. just-bash's parser
 * refuses them, but takes an escaped = for a part of a word.
 */
function parseWords(text: string, parse: (text: string) => ScriptNode): ScriptNode {
  try {
    return parse(text);
  } catch (error) {
    const equals = refusedEquals(text, messageOf(error), parse);
    if (equals === undefined) throw error;
    return parseWords(`${text.slice(0, equals)}\\${text.slice(equals)}`, parse);
  }
}

/** The place of the = that an error is about. The error of a command in `$(...)` counts lines and columns from its start. */
function refusedEquals(text: string, message: string, parse: (text: string) => ScriptNode): number | undefined {
  const [, line, column] = /^Parse error at (\d+):(\d+)/.exec(message) ?? [];
  if (line === undefined) return undefined;
  const substitutions = Array.from(text.matchAll(/\$\(|`/g), ({ 0: sign, index }) => index + sign.length);
  for (const start of [0, ...substitutions]) {
    const lines = text.slice(start).split("\n");
    const above = lines.slice(0, Number(line) - 1).reduce((sum, one) => sum + one.length + 1, 0);
    const at = start + above + Number(column) - 1;
    const [name] = /^\w+(?:\[\w*\])?\+?(?==)/.exec(text.slice(at)) ?? [];
    const equals = at + (name?.length ?? 0);
    if (name !== undefined && (start === 0 || problemOf(text.slice(start, equals + 1), parse) === message))
      return equals;
  }
  return undefined;
}

function problemOf(text: string, parse: (text: string) => ScriptNode): string | undefined {
  try {
    parse(text);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * just-bash's parser loops forever, and takes all memory, for some unfinished texts such as `$(( $x`. Only
 * the time limit of `node:vm` ends such a loop.
 * @returns a parser with a time limit
 */
function bounded(parse: (text: string) => ScriptNode): (text: string) => ScriptNode {
  const inside: { parse?: () => ScriptNode } = createContext({});
  const call = new Script("parse()");
  return (text) => {
    inside.parse = () => parse(text);
    const timeout = PARSE_LIMIT_MS + PARSE_LIMIT_MS_PER_KIB * Math.ceil(text.length / 1024);
    for (let attempt = 1; ; attempt++) {
      const before = process.cpuUsage();
      try {
        return call.runInContext(inside, { timeout }) as ScriptNode;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
        const { user, system } = process.cpuUsage(before);
        const hadTime = (user + system) / 1000 > timeout / 2;
        if (!hadTime && attempt < MAX_PARSE_ATTEMPTS) continue;
        throw new Error(`not parsed in ${timeout} ms: a quote, an expansion or a command may be unterminated`);
      }
    }
  };
}
