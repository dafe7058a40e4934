import { type Candidate, type Completion, wordsAlone } from "./candidate.js";

type Env = Readonly<Record<string, string | undefined>>;

/** Values that are not in the command's definition: by command and name of its argument, or by the name of an option's value. */
const SOURCES: Readonly<Record<string, (env: Env) => Promise<Completion>>> = {
  "learn id": labs,
  "explain topic": topics,
  "runtime --image": images,
  "--cluster": clusters,
  "--kube-version": releases,
  "--kubelet-version": releases,
  "--lang": async () => wordsAlone((await import("../../util/i18n/language.js")).LANGUAGES),
};

/**
 * The values that an argument or an option takes.
 * @param place `id` for an argument, `--lang` for an option
 * @param kind the word in angle brackets: `file`, `folder`
 */
export async function valuesOf(command: string, place: string, kind: string, env: Env): Promise<Completion> {
  const source = SOURCES[`${command} ${place}`] ?? SOURCES[place];
  if (source !== undefined) return source(env);
  if (/^(file|files)$/.test(kind)) return "files";
  return kind === "folder" ? "folders" : [];
}

async function labs(): Promise<Candidate[]> {
  const { openLibrary } = await import("../../lab/labs/format/open-library.js");
  return (await openLibrary()).summaries.map(({ id, title }) => ({ value: id, about: title.en }));
}

async function topics(): Promise<Candidate[]> {
  const { openTopics } = await import("../explain/open-topics.js");
  const names = (await openTopics("en")).flatMap(({ topics }) =>
    topics.flatMap(({ name, also = [] }) => [name, ...also]),
  );
  return wordsAlone(names);
}

async function images(): Promise<Candidate[]> {
  const { REGISTRY_IMAGES } = await import("../../cluster/runtime/images/registry.js");
  const { shortName } = await import("../runtime/images.js");
  return REGISTRY_IMAGES.map(({ repositories, about }) => ({ value: shortName(repositories[0]), about }));
}

async function clusters(env: Env): Promise<Candidate[]> {
  const { runningClusterNames } = await import("../../testbed/target/cluster-state.js");
  return wordsAlone(await runningClusterNames(env));
}

async function releases(): Promise<Candidate[]> {
  const { minorOf, NEWEST_RELEASE, OLDEST_RELEASE } = await import("../../util/release/facts.js");
  const oldest = minorOf(OLDEST_RELEASE);
  return wordsAlone(Array.from({ length: minorOf(NEWEST_RELEASE) - oldest + 1 }, (_, i) => `1.${oldest + i}`));
}
