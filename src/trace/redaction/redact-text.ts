import { isSecretName, SECRET_NAME_ENDING } from "./secret-fields.js";

/**
 * Masks secrets that their form reveals: tokens, keys, credentials in headers, URLs and arguments. Clients choose the texts, so the time is
 * linear in their length: no pattern looks ahead or repeats over characters at which it can begin again.
 */

export const MASK = "****";

/**
 * Bootstrap tokens. The public ID half stays, because it names the Secret. The pattern excludes longer words such as
 * host names.
 */
const BOOTSTRAP_TOKEN = /\b([a-z0-9]{6})\.([a-z0-9]{16})\b/g;
/**
 * The second half of an Event's name: Unix nanoseconds in hex, of 2006 to 2043. `second.18f0a1b2c3d4e5f6` has the form of a token, so the
 * place decides as well: behind `events/`, `events NAMESPACE/` or `Event`. A known token is masked there all the same, by its value.
 */
const EVENT_TIME = /^1[0-9a-f]{15}$/;
const EVENT_PLACE = /(?<![\w-])(?:events?(?:[ /][a-z0-9-]{1,63})?\/|Event )$/;
const MAX_EVENT_PLACE = 72;
/** The line before a private key, or behind it, without its last dashes, which the next line may share. */
const KEY_LINE = /-----(BEGIN|END) ([A-Z ]*PRIVATE KEY)(?=-----)/g;
const BASE64_PRIVATE_KEY = /LS0tLS1CRUdJTiB[A-Za-z0-9+/=]*/g;
/** Matches only at the start of a run of its characters, so that a long run is read once. */
const JWT = /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+/g;
/** a space in a text or in a query */
const SPACE = "(?:\\s|%20|\\+)";
const AUTHORIZATION = new RegExp(`\\b(Authorization(?::|%3A)${SPACE}*(?:Bearer|Basic)${SPACE}+)[^\\s"'&]+`, "gi");
/** In lower case, a plain word after it is prose: "bearer token". */
const BEARER = new RegExp(`\\b(Bearer${SPACE}+|bearer${SPACE}+(?![a-z]+\\b(?![.~+/=_-])))[A-Za-z0-9._~+/=-]+`, "g");
const URL_PASSWORD = /(:\/\/[^\s/:@]+:)[^\s/@]+@/g;
/** The same in a query. A `/` of the password would be escaped twice. */
const ENCODED_URL_PASSWORD = /(%3A%2F%2F[^\s/&%]+%3A)(?:(?!%2F|%40)[^\s/&])+%40/gi;
/** the characters of a value */
const VALUE = /[^\s"'&;,]*/y;
/** What precedes the value of `--token=x` or `DB_PASSWORD=x`, in a query also `--token%3Dx`. */
const ASSIGNMENT = new RegExp(`${SECRET_NAME_ENDING}(?:=|%3D)["']?`, "gi");
/** What precedes the value of `--token x`, in a query `command=--token&command=x`. */
const FLAG = new RegExp(`${SECRET_NAME_ENDING}(?:${SPACE}|&command=)["']?`, "gi");
/** What precedes the value of a string in JSON, itself perhaps in a string: `"password": "x"`. */
const QUOTED = new RegExp(`${SECRET_NAME_ENDING}\\\\?["']\\s*:\\s*(\\\\?["'])`, "gi");
/** A line of a file: `db-password: x` of YAML, `db.password = x` of properties. */
const LINE = new RegExp(
  `((?:^|\n)[ \t]*(?:- )?["']?[\\w.-]*${SECRET_NAME_ENDING}["']?[ \t]*[:=][ \t]*)([^\\s{[|>&*][^\\n]*)`,
  "gi",
);
/** The head of a block of YAML: `db-password: |`. Its lines follow, with more spaces. */
const BLOCK = new RegExp(
  `^([ \t]*)(?:- )?["']?[\\w.-]*${SECRET_NAME_ENDING}["']?[ \t]*:[ \t]*[|>][-+\\d]*[ \t]*\r?$`,
  "i",
);
const BLOCK_SIGN = /:[ \t]*[|>]/;
const INDENT = /^[ \t]*/;
const NO_SECRET = /^["']?(?:true|false|null|~)\b|\*{4}/;
/** A shorter word after a flag is prose. */
const MIN_FLAG_VALUE = 8;
const FLAG_BEGINNING = /(?:^|[^\w-])--?[\w-]*$/;
const MAX_FLAG_LENGTH = 64;
/** Quick check: a text without any of these contains no secret. Most texts have none. */
const CANDIDATE = new RegExp(
  `\\.[a-z0-9]{16}|PRIVATE KEY|LS0tLS1CRUdJTiB|eyJ|authorization|bearer|@|%40|${SECRET_NAME_ENDING}(?:[=:"'\\\\]|%3D|${SPACE}|&command=)`,
  "i",
);

/** Masks secrets inside a text. */
export function redactText(text: string): string {
  if (!CANDIDATE.test(text)) return text;
  const masked = maskPrivateKeys(
    text.replace(BOOTSTRAP_TOKEN, (match, id: string, half: string, at: number, whole: string) =>
      isEventName(half, whole, at) ? match : `${id}.${MASK}`,
    ),
  )
    .replace(BASE64_PRIVATE_KEY, redactBase64Pem)
    .replace(JWT, MASK)
    .replace(AUTHORIZATION, `$1${MASK}`)
    .replace(BEARER, `$1${MASK}`)
    .replace(URL_PASSWORD, `$1${MASK}@`)
    .replace(ENCODED_URL_PASSWORD, `$1${MASK}%40`);
  const lines = maskQuoted(masked).replace(LINE, (line, name: string, value: string) => {
    const quote = /^["']/.exec(value)?.[0] ?? "";
    return NO_SECRET.test(value) ? line : `${name}${quote}${MASK}${quote}`;
  });
  return maskValues(maskValues(maskBlocks(lines), ASSIGNMENT, 1), FLAG, MIN_FLAG_VALUE, isFlag);
}

/** Masks the lines of each block of YAML with a secret name. */
function maskBlocks(text: string): string {
  if (!BLOCK_SIGN.test(text)) return text;
  const out: string[] = [];
  let block: { readonly depth: number; isMasked: boolean } | undefined;
  for (const line of text.split("\n")) {
    const indent = INDENT.exec(line)?.[0] ?? "";
    const isBlank = line.trim() === "";
    if (block !== undefined && (isBlank || indent.length > block.depth)) {
      if (isBlank) out.push(line);
      else if (!block.isMasked) out.push(indent + MASK);
      block.isMasked ||= !isBlank;
      continue;
    }
    const head = BLOCK.exec(line);
    block = head === null ? undefined : { depth: head[1]?.length ?? 0, isMasked: false };
    out.push(line);
  }
  return out.join("\n");
}

/** Masks the strings that follow secret names in JSON, up to their ends. */
function maskQuoted(text: string): string {
  let out = "";
  let from = 0;
  let read = 0;
  for (const { 0: name, 1: quote = "", index } of text.matchAll(QUOTED)) {
    if (index < read) continue;
    const start = index + name.length;
    read = endOfQuoted(text, start, quote);
    if (read === start || text.slice(start, read).includes(MASK)) continue;
    out += text.slice(from, start) + MASK;
    from = read;
  }
  return out + text.slice(from);
}

/** @param quote of the string; with a backslash: it is within another string */
function endOfQuoted(text: string, start: number, quote: string): number {
  if (quote.length > 1) {
    const end = text.indexOf(quote, start);
    return end < 0 ? text.length : end;
  }
  let end = start;
  while (end < text.length && text[end] !== quote) end += text[end] === "\\" ? 2 : 1;
  return Math.min(end, text.length);
}

/** Masks each private key up to the next end of its type. One without an end stays. */
function maskPrivateKeys(text: string): string {
  const lines = [...text.matchAll(KEY_LINE)];
  if (lines.length < 2) return text;
  const nextEnds = new Map<string, number>();
  const ends = new Map<number, number>();
  for (const { 1: kind, 2: type = "", index } of lines.reverse()) {
    const end = nextEnds.get(type);
    if (kind === "END") nextEnds.set(type, index);
    else if (end !== undefined) ends.set(index, end);
  }
  let out = "";
  let from = 0;
  for (const { 0: line, index } of lines.reverse()) {
    const end = ends.get(index);
    if (end === undefined || index < from) continue;
    out += `${text.slice(from, index)}${line}-----${MASK}`;
    from = end;
  }
  return out + text.slice(from);
}

/**
 * Masks the values that follow `names`. A partly masked value stays unchanged. Names within one run of value characters
 * share the end of that run, so that it is read once.
 * @param minLength of a value
 */
function maskValues(
  text: string,
  names: RegExp,
  minLength: number,
  isName: (text: string, at: number) => boolean = () => true,
): string {
  let out = "";
  let from = 0;
  let run = { end: -1, mask: -1 };
  for (const { 0: name, index } of text.matchAll(names)) {
    const start = index + name.length;
    if (start > run.end) run = runAt(text, start);
    if (index < from || run.mask >= start || run.end - start < minLength || !isName(text, index)) continue;
    out += text.slice(from, start) + MASK;
    from = run.end;
  }
  return out + text.slice(from);
}

/** The end of the run of a value's characters at this place, and the last mask in it: -1 without one. */
function runAt(text: string, start: number): { readonly end: number; readonly mask: number } {
  VALUE.lastIndex = start;
  const value = VALUE.exec(text)?.[0] ?? "";
  const mask = value.lastIndexOf(MASK);
  return { end: start + value.length, mask: mask < 0 ? -1 : start + mask };
}

function isEventName(half: string, text: string, at: number): boolean {
  return EVENT_TIME.test(half) && EVENT_PLACE.test(text.slice(Math.max(0, at - MAX_EVENT_PLACE), at));
}

/** Whether the name at this place is the end of a flag: `--bootstrap-token`. */
function isFlag(text: string, at: number): boolean {
  return FLAG_BEGINNING.test(text.slice(Math.max(0, at - MAX_FLAG_LENGTH), at));
}

/** Certificates and requests in base64 stay readable; only keys are masked. */
function redactBase64Pem(base64: string): string {
  return Buffer.from(base64, "base64").toString("latin1").includes("PRIVATE KEY") ? MASK : base64;
}

const FLAG_WORD = /^--?[\w-]+$/;

/** A command line, without the values of flags such as `--token`. */
export function redactArguments(words: readonly string[]): string[] {
  return words.map((word, i) => (isSecretFlag(words[i - 1] ?? "") ? MASK : redactText(word)));
}

function isSecretFlag(word: string): boolean {
  return FLAG_WORD.test(word) && isSecretName(word);
}
