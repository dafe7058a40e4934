import { readFile } from "node:fs/promises";
import type { Language } from "../../util/i18n/language.js";
import type { TopicGroup } from "./topic.js";

/** Set by the build, which puts the compiled content next to the bundle. */
declare const KUBELAB_COMPILED_CONTENT: boolean | undefined;

const SOURCES = new URL("../../../topics/", import.meta.url);

/** All topics in one language, in the order of the list. */
export async function openTopics(language: Language): Promise<readonly TopicGroup[]> {
  return typeof KUBELAB_COMPILED_CONTENT === "boolean" ? compiledTopics(language) : sourceTopics(language);
}

async function compiledTopics(language: Language): Promise<readonly TopicGroup[]> {
  return JSON.parse(await readFile(new URL(`topics/${language}.json`, import.meta.url), "utf8"));
}

/** Reads the topics from the checkout, for tests, which run the sources. */
async function sourceTopics(language: Language): Promise<readonly TopicGroup[]> {
  const { compileTopics } = await import("./compile.js");
  return (await compileTopics(SOURCES.pathname)).groups[language];
}
