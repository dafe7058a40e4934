import { signal } from "@preact/signals";
import type { EmbeddedFact } from "../facts.js";
import zh from "./words.zh.json" with { type: "json" };

/** The language of the page's own words: that of its facts. */
export const language = signal<"en" | "zh">("en");

const ZH: Readonly<Record<string, string>> = zh;
const HAN = /\p{Script=Han}/u;

/** The page's own words in the reader's language. `{1}`, `{2}` stand for the values. */
export function say(text: string, ...values: readonly (string | number)[]): string {
  const words = language.value === "zh" ? (ZH[text] ?? text) : text;
  return words.replace(/\{(\d)\}/g, (_, i: string) => String(values[Number(i) - 1] ?? ""));
}

/** Facts are written in the language of the run, and only their sentences can have Chinese characters. */
export function readLanguage(facts: readonly EmbeddedFact[]): void {
  const isChinese = facts.some(({ event }) => {
    if (event.kind === "story") return HAN.test(event.title) || event.steps.some(({ text }) => HAN.test(text));
    if (event.kind === "step") return HAN.test(event.title);
    if (event.kind === "decision") return HAN.test(event.why);
    return event.kind === "note" && event.actor === "user" && HAN.test(event.text);
  });
  if (isChinese) language.value = "zh";
}

/** Words of facts that the picture reads. A run in Chinese writes them as its catalogue has them. */
const FACT_WORDS: Readonly<Record<string, string>> = {
  已存入: "stored",
  已删除: "deleted",
  容器: "container",
  无: "none",
  已创建: "created",
  运行中: "running",
  就绪: "ready",
  同步中: "syncing",
};

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
