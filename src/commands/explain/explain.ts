import type { Command } from "commander";
import { defined } from "../../util/defined.js";
import { type Language, languageOf } from "../../util/i18n/language.js";
import { OLDEST_RELEASE, parseKubeVersion } from "../../util/release/facts.js";
import type { CliContext } from "../cli/context.js";
import { addExamples } from "../cli/examples.js";
import { addPlainOptions } from "../cli/options.js";
import { columnsOf } from "../cli/width.js";

interface ExplainOptions {
  readonly lang?: Language;
  readonly kubeVersion: string;
}

/** `kubelab explain TOPIC`: what a reason, a condition, an event, a message or a word means. */
export function addExplainCommand(explain: Command, context: CliContext): void {
  addPlainOptions(explain)
    // A kubelet's flag is a topic: `kubelab explain --register-node`.
    .allowUnknownOption()
    .description(
      "Explains a reason, a condition, an event, a message or a word: what it means, which constants of a release decide it, how to see it here, its upstream file and its labs.",
    )
    .argument("[topic...]", "a name, the beginning of one, or a message that contains one (default: list all)")
    .option("--kube-version <release>", "the constants of this release", OLDEST_RELEASE)
    .action((words: readonly string[], options: ExplainOptions) => runExplain(context, words, options));
  addExamples(
    explain,
    "kubelab explain CrashLoopBackOff",
    'kubelab explain "PLEG is not healthy: pleg was last seen active 3m12s ago"',
    "kubelab explain NotReady --kube-version 1.32",
  );
}

async function runExplain(context: CliContext, words: readonly string[], options: ExplainOptions): Promise<void> {
  const kubeVersion = parseKubeVersion(options.kubeVersion);
  const language = options.lang ?? languageOf(context.env);
  const [{ openTopics }, { findTopic }, { listResult, topicResult }, { sentencesIn }] = await Promise.all([
    import("./open-topics.js"),
    import("./find.js"),
    import("./show.js"),
    import("../../util/i18n/sentences.js"),
  ]);
  const say = (await sentencesIn(language))?.say;
  const shown = { kubeVersion, language, columns: columnsOf(context.streams.stdout), ...defined({ say }) };
  const groups = await openTopics(language);
  if (words.length === 0) return context.print(listResult(groups, shown));
  const topics = groups.flatMap(({ topics }) => topics);
  context.print(topicResult(findTopic(topics, words.join(" ")), shown));
}
