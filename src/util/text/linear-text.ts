/**
 * Changes of texts in linear time. A pattern that begins with a repeat, or ends with one and `$`, begins again at each place of a long
 * run and takes quadratic time.
 */

/** A text without this character at its end. */
export function withoutEnding(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end--;
  return text.slice(0, end);
}

/** A text with a separator in place of line breaks and of the white space around them. */
export function joinLines(text: string, separator: string): string {
  return text.replace(/\s+/g, (space) => (space.includes("\n") ? separator : space));
}
