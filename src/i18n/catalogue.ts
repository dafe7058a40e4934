import en from "../../labs/messages.en.json" with { type: "json" };
import zh from "../../labs/messages.zh.json" with { type: "json" };
import type { Language } from "./language.js";

/** The keys of all messages of learn mode besides the labs' texts. */
export type MessageKey = keyof typeof en;
export type Catalogue = Readonly<Record<MessageKey, string>>;

/** A missing translation does not compile. */
const CATALOGUES: Readonly<Record<Language, Catalogue>> = { en, zh };

export type Say = (key: MessageKey, values?: Readonly<Record<string, string | number>>) => string;

/** The messages of learn mode in one language; `{name}` stands for the value of that name. */
export function sayIn(language: Language): Say {
  return (key, values = {}) =>
    CATALOGUES[language][key].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
