import { wrap as wrapByWidth } from "../../util/text/text-width.js";

/** Text from pods, logs or servers must not control the terminal: control characters become visible escapes. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: matching control characters is the purpose
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, (char) => {
    return `\\x${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
}

const LONG_WORD = 1_000;
const SHORT_WORD = 500;

/** Cuts a long text, such as a URL with a megabyte of arguments. */
export function shortenWords(text: string): string {
  if (text.length <= LONG_WORD) return text;
  return text.replace(/\S+/g, (word) => {
    if (word.length <= LONG_WORD) return word;
    return `${word.slice(0, SHORT_WORD)}... (${word.length - SHORT_WORD} more characters)`;
  });
}

/** A container's ID, but neither a digest nor a part of a path; and a UID. */
const ID = /(?<![\w:-]|\w\/)[0-9a-f]{32,64}(?![\w/-])/g;
const UID = /(?<![\w/-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w/-])/g;

/** IDs by their beginning, as crictl and kubectl show them, and short names. */
export function shortIds(text: string, unicode: boolean): string {
  const short = text.replace(ID, (id) => id.slice(0, 12)).replace(UID, (uid) => uid.slice(0, 8));
  return shortNames(short, unicode, /(?<![\w:/-])[\w-]{41,}/g);
}

/** Random names such as those of certificate requests are long and say little. */
export function shortNames(text: string, unicode: boolean, names = /[\w-]{41,}/g): string {
  const dots = unicode ? "…" : "...";
  return text.replace(names, (word) =>
    /\d/.test(word) && /[A-Z]|^[0-9a-f]+$/.test(word) ? `${word.slice(0, 14)}${dots}${word.slice(-5)}` : word,
  );
}

const LONG_LIST = 400;
const SHOWN_ITEMS = 10;

/** Cuts a long list: the names of thousands of pods in `[default/a, default/b]`. */
export function shortenLists(text: string): string {
  if (text.length <= LONG_LIST) return text;
  return text.replace(/\[([^[\]]{400,})\]/g, (whole, list: string) => {
    const items = list.split(", ");
    if (items.length <= SHOWN_ITEMS) return whole;
    return `[${items.slice(0, SHOWN_ITEMS).join(", ")}, and ${items.length - SHOWN_ITEMS} more]`;
  });
}

/**
 * Breaks a text into lines of at most `width` columns at spaces. A longer word is cut, except a path or URL. Line feeds stay.
 * @param cutsPaths for a table, in which no cell can be wider
 */
export function wrap(text: string, width: number, { cutsPaths = false } = {}): string[] {
  const limit = Math.max(8, width);
  return text.split("\n").flatMap((paragraph) => wrapParagraph(paragraph, limit, cutsPaths));
}

/**
 * Breaks a line such as `  label  sentence`; its further lines begin below the sentence. A line with a word that is wider than
 * the text stays whole, because a broken path or URL cannot be copied.
 */
export function wrapBelowLabel(line: string, width: number): string[] {
  const label = /^ *(?:[^ ]+ {2,})?/.exec(line)?.[0] ?? "";
  const rest = line.slice(label.length);
  const room = width - label.length;
  if (rest.split(" ").some((word) => word.length > room)) return [line];
  return wrap(rest, room).map((part, i) => `${i === 0 ? label : " ".repeat(label.length)}${part}`);
}

function wrapParagraph(paragraph: string, limit: number, cutsPaths: boolean): string[] {
  if (WIDE.test(paragraph)) return wrapWide(paragraph, limit);
  const lines: string[] = [];
  let line: string | undefined;
  for (let word of paragraph.split(" ")) {
    // Leading spaces of a paragraph are indentation and stay.
    const joined = line === undefined ? word : `${line} ${word}`;
    if (joined.length <= limit) {
      line = joined;
      continue;
    }
    if (line !== undefined && line.trim() !== "") lines.push(line);
    while (word.length > limit && (cutsPaths || !PATH.test(word))) {
      const cut = cutOf(word, limit);
      lines.push(word.slice(0, cut));
      word = word.slice(cut);
    }
    line = word;
  }
  lines.push(line ?? "");
  return lines;
}

/** A path or URL, as opposed to JSON that has one. */
const PATH = /^[^"[\]{}]*\/[^"[\]{}]*$/;

/** Characters that take two columns: Chinese, and those of its neighbours. */
const WIDE = /[\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]/;

/** Breaks a text that has Chinese in it, whose lines may break between characters. Indentation stays. */
function wrapWide(paragraph: string, limit: number): string[] {
  const lead = /^ */.exec(paragraph)?.[0] ?? "";
  return wrapByWidth(paragraph, limit - lead.length).map((line) => lead + line);
}

/** Where to cut a long word: after the last separator of a path, name or digest, else at the limit. */
function cutOf(word: string, limit: number): number {
  const joint = Math.max(...["/", ":", ".", ",", "-", "=", "&", "?"].map((sign) => word.lastIndexOf(sign, limit - 1)));
  return joint + 1 >= limit / 2 ? joint + 1 : limit;
}
