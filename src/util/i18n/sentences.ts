import { remember } from "../collections/lru.js";
import type { Language } from "./language.js";
import { thirdPerson } from "./third-person.js";

/** English sentences and those of another language. `{1}`, `{2}`, ... stand for values; an empty text stays English. */
export type SentenceCatalogue = Readonly<Record<string, string>>;

/** Translates the sentences of facts. */
export type Say = (text: string) => string;

/** An English sentence with values, and its translation. */
interface Form {
  /** the texts around the values */
  readonly literals: readonly string[];
  /** "": the text stays English, with its values */
  readonly translation: string;
}

/** Longer texts are bodies or output, no sentences. */
const MAX_LENGTH = 2_000;
/** How deep sentences nest: a value can be a sentence with values. */
const MAX_DEPTH = 3;
const VALUE = /\{\d+\}/;
/** The space beside a name, when the name's place has a Chinese sentence. */
const BETWEEN_HAN = /(?<=\p{Script=Han}) (?=\p{Script=Han})/gu;
/** How the rest of a sentence begins, but no name. */
const IS_REST = /^(?:of|in|to|for|by|with|as|at|from|not|only|be|been|have|is|are|it|its|the same|removed) /;

/** The sentences of a language; undefined for English, which the code itself has. */
export async function sentencesIn(language: Language): Promise<Sentences | undefined> {
  return language === "en" ? undefined : new Sentences((await import("./sentences/zh.js")).zh);
}

/**
 * Translates the English sentences of facts by a catalogue. Facts stay English where they are made and in files for programs, so a
 * recorded trace can be read in either language.
 */
export class Sentences {
  readonly #whole = new Map<string, string>();
  /** by first word; by "" those that begin with a value. The most specific form comes first. */
  readonly #forms = new Map<string, Form[]>();
  readonly #known = new Map<string, string>();

  constructor(catalogue: SentenceCatalogue) {
    for (const [english, translation] of Object.entries(catalogue)) {
      this.#add(english, translation);
      // A story has the same sentence in the third person.
      const told = thirdPerson(english);
      if (translation !== "" && catalogue[told] === undefined) this.#add(told, translation);
    }
    const length = ({ literals }: Form) => literals.join("").length;
    for (const forms of this.#forms.values()) {
      forms.sort((a, b) => lettersOf(b) - lettersOf(a) || length(b) - length(a));
    }
  }

  #add(english: string, translation: string): void {
    if (!VALUE.test(english)) {
      this.#whole.set(english, translation || english);
      return;
    }
    const literals = english.split(VALUE);
    const first = firstWord(literals[0] ?? "");
    this.#forms.set(first, [...(this.#forms.get(first) ?? []), { literals, translation }]);
  }

  /** The text in the other language, line by line; lines that the catalogue does not have stay English. */
  readonly say: Say = (text) => {
    if (text.length > MAX_LENGTH) return text;
    const known =
      this.#known.get(text) ??
      text
        .split("\n")
        .map((line) => this.#line(line))
        .join("\n");
    remember(this.#known, text, known);
    return known;
  };

  #line(line: string): string {
    const [lead = ""] = /^ */.exec(line) ?? [];
    return lead + (this.#translate(line.slice(lead.length), 0) ?? line.slice(lead.length));
  }

  /** @returns undefined for a text that the catalogue does not have */
  #translate(text: string, depth: number): string | undefined {
    const whole = this.#whole.get(text);
    if (whole !== undefined || depth > MAX_DEPTH) return whole;
    const head = firstWord(text);
    for (const form of [...(this.#forms.get(head) ?? []), ...(head === "" ? [] : (this.#forms.get("") ?? []))]) {
      const values = valuesIn(text, form.literals);
      if (values === undefined || !isLikely(form, values)) continue;
      if (form.translation === "") return text;
      const filled = this.#filled(form, values, depth);
      if (filled !== undefined) return filled;
    }
    return this.#list(text, "; ", "；", depth) ?? this.#list(text, ", ", "，", depth);
  }

  /** @returns undefined if a value is the rest of another sentence: then this would mix the languages */
  #filled({ translation, literals }: Form, values: readonly string[], depth: number): string | undefined {
    // A single word is a name, even one that the catalogue has.
    const said = values.map((value) => (value.includes(" ") ? this.#translate(value, depth + 1) : value));
    const isPart = (value: string, i: number) =>
      IS_REST.test(value) || (value.includes("; ") && literals[i + 1] !== "");
    if (values.some((value, i) => said[i] === undefined && isPart(value, i))) return undefined;
    const filled = translation.replace(/\{(\d+)\}/g, (_, number: string) => {
      const i = Number(number) - 1;
      return said[i] ?? values[i] ?? "";
    });
    return filled.replace(BETWEEN_HAN, "");
  }

  /** Consecutive sentences; undefined unless the catalogue has each of them. */
  #list(text: string, separator: string, other: string, depth: number): string | undefined {
    if (!text.includes(separator)) return undefined;
    const parts = text.split(separator).map((part) => this.#translate(part, depth + 1));
    return parts.every((part) => part !== undefined) ? parts.join(other) : undefined;
  }
}

function lettersOf({ literals }: Form): number {
  return literals.join("").replace(/\W/g, "").length;
}

/** Shorter forms such as `{1} of {2}` occur in many sentences, also of other programs. */
const FEW_LETTERS = 6;

/** Whether a short form fits a text on purpose: then all values but the last are single words. */
function isLikely(form: Form, values: readonly string[]): boolean {
  if (form.literals[0] !== "") return true;
  // `2 pods, 3` of `2 pods, 3 containers` is a list, no value.
  if (/, \d+$/.test(values[0] ?? "")) return false;
  if (lettersOf(form) >= FEW_LETTERS) return true;
  const inside = form.literals.at(-1) === "" ? values.slice(0, -1) : values;
  return !inside.some((value) => value.includes(" "));
}

/** The first word of a sentence; "" if its end is unclear. */
function firstWord(text: string): string {
  const end = text.indexOf(" ");
  return end < 0 ? "" : text.slice(0, end);
}

/** The values between the texts of a form; undefined if the text does not have this form. */
function valuesIn(text: string, literals: readonly string[]): string[] | undefined {
  const [first = "", ...rest] = literals;
  if (!text.startsWith(first)) return undefined;
  const values: string[] = [];
  let at = first.length;
  for (const [i, literal] of rest.entries()) {
    const isLast = i === rest.length - 1;
    if (isLast && !text.endsWith(literal)) return undefined;
    // A value has at least one character.
    const end = isLast ? text.length - literal.length : text.indexOf(literal, at + 1);
    if (end <= at) return undefined;
    values.push(text.slice(at, end));
    at = end + literal.length;
  }
  return values;
}
