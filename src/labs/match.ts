/**
 * Finds a pattern in what a command printed. A trace breaks long sentences into lines: where no line has it, the text is
 * searched once more with every break taken for a space.
 * @returns what was found
 */
export function findIn(text: string, pattern: string): string | undefined {
  const expression = new RegExp(pattern, "m");
  return (expression.exec(text) ?? expression.exec(unbroken(text)))?.[0];
}

/** How many lines a sentence of a trace may take. */
const MOST_LINES = 6;

/** Below time and actor, a trace goes on with what did not fit into a line. */
const CONTINUES = /^ {12,}\S/;

/** The lines in which a pattern is found: one, or a few that follow each other. What a trace has broken is one line again. */
export function linesWith(text: string, pattern: string): readonly string[] | undefined {
  const expression = new RegExp(pattern);
  const lines = text.split("\n");
  for (let count = 1; count <= MOST_LINES; count++) {
    for (let i = 0; i + count <= lines.length; i++) {
      const some = lines.slice(i, i + count);
      if (expression.test(unbroken(some.join("\n")))) return joined(some);
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
