import { isRecord } from "../../util/records.js";
import { redactBody, secretKindOf } from "./redact-body.js";
import { MASK, redactText } from "./redact-text.js";
import { PUBLIC_ENTRIES, SECRET_ENTRIES } from "./secret-fields.js";

/** Shorter values occur by chance in texts that are not secret; they are masked in their fields only. */
const MIN_LENGTH = 8;
/** Plain words shorter than this are not learned either. */
const MIN_WORD_LENGTH = 16;
/** Longer values are recognised by their first characters, this many. */
const MAX_LENGTH = 4_096;
/** The number of values that are remembered. Further ones replace the oldest. */
const MAX_VALUES = 2_000;
/** How many lines and words of a value (a key, a kubeconfig) are also recognised one by one. */
const MAX_PARTS = 200;
/** The resource whose objects are named after another object and a time. */
const EVENTS = "events";
/** Pairs of ASCII characters. */
const PAIRS = 1 << 14;

/**
 * The secret values that this process has seen, masked wherever they occur later: a password that was expanded into a
 * container's arguments, a value that an error message repeats. Base64 of a longer text that contains a value counts too.
 */
export class Secrets {
  /** value -> its forms */
  readonly #values = new Map<string, readonly string[]>();
  /** the first characters of a form -> the forms that begin with them */
  readonly #byBeginning = new Map<string, Set<string>>();
  /** by the first two characters: 1 if a form may begin with them. This check alone passes most places of a text. */
  readonly #mayBegin = new Uint8Array(PAIRS);

  /** Learns the secrets of a request or response. Returns at once for paths other than those of Secrets and tokens. */
  learnBody(requestPath: string, body: unknown): void {
    if (secretKindOf(requestPath) === undefined) return;
    redactBody(body, requestPath, (value, key, object) => this.#learnField(value, key, object));
  }

  #learnField(value: string, key: string, object: unknown): void {
    const secret: Readonly<Record<string, unknown>> = isRecord(object) ? object : {};
    const entries = SECRET_ENTRIES[String(secret["type"])];
    if (entries === undefined ? PUBLIC_ENTRIES.has(key) : !entries.includes(key)) return;
    // In stringData the same entry is plain. A value that does not decode is learned unchanged.
    const data = secret["data"];
    if (isRecord(data) && data[key] === value) this.learn(Buffer.from(value, "base64").toString("utf8"));
    this.learn(value);
  }

  /** Learns a secret text, and the lines and words of one with several. */
  learn(value: string | undefined): void {
    if (value === undefined) return;
    this.#add(value);
    const parts = value.split(/[\s"',:{}=]+/);
    if (parts.length === 1) return;
    for (const part of parts.slice(0, MAX_PARTS)) {
      if (part.length < MIN_WORD_LENGTH || part.startsWith("LS0tLS1CRUdJTiBDRVJU")) continue;
      this.#add(part);
      // `auth` of a pull secret: base64 of user:password
      const [, password] = /^[A-Za-z0-9+/]+=*$/.test(part)
        ? Buffer.from(part, "base64").toString("utf8").split(":")
        : [];
      if (password !== undefined) this.#add(password);
    }
  }

  #add(value: string): void {
    const text = value.slice(0, MAX_LENGTH);
    if (text.length < (/^[A-Za-z._-]*$/.test(text) ? MIN_WORD_LENGTH : MIN_LENGTH) || this.#values.has(text)) return;
    const forms = formsOf(text);
    this.#values.set(text, forms);
    for (const form of forms) {
      this.#mayBegin[pairAt(form, 0)] = 1;
      const beginning = form.slice(0, MIN_LENGTH);
      const known = this.#byBeginning.get(beginning);
      if (known === undefined) this.#byBeginning.set(beginning, new Set([form]));
      else known.add(form);
    }
    if (this.#values.size > MAX_VALUES) this.#forgetOldest();
  }

  #forgetOldest(): void {
    for (const [value, forms] of this.#values) {
      this.#values.delete(value);
      for (const form of forms) {
        const known = this.#byBeginning.get(form.slice(0, MIN_LENGTH));
        known?.delete(form);
        if (known?.size === 0) this.#byBeginning.delete(form.slice(0, MIN_LENGTH));
      }
      return;
    }
  }

  /** Masks texts that have the form of a secret, and the values that were learned. */
  mask(text: string): string {
    return this.#maskLearned(redactText(text));
  }

  /** `NAMESPACE/NAME` of an Event, which may have the form of a token. */
  #maskEvent(name: string): string {
    const before = `${EVENTS} `;
    return this.mask(before + name).slice(before.length);
  }

  #maskLearned(text: string): string {
    if (this.#byBeginning.size === 0 || text.length < MIN_LENGTH) return text;
    let out = "";
    let from = 0;
    for (let at = 0; at + MIN_LENGTH <= text.length; at++) {
      if (this.#mayBegin[pairAt(text, at)] === 0) continue;
      const length = this.#lengthAt(text, at);
      if (length === 0) continue;
      out += text.slice(from, at) + MASK;
      from = at + length;
      at = from - 1;
    }
    return from === 0 ? text : out + text.slice(from);
  }

  /** The length of the longest form of a secret at this place, or 0. */
  #lengthAt(text: string, at: number): number {
    const forms = this.#byBeginning.get(text.slice(at, at + MIN_LENGTH));
    if (forms === undefined) return 0;
    let longest = 0;
    for (const form of forms) if (form.length > longest && text.startsWith(form, at)) longest = form.length;
    return longest;
  }

  /** A copy of a value with every text masked; the same value when nothing is secret. */
  maskAll<T>(value: T): T {
    if (typeof value === "string") return this.mask(value) as T;
    if (Array.isArray(value)) {
      const items = value.map((item) => this.maskAll(item));
      return items.some((item, i) => item !== value[i]) ? (items as T) : value;
    }
    if (!isRecord(value)) return value;
    let copy: Record<string, unknown> | undefined;
    for (const [key, item] of Object.entries(value)) {
      const isEvent = key === "object" && value["resource"] === EVENTS && typeof item === "string";
      const masked = isEvent ? this.#maskEvent(item) : this.maskAll(item);
      if (masked === item) continue;
      copy ??= { ...value };
      copy[key] = masked;
    }
    return (copy ?? value) as T;
  }
}

/** Two characters as a number below `PAIRS`; those beyond ASCII share the numbers of others. */
function pairAt(text: string, at: number): number {
  return ((text.charCodeAt(at) << 7) ^ text.charCodeAt(at + 1)) & (PAIRS - 1);
}

/** How a value appears in texts: as it is, escaped, and in base64 of a text that contains it at any position. */
function formsOf(value: string): readonly string[] {
  const forms = new Set([value, JSON.stringify(value).slice(1, -1), encodeURIComponent(wellFormed(value))]);
  for (let before = 0; before < 3; before++) {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(value)]);
    // Only characters whose six bits all come from the value.
    const base64 = bytes.toString("base64").slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6));
    forms.add(base64).add(base64.replaceAll("+", "-").replaceAll("/", "_"));
  }
  return [...forms].filter((form) => form.length >= MIN_LENGTH);
}

/** encodeURIComponent throws for half a surrogate pair. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString("utf8");
}
