/**
 * Replaces what is between `<!-- begin NAME -->` and `<!-- end NAME -->` in a Markdown text.
 * @throws Error if the marks are missing
 */
export function replaceSection(text: string, name: string, content: string): string {
  const begin = `<!-- begin ${name} -->`;
  const from = text.indexOf(begin);
  const to = text.indexOf(`<!-- end ${name} -->`);
  if (from < 0 || to < from) throw new Error(`the marks of section ${name} are missing`);
  return `${text.slice(0, from + begin.length)}\n${content}\n${text.slice(to)}`;
}
