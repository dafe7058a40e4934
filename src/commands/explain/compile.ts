import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type CheckedYaml, parseChecked } from "../../lab/labs/format/checked-yaml.js";
import type { LabProblem } from "../../lab/labs/format/compile.js";
import { sayIn } from "../../util/i18n/catalogue.js";
import { LANGUAGES, type Language } from "../../util/i18n/language.js";
import type { Topic, TopicGroup } from "./topic.js";
import { type TopicFile, topicFile, unknownName } from "./topic-file.js";

export interface CompiledTopics {
  /** all topics, in the order of files and of topics in them */
  readonly groups: Readonly<Record<Language, readonly TopicGroup[]>>;
  /** by file and line; the groups are complete only if there are none */
  readonly problems: readonly LabProblem[];
}

interface ReadFile extends CheckedYaml<TopicFile> {
  readonly file: string;
}

/** A link to another topic. A reader sees only `explain NAME`. */
const LINK = /\{([^{}]*)\}/g;
/** YAML joins lines with a space, which does not belong between two Chinese characters. */
const JOINED_WIDE = /(?<=[\u3000-\u9fff\uff00-\uffef]) (?=[\u3000-\u9fff\uff00-\uffef])/g;

/**
 * Reads the files of `topics/`. Finds all mistakes of single files first. If there are none, finds names of two topics and dead links.
 * @param options.labs the ids of all labs; default: not checked
 * @throws the file system's error for the folder itself
 */
export async function compileTopics(
  folder: string,
  { labs }: { readonly labs?: readonly string[] } = {},
): Promise<CompiledTopics> {
  const schema = topicFile(labs);
  const names = (await readdir(folder)).filter((name) => name.endsWith(".yaml")).sort();
  const files: ReadFile[] = await Promise.all(
    names.map(async (name) => {
      const file = join(folder, name);
      return { file, ...parseChecked(await readFile(file, "utf8"), schema, sayIn("en")) };
    }),
  );
  const problems = files.flatMap(({ file, problems }) =>
    problems.map((one) => ({ file, ...one })).sort((a, b) => a.line - b.line),
  );
  return {
    groups: { en: groupsIn("en", files), zh: groupsIn("zh", files) },
    problems: problems.length > 0 ? problems : [...doubles(files), ...deadLinks(files)],
  };
}

function groupsIn(language: Language, files: readonly ReadFile[]): TopicGroup[] {
  return files.flatMap(({ value }) => {
    if (value === undefined) return [];
    const topics = Object.entries(value.topics).map(([name, { en, zh, ...rest }]): Topic => {
      const text = { en, zh }[language].replace(LINK, "$1").replace(JOINED_WIDE, "");
      return { name, text, ...rest };
    });
    return [{ title: value.title[language], topics }];
  });
}

/** A name, or the beginning of a message, must lead to a single topic. */
function doubles(files: readonly ReadFile[]): LabProblem[] {
  const first = new Map<string, string>();
  return files.flatMap(({ file, value, lineOf }) =>
    Object.entries(value?.topics ?? {}).flatMap(([topic, { also = [] }]) => {
      const names = [{ name: topic, path: ["topics", topic] as PropertyKey[] }].concat(
        also.map((name, i) => ({ name, path: ["topics", topic, "also", i] })),
      );
      return names.flatMap(({ name, path }) => {
        const other = first.get(name.toLowerCase());
        if (other === undefined) first.set(name.toLowerCase(), topic);
        return other === undefined ? [] : [{ file, line: lineOf(path), message: `the topic ${other} has ${name} too` }];
      });
    }),
  );
}

function deadLinks(files: readonly ReadFile[]): LabProblem[] {
  const known = files.flatMap(({ value }) => Object.keys(value?.topics ?? {}));
  return files.flatMap(({ file, value, lineOf }) =>
    Object.entries(value?.topics ?? {}).flatMap(([topic, texts]) =>
      LANGUAGES.flatMap((language) =>
        [...texts[language].matchAll(LINK)].flatMap(([link, inside = ""]) => {
          const name = /^explain (.+)$/.exec(inside)?.[1];
          if (name !== undefined && known.includes(name)) return [];
          const message =
            name === undefined ? `expected a link {explain TOPIC}, found ${link}` : unknownName("topic", known, name);
          return [{ file, line: lineOf(["topics", topic, language]), message: `${topic}.${language}: ${message}` }];
        }),
      ),
    ),
  );
}
