import { patternSource } from "../../language/patterns.js";

/** Whether a pattern names a member or a folder that it is in, from the beginning of its name or of a part of it. */
export function globMatches(pattern: string, name: string): boolean {
  const source = patternSource([{ text: pattern.replace(/\/+$/, ""), isQuoted: false }]);
  return new RegExp(`(?:^|/)${source}(?:/|$)`).test(name);
}
