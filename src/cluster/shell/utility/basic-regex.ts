/** What a backslash makes special in a basic regular expression, and literal in an extended one. */
const SWAPPED = "(){}|+?";

/** A basic regular expression (POSIX, with GNU's `\|`, `\+` and `\?`) as an extended one. */
export function extendedRegex(basic: string): string {
  let out = "";
  for (let at = 0; at < basic.length; at++) {
    const char = basic.charAt(at);
    const next = basic.charAt(at + 1);
    const set = char === "[" ? /^\[\^?\]?(?:\[:\w{1,9}:\]|[^\]])*\]/.exec(basic.slice(at))?.[0] : undefined;
    if (set !== undefined) {
      out += set;
      at += set.length - 1;
    } else if (char === "\\" && next !== "") {
      out += SWAPPED.includes(next) ? next : char + next;
      at++;
    } else if (SWAPPED.includes(char)) out += `\\${char}`;
    // A star at the start of an expression is literal.
    else if (char === "*" && /(^|(?<!\\)(\\\\)*\\[(|])\^?$/.test(basic.slice(0, at))) out += "\\*";
    else out += char;
  }
  return out;
}
