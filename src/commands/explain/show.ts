import { wrappedTable } from "../../trace/terminal/table.js";
import { defined } from "../../util/defined.js";
import type { Language } from "../../util/i18n/language.js";
import type { Say } from "../../util/i18n/sentences.js";
import { constantFor, type FactHistory, historyOf, OLDEST_RELEASE } from "../../util/release/facts.js";
import { wrap } from "../../util/text/text-width.js";
import type { CommandResult } from "../cli/context.js";
import type { Topic, TopicGroup } from "./topic.js";

const MOST_COLUMNS = 100;

const WORDS = {
  en: {
    decidedBy: (release: string) => `Decided by, in v${release}:`,
    columns: ["constant", "value", "since"],
    orBefore: " or before",
    before: (value: string) => `${value} before`,
    later: (value: string, release: string) => `${value} from ${release}`,
    see: "See it here:",
    seeOn: "See it here, in a lab or on kubelab cluster up:",
    upstream: "Upstream: ",
    labs: "Labs: ",
    also: "Also for: ",
    guess: (asked: string) => `There is no topic ${JSON.stringify(asked)}; this is the most similar one:`,
    list: "kubelab explain TOPIC: one of these, the beginning of one, or a message in quotes",
  },
  zh: {
    decidedBy: (release: string) => `v${release} 中由这些常量决定：`,
    columns: ["常量", "值", "自"],
    orBefore: " 或更早",
    before: (value: string) => `此前 ${value}`,
    later: (value: string, release: string) => `${release} 起 ${value}`,
    see: "在这里看：",
    seeOn: "在这里看（在实验中，或在 kubelab cluster up 上）：",
    upstream: "上游：",
    labs: "实验：",
    also: "也解释：",
    guess: (asked: string) => `没有主题 ${JSON.stringify(asked)}；这是最相近的：`,
    list: "kubelab explain TOPIC：其中一个、某一个的开头，或者加引号的一条消息",
  },
} as const;

/** How a topic is shown. */
export interface ShowOptions {
  readonly kubeVersion: string;
  readonly language: Language;
  readonly columns: number;
  /** translates the names and values of constants that are sentences; default: they stay English */
  readonly say?: Say;
}

/** One topic: what it means, what decides it in a release, how to see it, where it is upstream. */
export function topicResult(
  topic: Topic,
  { kubeVersion, language, columns, say = (text) => text }: ShowOptions,
): CommandResult {
  const words = WORDS[language];
  const { name, also = [], text, facts = [], upstream, labs = [], guessedFor } = topic;
  const width = Math.min(columns, MOST_COLUMNS);
  const indented = (text: string) => wrap(text, width - 2).map((line) => `  ${line}`);
  const constants = facts.map((fact) => ({ ...constantFor(fact, kubeVersion), ...historyOf(fact, kubeVersion) }));
  const rows = constants.map((one) => [say(one.name), say(one.value), sinceText(one, words, say)]);
  const table = wrappedTable({ columns: words.columns, rows }, width - 2).map((line) => `  ${line}`);
  const see = seeOf(topic);
  const lines = [
    ...(guessedFor === undefined ? [] : [...wrap(words.guess(guessedFor), width), ""]),
    name,
    ...indented(text),
    ...(rows.length === 0 ? [] : ["", words.decidedBy(kubeVersion), ...table]),
    "",
    // Without a lab, kubectl uses the learner's own cluster.
    see.some((command) => command.startsWith("kubectl ")) ? words.seeOn : words.see,
    ...see.map((command) => `  ${command}`),
    "",
    `${words.upstream}${upstream}`,
    ...(labs.length === 0 ? [] : wrap(`${words.labs}${labs.join(", ")} (kubelab learn start ${labs[0]})`, width)),
    ...(also.length === 0 ? [] : wrap(`${words.also}${also.join(", ")}`, width)),
  ];
  return {
    text: lines.join("\n"),
    json: { name, also, text, kubeVersion, constants, see, upstream, labs, ...defined({ guessedFor }) },
  };
}

/** `v1.25 or before (50 s from v1.32)`: the answer for one release also shows the others. */
function sinceText({ since, before, next }: FactHistory, words: (typeof WORDS)[Language], say: Say): string {
  // The oldest release in the table of facts; its values may be older.
  const first = since === `v${OLDEST_RELEASE}` ? `${since}${words.orBefore}` : since;
  const others = [
    ...(before === undefined ? [] : [words.before(say(before))]),
    ...(next === undefined ? [] : [words.later(say(next.value), next.since)]),
  ];
  return others.length === 0 ? first : `${first} (${others.join("; ")})`;
}

/** The commands of a topic: those that it names, else the events of that reason. */
export function seeOf({ name, see }: Topic): readonly string[] {
  return see ?? [`kubectl get events -A --field-selector reason=${name}`];
}

/** All topics by group. */
export function listResult(
  groups: readonly TopicGroup[],
  { language, columns }: Omit<ShowOptions, "kubeVersion">,
): CommandResult {
  const width = Math.min(columns, MOST_COLUMNS);
  const lines = groups.flatMap(({ title, topics }) => {
    const names = topics.map(({ name }) => name).join(", ");
    return [title, ...wrap(names, width - 2).map((line) => `  ${line}`), ""];
  });
  return {
    text: [...lines, WORDS[language].list].join("\n"),
    json: groups.map(({ title, topics }) => ({
      title,
      topics: topics.map(({ name, also = [] }) => ({ name, also })),
    })),
  };
}
