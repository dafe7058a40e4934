import { signal } from "@preact/signals";
import { isChinese } from "../../formats/name.js";
import type { EmbeddedFact } from "../facts.js";
import factWords from "./content/facts.zh.json" with { type: "json" };
import zh from "./content/words.zh.json" with { type: "json" };

/** The language of the page's own words: that of its facts. */
export const language = signal<"en" | "zh">("en");

const ZH: Readonly<Record<string, string>> = zh;

/** The page's own words in the reader's language. `{1}`, `{2}` stand for the values. */
export function say(text: string, ...values: readonly (string | number)[]): string {
  const words = language.value === "zh" ? (ZH[text] ?? text) : text;
  return words.replace(/\{(\d)\}/g, (_, i: string) => String(values[Number(i) - 1] ?? ""));
}

/** Facts are written in the language of the run. */
export function readLanguage(facts: readonly EmbeddedFact[]): void {
  if (isChinese(facts.map(({ event }) => event))) language.value = "zh";
}

/** Words of facts that the picture reads. A run in Chinese writes them as its catalogue has them. */
const FACT_WORDS: Readonly<Record<string, string>> = factWords;

/** A word of a fact in English. */
export function english(text: string): string {
  return (
    FACT_WORDS[text] ??
    text
      .replace(/^节点 /, "node ")
      .replace(/^(\S+) 的容器 (\S+)$/, "container $2 of $1")
      .replace(/^(\S+) 探针$/, "$1 probe")
  );
}
