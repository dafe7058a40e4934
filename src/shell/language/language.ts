import { createContext, Script } from "node:vm";
import type { ArithExpr, ScriptNode } from "./ast.js";
import { ShellError } from "./state.js";

/** The parser of just-bash, loaded when a shell is first needed: that takes about a tenth of a second. */
export interface ShellLanguage {
  /** @throws ShellError for what is no script */
  parse(text: string): ScriptNode;
  parseArithmetic(text: string): ArithExpr;
  /** Whether the text is the beginning of a script that goes on. */
  isIncomplete(text: string): boolean;
}

let loaded: Promise<ShellLanguage> | undefined;

/** Loads it once for the process: it holds no state. */
export function loadLanguage(): Promise<ShellLanguage> {
  loaded ??= import("just-bash").then(({ parse }) => createLanguage(parse));
  return loaded;
}

/** What just-bash refuses more of than this, a script of a container may not have either. */
const MAX_CACHED_SCRIPTS = 100;

/** ms of the wall that one script may be parsed for; a long one takes a few. */
const PARSE_LIMIT_MS = 1_000;

function createLanguage(parseUnbounded: (text: string) => ScriptNode): ShellLanguage {
  const parseBash = bounded(parseUnbounded);
  // The same `sh -c` text comes again and again: probes, restarts.
  const cache = new Map<string, ScriptNode>();
  const parse = (text: string): ScriptNode => {
    const known = cache.get(text);
    if (known !== undefined) return known;
    let script: ScriptNode;
    try {
      script = parseBash(text);
    } catch (error) {
      throw new ShellError(`syntax error: ${describe(error)}`);
    }
    if (cache.size >= MAX_CACHED_SCRIPTS) cache.clear();
    cache.set(text, script);
    return script;
  };
  return {
    parse,
    parseArithmetic(text) {
      const command = parse(`((${text}))`).statements[0]?.pipelines[0]?.commands[0];
      if (command?.type !== "ArithmeticCommand") throw new ShellError("arithmetic syntax error");
      return command.expression.expression;
    },
    isIncomplete(text) {
      try {
        parseBash(text);
        return /(^|[^\\])(\\\\)*\\\n$/.test(text);
      } catch (error) {
        return /\bEOF\b|end of file/i.test(describe(error));
      }
    },
  };
}

/**
 * just-bash goes round for ever, and takes all memory there is, in some texts without an end, such as `$(( $x`. A loop that
 * never waits can be ended from outside of JavaScript only.
 * @returns a parser that throws what `parse` throws, and that a text has no end
 */
function bounded(parse: (text: string) => ScriptNode): (text: string) => ScriptNode {
  const inside: { parse?: () => ScriptNode } = createContext({});
  const call = new Script("parse()");
  return (text) => {
    inside.parse = () => parse(text);
    try {
      return call.runInContext(inside, { timeout: PARSE_LIMIT_MS }) as ScriptNode;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      throw new Error("something is opened and not closed");
    }
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
