/**
 * Replaces `$(NAME)` by a variable's value; `$$(NAME)` becomes `$(NAME)` itself, and unknown names stay as written.
 *
 * Mirrors third_party/forked/golang/expansion/expand.go (Expand, MappingFuncFor). Pure.
 */
export function expand(text: string, lookUp: (name: string) => string | undefined): string {
  let out = "";
  const lastClosing = text.lastIndexOf(")");
  for (let i = 0; i < text.length; i++) {
    const character = text[i] ?? "";
    if (character !== "$" || i + 1 === text.length) {
      out += character;
      continue;
    }
    const next = text[i + 1] ?? "";
    const end = next === "(" && i + 2 <= lastClosing ? text.indexOf(")", i + 2) : -1;
    if (end >= 0) {
      const name = text.slice(i + 2, end);
      out += lookUp(name) ?? `$(${name})`;
      i = end;
    } else if (next === "$") {
      // An escaped dollar: what follows is not a reference.
      out += "$";
      i++;
    } else {
      // An opening bracket that is never closed, or another character: both are copied as they are.
      out += `$${next}`;
      i++;
    }
  }
  return out;
}
