/** The texts of the parser's tokens; those of keywords are their names. */
const SIGNS: Readonly<Record<string, string>> = {
  SEMICOLON: ";",
  AMP: "&",
  PIPE: "|",
  AND_AND: "&&",
  OR_OR: "||",
  LPAREN: "(",
  RPAREN: ")",
  LBRACE: "{",
  RBRACE: "}",
  DSEMI: ";;",
  DPAREN_END: "))",
};
/** ash says what it expects only for these. */
const EXPECTED = new Set(["THEN", "DO", "DONE", "FI", "RPAREN", "RBRACE"]);

const textOf = (token: string) => SIGNS[token] ?? token.toLowerCase();

/** What just-bash's parser says about a script, in the words of busybox's ash. Other problems keep theirs. */
export function syntaxProblem(message: string): string {
  const problem = message.replace(/^(?:Parse error at )?(?:line )?\d+(?::\d+)?: /, "");
  if (/looking for matching `["']'$/.test(problem)) return "unterminated quoted string";
  if (problem === "Expected variable name in for loop") return "bad for loop variable";
  const [, wanted, got] = /^Expected ([A-Z_]+), got ([A-Z_]+)$/.exec(problem) ?? [];
  if (wanted === undefined || got === undefined) return message;
  // A case that ends early lacks the end of a pattern.
  const expected = wanted === "ESAC" ? "RPAREN" : wanted;
  const hint = EXPECTED.has(expected) ? ` (expecting "${textOf(expected)}")` : "";
  if (got === "EOF") return `unexpected end of file${hint}`;
  if (got === "NEWLINE") return `unexpected newline${hint}`;
  return /^(WORD|NAME|NUMBER|ASSIGNMENT_WORD)$/.test(got)
    ? `unexpected word${hint}`
    : `unexpected "${textOf(got)}"${hint}`;
}
