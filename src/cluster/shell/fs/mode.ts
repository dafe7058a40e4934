import { EXECUTE, READ, SET_GID, SET_UID, STICKY, WRITE } from "./permission.js";

const SPECIAL = [
  [SET_UID, "s"],
  [SET_GID, "s"],
  [STICKY, "t"],
] as const;

/** A mode as `ls -l` prints it: `rwxr-sr-t`. */
export function modeText(mode: number): string {
  return SPECIAL.map(([bit, letter], at) => {
    const [read = "-", write = "-", execute = "-"] = lettersOf(mode >> (6 - 3 * at), "-");
    const last = execute === "x" ? letter : letter.toUpperCase();
    return `${read}${write}${mode & bit ? last : execute}`;
  }).join("");
}

/** The lowest three bits: `rx`. @param absent in place of a missing letter */
export function lettersOf(bits: number, absent = ""): string {
  return `${bits & READ ? "r" : absent}${bits & WRITE ? "w" : absent}${bits & EXECUTE ? "x" : absent}`;
}

/** `0644` */
export function octal(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

const CLASSES: Readonly<Record<string, number>> = { u: 0o4700, g: 0o2070, o: 0o1007, a: 0o7777 };
const RIGHTS: Readonly<Record<string, number>> = { r: 0o444, w: 0o222, x: 0o111, s: 0o6000, t: 0o1000 };

/**
 * The mode after `chmod WANTED`. Pure. Mirrors bb_parse_mode in busybox's libbb/parse_mode.c.
 * @param wanted `0644`, `u+x`, `g-w,o=`, `u=rwX`
 * @param options.umask of clauses without a class: `+x`
 * @returns undefined for an invalid mode
 */
export function changedMode(
  wanted: string,
  before: number,
  { isFolder, umask }: { readonly isFolder: boolean; readonly umask: number },
): number | undefined {
  if (/^[0-7]{1,4}$/.test(wanted)) return Number.parseInt(wanted, 8);
  let mode = before;
  for (const clause of wanted.split(",")) {
    const [, who = "", changes = ""] = /^([ugoa]*)((?:[-+=](?:[rwxXst]*|[ugo]))+)$/.exec(clause) ?? [];
    if (changes === "") return undefined;
    const mask = who === "" ? 0o7777 & ~umask : [...who].reduce((sum, one) => sum | (CLASSES[one] ?? 0), 0);
    for (const [, operator, letters = ""] of changes.matchAll(/([-+=])([rwxXstugo]*)/g)) {
      const canSearch = isFolder || (mode & 0o111) !== 0;
      const bits = [...letters].reduce((sum, one) => sum | rightsOf(one, mode, canSearch), 0) & mask;
      if (operator === "-") mode &= ~bits;
      else mode = operator === "+" ? mode | bits : (mode & ~mask) | bits;
    }
  }
  return mode;
}

function rightsOf(letter: string, mode: number, canSearch: boolean): number {
  const shift = "ogu".indexOf(letter) * 3;
  if (shift >= 0) return ((mode >> shift) & 7) * 0o111;
  return letter === "X" ? (canSearch ? 0o111 : 0) : (RIGHTS[letter] ?? 0);
}
