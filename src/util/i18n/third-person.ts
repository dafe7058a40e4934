/** Verbs that begin the sentences of facts. */
const VERBS = new Set(
  `abandon accept add adopt allocate allow answer approve ask assign attach bind break bring call cancel change charge check choose clean collect
  configure connect continue count create cut decode delete deny dispatch do end evict execute fall fetch fill find finish follow forbid forget forward
  free generate give ignore keep kill leave let list load look make mark measure merge move note pass patch plan preempt prepare proxy pull put rank read
  refuse register release relist remove renew replace report request reset restart resume rotate route run scale send serve set show shut sign start
  stop store suspend sync take taint terminate test translate trust try update use wait watch wrap write`.split(/\s+/),
);
const THEN = /^(\w+)((?: it)? (?:or|and) )(\w+)/;

/**
 * An imperative as a sentence without its subject: `Store the token` becomes `stores the token`. A text that begins with no known verb stays
 * as it is.
 */
export function thirdPerson(text: string): string {
  const [first = ""] = /^[A-Za-z]+(?= |$)/.exec(text) ?? [];
  if (!VERBS.has(first.toLowerCase())) return text;
  if (/^do not /i.test(text)) return text.replace(/^do/i, "does");
  const both = THEN.exec(text);
  const [, , between = "", second = ""] = both ?? [];
  const verbs = VERBS.has(second) ? `${conjugated(first)}${between}${conjugated(second)}` : conjugated(first);
  return verbs + text.slice(VERBS.has(second) ? both?.[0].length : first.length);
}

function conjugated(verb: string): string {
  const lower = verb.toLowerCase();
  if (/[^aeiou]y$/.test(lower)) return lower.replace(/y$/, "ies");
  return /(?:o|ch|sh|ss|x)$/.test(lower) ? `${lower}es` : `${lower}s`;
}
