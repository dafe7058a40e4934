/** What a trace says by signs, it says in ASCII where a terminal has no more. */
const SIGNS: readonly (readonly [sign: string, either: string])[] = [
  ["→", "(?:→|->)"],
  ["▸", "(?:▸|>)"],
];

function expressionOf(pattern: string, flags = ""): RegExp {
  const either = SIGNS.reduce((text, [sign, both]) => text.replaceAll(sign, both), pattern);
  return new RegExp(either, flags);
}

/**
 * Finds a pattern in what a command printed. A trace breaks long sentences into lines: where no line has it, the text is
 * searched once more with every break taken for a space.
 * @returns what was found
 */
export function findIn(text: string, pattern: string): string | undefined {
  const expression = expressionOf(pattern, "m");
  return (expression.exec(text) ?? expression.exec(unbroken(text)))?.[0];
}

/** How many lines a sentence of a trace may take. */
const MOST_LINES = 6;

/** Below time and actor, a trace goes on with what did not fit into a line. */
const CONTINUES = /^ {12,}\S/;

/**
 * For each pattern the lines in which it is found: one, or a few that follow each other. What a trace has broken is one line again.
 * The same may have been said before: a pattern is looked for from where the one before it was found, and only where it is not
 * there from the beginning.
 * @returns undefined for a pattern that is found nowhere
 */
export function linesWith(text: string, patterns: readonly string[]): readonly (readonly string[] | undefined)[] {
  const lines = text.split("\n");
  let behind = 0;
  return patterns.map((pattern) => {
    const expression = expressionOf(pattern);
    const found = firstIn(lines, expression, behind) ?? firstIn(lines, expression, 0);
    if (found === undefined) return undefined;
    behind = found.start;
    return joined(lines.slice(found.start, found.end));
  });
}

function firstIn(
  lines: readonly string[],
  expression: RegExp,
  from: number,
): { start: number; end: number } | undefined {
  for (let count = 1; count <= MOST_LINES; count++) {
    for (let start = from; start + count <= lines.length; start++) {
      const end = start + count;
      if (expression.test(unbroken(lines.slice(start, end).join("\n")))) return { start, end };
    }
  }
  return undefined;
}

function joined(lines: readonly string[]): readonly string[] {
  const whole: string[] = [];
  for (const line of lines) {
    const before = CONTINUES.test(line) ? whole.pop() : undefined;
    whole.push(before === undefined ? line : `${before.trimEnd()} ${line.trim()}`);
  }
  return whole;
}

function unbroken(text: string): string {
  return text.replace(/\s*\n\s*/g, " ");
}
