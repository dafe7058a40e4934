import { eastAsianWidth } from "get-east-asian-width";

/** An escape sequence for a colour, which takes no column. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it begins with one
const COLOUR = /\u001b\[[0-9;]*m/y;
const PLAIN = /^[ -~]*$/;
const NO_COLUMN = /^[\p{Mn}\p{Me}\p{Cf}]$/u;

/** How many columns a text takes in a terminal. Chinese characters take two each. */
export function textWidth(text: string): number {
  // Nearly every cell and line.
  if (PLAIN.test(text)) return text.length;
  return piecesOf(text).reduce((sum, piece) => sum + piece.width, 0);
}

/** The text, or its beginning and `mark` where it is wider than `width` columns. For text without colours. */
export function fitted(text: string, width: number, mark = "…"): string {
  if (textWidth(text) <= width) return text;
  let line = "";
  let used = 0;
  for (const piece of piecesOf(text)) {
    if (used + piece.width > width - textWidth(mark)) break;
    line += piece.text;
    used += piece.width;
  }
  return `${line.trimEnd()}${mark}`;
}

/**
 * Lines of at most `width` columns, at least 20. Latin text breaks at spaces, Chinese between any two characters but punctuation. A
 * longer word is cut, except a path or URL, which a learner copies.
 * @param cutsPaths for output where no line can be wider, such as a frame that is redrawn
 */
export function wrap(text: string, width: number, { cutsPaths = false } = {}): string[] {
  const columns = Math.max(20, width);
  return text.split("\n").flatMap((line) => wrapLine(line.trim(), columns, cutsPaths));
}

function wrapLine(text: string, columns: number, cutsPaths: boolean): string[] {
  const lines: string[] = [];
  let line = "";
  let used = 0;
  for (const unit of unitsOf(text)) {
    const gap = used > 0 && unit.isSpaced ? 1 : 0;
    if (used > 0 && used + gap + unit.width > columns) {
      lines.push(line);
      [line, used] = ["", 0];
    } else if (gap > 0) {
      line += " ";
      used += gap;
    }
    const isWhole = !cutsPaths && unit.pieces.some((piece) => piece.text === "/");
    for (const { text: part, width } of unit.pieces) {
      if (used + width > columns && !isWhole) {
        // A word that is longer than a line.
        lines.push(line);
        [line, used] = ["", 0];
      }
      line += part;
      used += width;
    }
  }
  return [...lines, line];
}

/** A character, or the escape sequence of a colour. */
interface Piece {
  readonly text: string;
  /** 0, 1 or 2 columns */
  readonly width: number;
}

/** Pieces that stay in one line. */
interface Unit {
  readonly pieces: Piece[];
  width: number;
  /** a space precedes it, unless it begins a line */
  readonly isSpaced: boolean;
}

/** CLOSES cannot begin a line, and OPENS cannot end one. */
const CLOSES =
  /^[,.;:?!)\]}%\u2019\u201d\u2026\u2014\u00b7\u3001\u3002\u300b\u300d\u300f\u3011\u3009\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff01]$/;
const OPENS = /^[([{\u2018\u201c\u300a\u300c\u300e\u3010\u3008\uff08]$/;

function unitsOf(text: string): Unit[] {
  const units: Unit[] = [];
  let unit: Unit | undefined;
  let isSpaced = false;
  let before: Piece | undefined;
  for (const piece of piecesOf(text)) {
    if (piece.text === " ") {
      unit = undefined;
      isSpaced = true;
      before = undefined;
      continue;
    }
    if (unit === undefined || mayBreak(before, piece)) {
      unit = { pieces: [], width: 0, isSpaced };
      units.push(unit);
      isSpaced = false;
    }
    unit.pieces.push(piece);
    unit.width += piece.width;
    if (piece.width > 0) before = piece;
  }
  return units;
}

/** Whether a line can break between two characters: one is Chinese, and punctuation stays with its text. */
function mayBreak(before: Piece | undefined, piece: Piece): boolean {
  if (before === undefined || piece.width === 0) return false;
  return (before.width === 2 || piece.width === 2) && !CLOSES.test(piece.text) && !OPENS.test(before.text);
}

function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at < text.length; ) {
    COLOUR.lastIndex = at;
    const colour = COLOUR.exec(text)?.[0];
    const character = colour ?? String.fromCodePoint(text.codePointAt(at) ?? 0);
    pieces.push({ text: character, width: colour === undefined ? widthOf(character) : 0 });
    at += character.length;
  }
  return pieces;
}

/** Uses string-width's table without its emoji patterns: compiling those doubles the time to the menu. */
function widthOf(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x7f) return code < 0x20 ? 0 : 1;
  return code < 0xa0 || NO_COLUMN.test(character) ? 0 : eastAsianWidth(code);
}
