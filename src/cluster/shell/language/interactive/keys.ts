/** The meaning of a key for the line editor. */
export type Key = { readonly kind: "text"; readonly text: string } | { readonly kind: KeyName };

export type KeyName =
  | "enter"
  | "interrupt"
  | "end-of-input"
  | "backspace"
  | "delete"
  | "left"
  | "right"
  | "word-left"
  | "word-right"
  | "home"
  | "end"
  | "up"
  | "down"
  | "kill-before"
  | "kill-after"
  | "kill-word"
  | "clear"
  | "complete"
  | "unknown";

const CONTROLS: Readonly<Record<number, KeyName>> = {
  1: "home",
  2: "left",
  3: "interrupt",
  4: "end-of-input",
  5: "end",
  6: "right",
  8: "backspace",
  9: "complete",
  10: "enter",
  11: "kill-after",
  12: "clear",
  13: "enter",
  14: "down",
  16: "up",
  21: "kill-before",
  23: "kill-word",
  127: "backspace",
};

/** Sequences after ESC [ or ESC O, without modifiers: arrows and others, as xterm, the VT220 and rxvt send them. */
const SEQUENCES: Readonly<Record<string, KeyName>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  F: "end",
  H: "home",
  "1~": "home",
  "3~": "delete",
  "4~": "end",
  "7~": "home",
  "8~": "end",
  "1;5C": "word-right",
  "1;5D": "word-left",
  "1;3C": "word-right",
  "1;3D": "word-left",
};

const ESCAPE = 0x1b;
/** No keyboard sends longer sequences. */
const MAX_SEQUENCE = 16;

/**
 * The first key in the input.
 * @returns its length in bytes; undefined if it is incomplete
 */
export function firstKey(bytes: Uint8Array): { readonly key: Key; readonly length: number } | undefined {
  const first = bytes[0];
  if (first === undefined) return undefined;
  if (first === ESCAPE) return escapeSequence(bytes);
  if (first < 0x20 || first === 0x7f) return { key: { kind: CONTROLS[first] ?? "unknown" }, length: 1 };
  return text(bytes, first);
}

function escapeSequence(bytes: Uint8Array): { readonly key: Key; readonly length: number } | undefined {
  const second = bytes[1];
  if (second === undefined) return undefined;
  if (second === 0x62) return { key: { kind: "word-left" }, length: 2 }; // ESC b
  if (second === 0x66) return { key: { kind: "word-right" }, length: 2 }; // ESC f
  if (second !== 0x5b && second !== 0x4f) return { key: { kind: "unknown" }, length: 2 };
  for (let at = 2; at < Math.min(bytes.length, MAX_SEQUENCE); at++) {
    const byte = bytes[at] as number;
    if (byte < 0x40 || byte > 0x7e) continue;
    const name = Buffer.from(bytes.subarray(2, at + 1)).toString("latin1");
    return { key: { kind: SEQUENCES[name] ?? "unknown" }, length: at + 1 };
  }
  return bytes.length < MAX_SEQUENCE ? undefined : { key: { kind: "unknown" }, length: MAX_SEQUENCE };
}

/** The text up to the next control character, or the complete characters of it. */
function text(bytes: Uint8Array, first: number): { readonly key: Key; readonly length: number } | undefined {
  let end = 0;
  while (end < bytes.length && (bytes[end] as number) >= 0x20 && bytes[end] !== 0x7f) end++;
  // The input can end inside a character of several bytes.
  let start = end - 1;
  while (start > 0 && ((bytes[start] as number) & 0xc0) === 0x80) start--;
  const lead = bytes[start] ?? first;
  const wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (end === bytes.length && end - start < wanted) end = start;
  if (end === 0) return undefined;
  return { key: { kind: "text", text: Buffer.from(bytes.subarray(0, end)).toString("utf8") }, length: end };
}
