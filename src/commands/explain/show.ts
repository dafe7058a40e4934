import type { CommandResult } from "../../cli/context.js";
import { constantsFor } from "../../release/facts.js";
import { tableLines } from "../../trace/table.js";
import { wrap } from "../../trace/text.js";
import type { Topic } from "./topic.js";
import type { TopicGroup } from "./topics.js";

const MOST_COLUMNS = 100;
const LIST_HINT = "kubelab explain TOPIC: one of these, the beginning of one, or a message in quotes";

/** One topic: what it means, what decides it in a release, how to see it, where it is upstream. */
export function topicResult(topic: Topic, kubeVersion: string, columns: number): CommandResult {
  const { name, also = [], text, facts = [], file, labs = [] } = topic;
  const width = Math.min(columns, MOST_COLUMNS);
  const indented = (words: string) => wrap(words, width - 2).map((line) => `  ${line}`);
  const constants = constantsFor(kubeVersion, ...facts);
  const rows = constants.map((one) => [one.name, one.value, one.release]);
  const table = tableLines({ columns: ["constant", "value", "since"], rows }, width - 2).map((line) => `  ${line}`);
  const see = seeOf(topic);
  const lines = [
    name,
    ...indented(text),
    ...(rows.length === 0 ? [] : ["", `Decided by, in v${kubeVersion}:`, ...table]),
    "",
    "See it here:",
    ...see.map((command) => `  ${command}`),
    "",
    `Upstream: ${file}`,
    ...(labs.length === 0 ? [] : [`Labs: ${labs.join(", ")} (kubelab learn start ${labs[0]})`]),
    ...(also.length === 0 ? [] : wrap(`Also for: ${also.join(", ")}`, width)),
  ];
  return { text: lines.join("\n"), json: { name, also, text, kubeVersion, constants, see, upstream: file, labs } };
}

/** The commands of a topic: those that it names, else the events of that reason. */
export function seeOf({ name, see }: Topic): readonly string[] {
  return (see ?? `kubectl get events -A --field-selector reason=${name}`).split(" && ");
}

/** All topics by group. */
export function listResult(groups: readonly TopicGroup[], columns: number): CommandResult {
  const width = Math.min(columns, MOST_COLUMNS);
  const lines = groups.flatMap(({ title, topics }) => {
    const names = topics.map(({ name }) => name).join(", ");
    return [title, ...wrap(names, width - 2).map((line) => `  ${line}`), ""];
  });
  return {
    text: [...lines, LIST_HINT].join("\n"),
    json: groups.map(({ title, topics }) => ({
      title,
      topics: topics.map(({ name, also = [] }) => ({ name, also })),
    })),
  };
}
