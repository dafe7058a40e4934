const CONTINUED = " \\";

/**
 * Breaks a shell command into lines of at most `width` columns, as far as its words allow it. A shell continues each line in
 * the next one.
 * @param indent before the further lines
 * @param widthOf the columns of a text; default: one for each character
 */
export function continuedLine(
  parts: readonly string[],
  indent: string,
  width: number,
  widthOf: (text: string) => number = ({ length }) => length,
): string[] {
  const lines: string[] = [];
  for (const part of parts) {
    const last = lines.at(-1);
    const longer = last === undefined ? part : `${last} ${part}`;
    if (last === undefined || widthOf(longer) + CONTINUED.length <= width) lines.splice(-1, 1, longer);
    else lines.push(indent + part);
  }
  return lines.map((line, i) => (i < lines.length - 1 ? line + CONTINUED : line));
}
