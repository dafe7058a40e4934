import en from "../../../labs/messages.en.json" with { type: "json" };
import zh from "../../../labs/messages.zh.json" with { type: "json" };
import type { Language } from "./language.js";

/** The keys of all messages of learn mode, without the labs' texts. */
export type MessageKey = keyof typeof en;
export type Catalogue = Readonly<Record<MessageKey, string>>;

/** A missing translation does not compile. */
const CATALOGUES: Readonly<Record<Language, Catalogue>> = { en, zh };

export type Say = (key: MessageKey, values?: Readonly<Record<string, string | number>>) => string;

/** A Chinese character or its punctuation. */
const WIDE = "[\\u3000-\\u9fff\\uff00-\\uffef]";
const PLACE = new RegExp(`((?<=${WIDE}) )?\\{(\\w+)\\}( (?=${WIDE}))?`, "g");
const [BEGINS_WIDE, ENDS_WIDE] = [new RegExp(`^${WIDE}`), new RegExp(`${WIDE}$`)];

/**
 * The messages of learn mode in one language; `{name}` stands for the value of that name. The space between a value and
 * a Chinese character stays only if the value is Latin text.
 */
export function sayIn(language: Language): Say {
  return (key, values = {}) =>
    CATALOGUES[language][key].replace(PLACE, (_place, before = "", name: string, after = "") => {
      const value = String(values[name] ?? `{${name}}`);
      return `${BEGINS_WIDE.test(value) ? "" : before}${value}${ENDS_WIDE.test(value) ? "" : after}`;
    });
}
