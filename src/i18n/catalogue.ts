import en from "../../labs/messages.en.json" with { type: "json" };
import zh from "../../labs/messages.zh.json" with { type: "json" };

/** The languages of labs and of learn mode. */
export const LANGUAGES = ["en", "zh"] as const;
export type Language = (typeof LANGUAGES)[number];

/** The keys of everything that learn mode says beside the labs' own texts. */
export type MessageKey = keyof typeof en;
export type Catalogue = Readonly<Record<MessageKey, string>>;

/** A missing translation does not compile. */
const CATALOGUES: Readonly<Record<Language, Catalogue>> = { en, zh };

export type Say = (key: MessageKey, values?: Readonly<Record<string, string | number>>) => string;

/** What learn mode says in one language; `{name}` in a message is filled with the value of that name. */
export function sayIn(language: Language): Say {
  return (key, values = {}) =>
    CATALOGUES[language][key].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** The variable that says a lab's language to the programs that are run in it, whatever the terminal's own is. */
export const LANGUAGE_VARIABLE = "KUBELAB_LANG";

/** Of a lab's own, else of the terminal: `zh_CN.UTF-8`, `zh`, `zh-Hans`: Chinese; anything else, or nothing: English. */
export function languageOf(env: Readonly<Record<string, string | undefined>>): Language {
  const locale = env[LANGUAGE_VARIABLE] || env["LC_ALL"] || env["LC_MESSAGES"] || env["LANG"] || "";
  return LANGUAGES.find((one) => locale.toLowerCase().startsWith(one)) ?? "en";
}
