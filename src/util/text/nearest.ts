/** The name that is most similar to an unknown word, ignoring case; undefined if no name is similar. Pure. */
export function nearest(names: readonly string[], word: string): string | undefined {
  const mostEdits = Math.max(2, Math.floor(word.length / 2));
  const ranked = names
    // The distance is at least the difference in length, so very long words are not compared.
    .filter((name) => Math.abs(name.length - word.length) <= mostEdits)
    .map((name) => ({ name, distance: editDistance(name.toLowerCase(), word.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  if (best !== undefined && best.distance <= mostEdits) return best.name;
  return names.find((name) => word.length >= 3 && name.toLowerCase().includes(word.toLowerCase()));
}

/** The Levenshtein distance. */
export function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
