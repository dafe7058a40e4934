/** A word that a shell reads unchanged; quoted only when necessary. Pure. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : quoted(word);
}

/** A word in single quotes. Pure. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
