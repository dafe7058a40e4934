import type { MessageKey, Say } from "../../../util/i18n/catalogue.js";

const MARK = "catalogue:";

/** A message of the catalogue in the schema, which exists before the learner's language is known. */
export function catalogueText(key: MessageKey, values: Readonly<Record<string, string>> = {}): string {
  return MARK + JSON.stringify([key, values]);
}

/** Localizes such a message; zod's own messages stay unchanged. */
export function inWords(message: string, say: Say): string {
  if (!message.startsWith(MARK)) return message;
  const [key, values] = JSON.parse(message.slice(MARK.length)) as [MessageKey, Record<string, string>];
  return say(key, values);
}
