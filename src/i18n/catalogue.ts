import en from "../../labs/messages.en.json" with { type: "json" };
import zh from "../../labs/messages.zh.json" with { type: "json" };

/** The languages of labs and of learn mode. */
export const LANGUAGES = ["en", "zh"] as const;
export type Language = (typeof LANGUAGES)[number];

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

/** The environment variable that passes a lab's language to its programs, independent of the terminal's language. */
export const LANGUAGE_VARIABLE = "KUBELAB_LANG";

/** The language of the lab, else of the terminal: Chinese for `zh_CN.UTF-8`, `zh`, `zh-Hans`; otherwise English. */
export function languageOf(env: Readonly<Record<string, string | undefined>>): Language {
  const locale = env[LANGUAGE_VARIABLE] || env["LC_ALL"] || env["LC_MESSAGES"] || env["LANG"] || "";
  return LANGUAGES.find((one) => locale.toLowerCase().startsWith(one)) ?? "en";
}
