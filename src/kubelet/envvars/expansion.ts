/**
 * Replaces `$(NAME)` by the variable's value. `$$` stands for one `$`, so `$$(NAME)` stays as `$(NAME)`; a name that nobody
 * knows stays as it is written. Pure.
 *
 * Mirrors third_party/forked/golang/expansion/expand.go (Expand).
 */
export function expand(text: string, lookup: (name: string) => string | undefined): string {
  let out = "";
  let from = 0;
  for (let i = text.indexOf("$"); i >= 0 && i + 1 < text.length; i = text.indexOf("$", i)) {
    out += text.slice(from, i);
    const next = text[i + 1];
    const end = next === "(" ? text.indexOf(")", i + 2) : -1;
    if (next === "$") {
      out += "$";
      i += 2;
    } else if (end >= 0) {
      const name = text.slice(i + 2, end);
      out += lookup(name) ?? `$(${name})`;
      i = end + 1;
    } else {
      // Neither an escape nor a reference: both characters stay.
      out += text.slice(i, i + 2);
      i += 2;
    }
    from = i;
  }
  return out + text.slice(from);
}

/** The first of the maps that has the name decides. Mirrors MappingFuncFor. */
export function lookupIn(...maps: readonly ReadonlyMap<string, string>[]): (name: string) => string | undefined {
  return (name) => maps.find((map) => map.has(name))?.get(name);
}
