/** The languages of labs, of learn mode and of traces. */
export const LANGUAGES = ["en", "zh"] as const;
export type Language = (typeof LANGUAGES)[number];

/** The environment variable that passes a lab's language to its programs, independent of the terminal's language. */
export const LANGUAGE_VARIABLE = "KUBELAB_LANG";

/** The language of the lab, else of the terminal: Chinese for `zh_CN.UTF-8`, `zh`, `zh-Hans`; otherwise English. */
export function languageOf(env: Readonly<Record<string, string | undefined>>): Language {
  const locale = env[LANGUAGE_VARIABLE] || env["LC_ALL"] || env["LC_MESSAGES"] || env["LANG"] || "";
  return LANGUAGES.find((one) => locale.toLowerCase().startsWith(one)) ?? "en";
}

/** A value for each language. */
export function byLanguage<T>(make: (language: Language) => T): Readonly<Record<Language, T>> {
  return { en: make("en"), zh: make("zh") };
}
